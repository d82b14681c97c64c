"""One contestant of `make bench-train`: updates of a model on given batches.

    python bench/peers/train_round.py SYSTEM BATCHES.json SIZE THREADS

BATCHES.json holds the vocabulary and, for each batch, padded rows of source and target ids: the
batches that `cutaway train` would use, so that all compute the same sentences in the same groups.
Sizes, dropout, label smoothing and optimizer are the same; precision is float32.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from serve_rounds import serve
from torch import Tensor, nn

SIZES = {
    "tiny": {"layers": 4, "width": 128, "heads": 4, "inner": 256, "dropout": 0.2},
    "base": {"layers": 6, "width": 512, "heads": 8, "inner": 2048, "dropout": 0.1},
}
SMOOTHING = 0.1
PARTS = 4
UPDATES = {"tiny": 6, "base": 2}  # of one round


def cutaway_model(vocabulary: int, size: str) -> nn.Module:
    """This package's model, loss and dropout, as its trainer uses them."""
    from cutaway.config import ModelConfig
    from cutaway.model import Transformer
    from cutaway.system.allocator import keep_freed_memory
    from cutaway.training.loss import projected_loss

    keep_freed_memory()
    model = Transformer(ModelConfig.preset(size, vocabulary=vocabulary)).train()

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            memory = model.encode(source)
            states = model.decode(target[:, :-1], memory, model.padding(source))
            gold = target[:, 1:]
            kept = gold != 0
            return projected_loss(
                states[kept], model.embedding.weight, model.output.bias, gold[kept], SMOOTHING
            )

    return Loss()


def cutaway_backward(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    """This package's gradients: the rows of a batch in four parts, a thread each."""
    from cutaway.model.dropout import drawing
    from cutaway.training.side_by_side import SideBySide

    beside = SideBySide(PARTS)
    parameters = list(model.parameters())

    def backward(source: Tensor, target: Tensor) -> None:
        answers = (target[:, 1:] != 0).sum()

        def part(number: int) -> Tensor:
            with drawing(number):
                loss: Tensor = model(sources[number], targets[number]) / answers
            return loss

        sources, targets = source.chunk(PARTS), target.chunk(PARTS)
        beside.gradients([partial(part, number) for number in range(len(sources))], parameters)

    return backward


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with tied tables and sines, as its tutorial writes it."""

    def __init__(self, vocabulary: int, size: str) -> None:
        super().__init__()
        shape: dict[str, Any] = SIZES[size]
        self.table = nn.Embedding(vocabulary, shape["width"], padding_idx=0)
        self.scale = shape["width"] ** 0.5
        position = torch.arange(512)[:, None]
        rate = torch.exp(torch.arange(0, shape["width"], 2) * (-9.2103404 / shape["width"]))
        waves = torch.stack([(position * rate).sin(), (position * rate).cos()], -1).flatten(1)
        self.register_buffer("waves", waves)
        self.dropout = nn.Dropout(shape["dropout"])
        self.net = nn.Transformer(
            shape["width"],
            shape["heads"],
            shape["layers"],
            shape["layers"],
            shape["inner"],
            shape["dropout"],
            batch_first=True,
            norm_first=size == "tiny",
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """The mean loss of a batch."""
        inputs, gold = target[:, :-1], target[:, 1:]
        length = inputs.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        states = self.net(
            self.placed(source),
            self.placed(inputs),
            tgt_mask=future,
            src_key_padding_mask=source == 0,
            memory_key_padding_mask=source == 0,
            tgt_key_padding_mask=inputs == 0,
        )
        logits = states @ self.table.weight.T
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), gold.flatten(), ignore_index=0, label_smoothing=SMOOTHING
        )

    def placed(self, ids: Tensor) -> Tensor:
        """Embeddings with positions."""
        waves: Tensor = self.waves  # type: ignore[assignment]
        placed: Tensor = self.dropout(self.table(ids) * self.scale + waves[: ids.shape[1]])
        return placed


def marian(vocabulary: int, size: str) -> nn.Module:
    """Hugging Face's MarianMTModel in a bare loop."""
    import transformers

    shape: dict[str, Any] = SIZES[size]
    config = transformers.MarianConfig(
        vocab_size=vocabulary,
        d_model=shape["width"],
        encoder_layers=shape["layers"],
        decoder_layers=shape["layers"],
        encoder_attention_heads=shape["heads"],
        decoder_attention_heads=shape["heads"],
        encoder_ffn_dim=shape["inner"],
        decoder_ffn_dim=shape["inner"],
        dropout=shape["dropout"],
        attention_dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=2,
        max_position_embeddings=512,
    )

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = transformers.MarianMTModel(config).train()

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            inputs, gold = target[:, :-1], target[:, 1:]
            logits = self.net(
                input_ids=source, attention_mask=source != 0, decoder_input_ids=inputs
            ).logits
            loss: Tensor = nn.functional.cross_entropy(
                logits.flatten(0, 1), gold.flatten(), ignore_index=0, label_smoothing=SMOOTHING
            )
            return loss

    return Loss()


def plain_backward(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    """The gradients of the mean loss of a batch, as peers compute them."""
    return lambda source, target: model(source, target).backward()


def main() -> None:
    """A few updates whenever asked; amount: target tokens."""
    system, data, size, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    given = json.loads(Path(data).read_text(encoding="utf-8"))
    model: Any = {"cutaway": cutaway_model, "torch": TorchTransformer, "marian": marian}[system](
        given["vocabulary"], size
    )
    backward = cutaway_backward(model) if system == "cutaway" else plain_backward(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.98), fused=True)
    batches: Iterator[tuple[Tensor, Tensor]] = cycle(
        [(torch.tensor(b["source"]), torch.tensor(b["target"])) for b in given["batches"]]
    )

    def work() -> float:
        tokens = 0
        for _ in range(UPDATES[size]):
            source, target = next(batches)
            optimizer.zero_grad(set_to_none=True)
            backward(source, target)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            tokens += int((target[:, 1:] != 0).sum())
        return float(tokens)

    def facts() -> dict[str, Any]:
        peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
        return {"peak MB": int(peak) // 1024}

    serve(work, facts)


if __name__ == "__main__":
    main()
