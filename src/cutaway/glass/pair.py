"""A sentence and its translation, recorded: the forward pass, or a training step.

Every axis carries its words.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.decode import Special
from cutaway.glass.record import record
from cutaway.glass.trace import Trace
from cutaway.model import Transformer
from cutaway.text import Tokenizer

# Whose rows are the vocabulary; the rules carry the words on to logits and probabilities.
VOCABULARY: dict[str, Sequence[str | None]] = {
    "embedding.weight": ("vocabulary", None),
    "target_embedding.weight": ("vocabulary", None),
    "output.weight": ("vocabulary", None),
    "output.bias": ("vocabulary",),
    "probabilities": (None, None, "vocabulary"),
}


@dataclass(frozen=True)
class Sides:
    """What the recorded tokens are called."""

    source: Tokenizer
    target: Tokenizer
    special: Special


def record_translation(
    model: Transformer, source_ids: Sequence[int], target_ids: Sequence[int], sides: Sides
) -> Trace:
    """The whole translation in one pass: row t of the decoder is what step t saw.

    Causality makes the two equal: no row depends on a later one.
    """
    source = torch.tensor([list(source_ids)])
    target = torch.tensor([[sides.special.start, *target_ids[:-1]]])
    with torch.no_grad(), record(model) as trace:
        logits = model(source, target)
        probabilities = torch.softmax(logits, dim=-1)
    assert probabilities.shape[1] == len(target_ids)
    _label(trace, source, target, sides)
    return trace


def record_step(
    model: Transformer,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    sides: Sides,
    *,
    rate: float,
) -> tuple[Trace, dict[str, Any]]:
    """One training step on one pair: loss, gradients and the update; the model is left as it was.

    loss = −mean_t log P(target_t | target_<t, source)
    """
    source = torch.tensor([list(source_ids)])
    target = torch.tensor([[sides.special.start, *target_ids[:-1]]])
    right = torch.tensor([list(target_ids)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, foreach=False)
    with restored(model):
        with record(model) as trace:
            logits = model(source, target)
            log_probabilities = F.log_softmax(logits, dim=-1)
            loss = F.nll_loss(log_probabilities.flatten(0, 1), right.flatten())
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        norm = _norm(model)
    _label(trace, source, target, sides)
    facts = {
        "optimizer": "AdamW",
        "learning_rate": rate,
        "gradient_norm": norm,
        "tokens": len(target_ids),
    }
    return trace, {"loss": float(loss.detach()), "facts": facts}


@contextmanager
def restored(model: nn.Module) -> Iterator[None]:
    """Whatever the block does to the model's weights is undone after it."""
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    try:
        yield
    finally:
        model.zero_grad(set_to_none=True)
        model.load_state_dict(before)


def _norm(model: Transformer) -> float:
    """√Σ g² over all weights."""
    squares = [float(p.grad.pow(2).sum()) for p in model.parameters() if p.grad is not None]
    return float(sum(squares) ** 0.5)


def _label(trace: Trace, source: Tensor, target: Tensor, sides: Sides) -> None:
    trace.label(
        source=sides.source.pieces(source[0].tolist()),
        target=sides.target.pieces(target[0].tolist()),
        vocabulary=sides.target.pieces(range(sides.target.vocabulary)),
        axes=VOCABULARY,
    )
