"""Position tables: sines and cosines, or learned.

PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(pos / 10000^(2i/D))
"""

import math
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.errors import InputError


def sinusoidal(length: int, width: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """The paper's table, position 0 first, dimension 0 the fastest; computed in float64.

    (L, D)
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angle = position * torch.exp(even * (-math.log(10000.0) / width))  # (L, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).to(dtype)


class Positions(nn.Module):
    """The rows of the position table for a stretch of positions, times a learned amplitude."""

    table: Tensor | None  # (max_length, D)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.max_length = config.max_length
        self.width = config.d_model
        self.is_sinusoidal = config.positions == "sinusoidal"
        if self.is_sinusoidal:
            table = torch.empty(self.max_length, self.width)
            if not table.is_meta:  # arange on the meta device would import torch's compiler (2 s)
                table = sinusoidal(self.max_length, self.width, table.dtype)
            self.register_buffer("table", table, persistent=False)
        elif config.positions == "learned":
            self.table = nn.Parameter(torch.empty(config.max_length, config.d_model))
        else:
            self.table = None
        self.amplitude = nn.Parameter(torch.ones(())) if config.position_amplitude else None

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Compute the sines again after a change of type: float32 sines cast up stay inexact."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.is_sinusoidal and self.table is not None and not self.table.is_meta:
            self.table = sinusoidal(self.max_length, self.width).to(self.table)
        return self

    def forward(self, states: Tensor, past: int = 0) -> Tensor:
        """Add to each token where it stands; `past` positions came before.

        (B, L, D) → (B, L, D)
        """
        length = states.shape[1]
        if past + length > self.max_length:
            raise InputError(
                f"the sequence has {past + length} tokens; this model takes at most "
                f"{self.max_length}: shorten or split it, or train with a larger max_length"
            )
        if self.table is None:
            return states
        positions = self.table[past : past + length]  # (L, D)
        if self.amplitude is not None:
            positions = positions * self.amplitude
        return states + positions
