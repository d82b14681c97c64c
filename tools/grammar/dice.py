"""Chance by our own arithmetic: the same draws on every platform and every Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
WORD = (1 << 64) - 1


class Dice:
    """SplitMix64: state += 0x9E3779B97F4A7C15, then two rounds of xor-shift and multiply."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit − 1; the bias of the modulus is under 2⁻⁵⁰ here."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & WORD
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & WORD
        return (mixed ^ (mixed >> 31)) % limit

    def choose(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def percent(self, chance: int) -> bool:
        """True in `chance` of a hundred throws."""
        return self.below(100) < chance
