"""Dropout from a cheap random source: sixteen random bits decide for one number."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.model.attention import explicit, is_explicit

LEVELS = 2**16  # a probability is kept to the nearest 1/65,536
_thread = threading.local()  # .source: the generator of this thread's draws


@contextmanager
def drawing(seed: int) -> Iterator[None]:
    """Within this block, and this thread, dropout on a CPU draws the numbers of this seed."""
    _thread.source = torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        _thread.source = None


class Dropout(nn.Module):
    """In training, zero each number with probability p and scale the rest; else do nothing.

    dropout(x) = x · keep / (1 − p),  keep ~ Bernoulli(1 − p)

    torch draws one number per cell, one after the other; four cells share one draw here, which is
    several times faster on a CPU. The draws follow from `drawing`, else from `torch.manual_seed`.
    The explicit body draws the same numbers, so that a recorded update is the update that was made.
    """

    while_recorded = staticmethod(explicit)

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return states
        if states.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(states, self.p)
        mask = keep_mask(states, self.p)
        kept = states * mask
        return kept

    def extra_repr(self) -> str:
        return f"p={self.p}"


def keep_mask(like: Tensor, p: float) -> Tensor:
    """What to multiply by: 0 with probability p, else 1 / (1 − p), in the shape of `like`."""
    dropped = _levels(p)
    bits = _bits(like.shape)
    scale = LEVELS / (LEVELS - dropped)
    mask = (bits >= dropped - LEVELS // 2).to(like.dtype) * scale
    return mask


def cut_mask(ids: Tensor, p: float, spared: Tensor, dtype: torch.dtype) -> Tensor:
    """Which tokens keep their embedding: (B, L) → (B, L, 1), 0 with probability p, else 1.

    Unlike dropout's, the rest is not scaled. Tokens of which `spared` is True are kept.
    """
    bits = _bits(ids.shape).to(ids.device)
    drawn = bits >= _levels(p) - LEVELS // 2
    keep = (drawn | spared).to(dtype).unsqueeze(-1)
    return keep


def _levels(p: float) -> int:
    """Of the values that sixteen random bits may have, how many mean: drop."""
    return min(round(p * LEVELS), LEVELS - 1)


def _bits(shape: torch.Size) -> Tensor:
    """Sixteen random bits for each cell, as −32768 … 32767."""
    cells = shape.numel()
    drawn: Tensor = recorded_bits()(cells) if is_explicit() else random_bits(cells)
    return drawn.view(shape)


def random_bits(cells: int) -> Tensor:
    """So many random int16, four from each draw of the generator."""
    source: torch.Generator | None = getattr(_thread, "source", None)
    draws = torch.empty((cells + 3) // 4, dtype=torch.int64)
    draws.random_(-(2**63), None, generator=source)
    return draws.view(torch.int16)[:cells]


@cache
def recorded_bits() -> Any:
    """`random_bits` as one operation, tagged as random: a recorder sees one draw per cell."""
    # Not by `custom_op`, which takes tags since torch 2.8 only.
    name = "cutaway::random_bits"
    torch.library.define(
        name, "(SymInt cells) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,)
    )
    torch.library.impl(name, "CompositeExplicitAutograd", random_bits)
    return torch.ops.cutaway.random_bits.default
