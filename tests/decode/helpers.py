"""Small real models to decode with: random weights for laws, a few seconds' training for text."""

from collections.abc import Sequence
from typing import Any

import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.config import ModelConfig
from cutaway.decode import Special, Task
from cutaway.model import Transformer
from cutaway.text import Tokenizer

SPECIAL = Special(start=2, end=3, forbidden=(0, 1, 2, 4))


def random_model(
    *, vocabulary: int = 31, seed: int = 1, dtype: torch.dtype = torch.float64, **changes: object
) -> Transformer:
    """A model with random weights whose outputs end now and then."""
    torch.manual_seed(seed)
    settings = {
        "vocabulary": vocabulary,
        "d_model": 14,
        "heads": 2,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "d_ff": 19,
        "max_length": 43,
        "dropout": 0.1,
        **changes,
    }
    model = Transformer(ModelConfig.from_dict(settings)).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.7)  # sharper than at the start of training: choices differ
        if model.output.bias is not None and vocabulary > 4:
            model.output.bias[3] = 1.5
    return model


def random_tasks(count: int, vocabulary: int = 31, seed: int = 5, longest: int = 11) -> list[Task]:
    """Sources of different lengths, each ending with <end>."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high, (), generator=generator))

    return [
        Task((*(draw(5, vocabulary) for _ in range(draw(1, longest + 1))), 3)) for _ in range(count)
    ]


class WithoutFloat64(torch.Tensor):
    """A tensor of a device that has no float64 (MPS); `.cpu()` leaves the device."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.cpu:
            return args[0].as_subclass(torch.Tensor)
        result = super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        if isinstance(result, torch.Tensor) and result.dtype == torch.float64:
            raise TypeError("this device has no float64")
        return result


NUMBERS = {
    "one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq",
    "six": "six", "seven": "sept", "eight": "huit", "nine": "neuf", "ten": "dix",
}  # fmt: skip


def number_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Sentences of number words in English and French: learnt in seconds, checkable by eye."""
    generator = torch.Generator().manual_seed(seed)
    words = list(NUMBERS)
    pairs = []
    for _ in range(count):
        length = int(torch.randint(1, 6, (), generator=generator))
        chosen = [words[int(torch.randint(10, (), generator=generator))] for _ in range(length)]
        pairs.append((" ".join(chosen) + " !", " ".join(NUMBERS[word] for word in chosen) + " !"))
    return pairs


def trained_folder(steps: int = 360, *, both_ways: bool = False) -> ModelFolder:
    """A folder whose model has learnt to translate number words, from French too if asked."""
    torch.manual_seed(3)
    pairs = number_pairs(1500)
    ways = (("en", "fr"), ("fr", "en")) if both_ways else ()
    tokenizer = Tokenizer.train(
        [text for pair in pairs for text in pair],
        kind="word",
        vocabulary=320,
        languages=("en", "fr") if both_ways else (),
    )
    config = ModelConfig(
        vocabulary=tokenizer.vocabulary,
        d_model=32,
        heads=4,
        encoder_layers=1,
        decoder_layers=2,
        d_ff=64,
        max_length=67,
        dropout=0.0,
        norm="pre",
    )
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), 4e-3)
    for step in range(steps):
        chosen = pairs[step * 40 % 1480 :][:40]
        tag = None
        if both_ways:
            tag = ("fr", "en")[step % 2]
            chosen = chosen if tag == "fr" else [(french, text) for text, french in chosen]
        source = padded([tokenizer.encode(text, end=True, language=tag) for text, _ in chosen])
        target = padded([tokenizer.encode(text, start=True, end=True) for _, text in chosen])
        logits = model(source, target[:, :-1])
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return ModelFolder(
        model.eval(),
        tokenizer,
        languages=("en", "fr"),
        directions=ways,
        generation={"beam": 2},
    )


def padded(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
