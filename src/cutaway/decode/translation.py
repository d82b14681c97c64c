"""The result of translating: text, scores, tokens, alternatives and attention."""

from dataclasses import asdict, dataclass
from typing import Any

from cutaway.decode.guards import Notice
from cutaway.decode.hypothesis import BeamTree


@dataclass(frozen=True)
class Rival:
    """Another token that was probable at the same position."""

    id: int
    piece: str
    log_probability: float


@dataclass(frozen=True)
class Token:
    """One token of an output; "▁" in a piece stands for the space before a word."""

    id: int
    piece: str
    log_probability: float
    rivals: tuple[Rival, ...] = ()  # the runners-up at this place, where asked for


@dataclass(frozen=True)
class Alternative:
    """Another translation of the same text, with its score."""

    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """The translation of one text."""

    source: str
    text: str
    score: float  # log-probability divided by length^length_penalty
    tokens: tuple[Token, ...]
    alternatives: tuple[Alternative, ...] = ()  # the other hypotheses, best first
    warnings: tuple[Notice, ...] = ()
    source_tokens: tuple[str, ...] = ()
    source_ids: tuple[int, ...] = ()
    alignment: tuple[tuple[float, ...], ...] | None = None  # target × source attention
    trees: tuple[BeamTree, ...] = ()  # one per sentence, if asked for

    @property
    def log_probability(self) -> float:
        """log P(target | source) = Σ_t log P(y_t | y_<t, source)."""
        return sum(token.log_probability for token in self.tokens)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what was not asked for is left out."""
        values = {**asdict(self), "log_probability": self.log_probability}
        optional = ("alignment", "trees")
        return {name: value for name, value in values.items() if value or name not in optional}
