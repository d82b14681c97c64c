"""The worked examples as their sources give them: what they start from and what they print.

The tables are in figures.json. Printed figures are shown next to the computed ones; nothing is
computed from them unless a step says so.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

Example = Literal["by_hand", "masked", "two_heads", "positions"]

# One encoder layer by hand: six words, d = 6, one head of width 4
WORDS = ("when", "you", "play", "game", "of", "thrones")
# Masked attention over four words, d = 3
FOUR_WORDS = ("我", "喜欢", "学习", "编程")

# The output of the by-hand model: five logits of 23 can be read in the figure, five probabilities,
# and of four words the first seven and the last two weights of 36
LOGITS = {"I": 1.14, "drink": 2.3, "things": 1.15, "you": 5.4, "He": 2.3}
PROBABILITIES = {"I": 0.21, "drink": 0.05, "things": 0.001, "you": 0.56, "He": 0.12}
VISIBLE_WEIGHTS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "I": ((0.28, 0.1, 0.77, 0.23, 0.75, 0.02, 0.58), (0.59, 0.35)),
    "drink": ((0.72, 0.5, 0.23, 0.62, 0.76, 0.52, 0.9), (0.16, 0.02)),
    "things": ((0.14, 0.93, 0.17, 0.99, 0.42, 0.47, 0.88), (0.05, 0.84)),
    "He": ((0.11, 0.37, 0.51, 0.76, 0.26, 0.24, 0.54), (0.87, 0.67)),
}


def given(example: Example, name: str) -> Tensor:
    """A table that an example starts from, in double precision."""
    return torch.tensor(_tables()[example]["given"][name], dtype=torch.float64)


def printed(example: Example, name: str) -> Tensor:
    """A table as the source of an example prints it."""
    return torch.tensor(_tables()[example]["printed"][name], dtype=torch.float64)


@cache
def _tables() -> dict[str, Any]:
    path = Path(__file__).with_name("figures.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables
