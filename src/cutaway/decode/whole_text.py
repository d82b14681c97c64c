"""A text of several sentences: its score, other translations of the whole, its attention."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutaway.config import DecodeOptions
from cutaway.decode.hypothesis import Hypothesis
from cutaway.errors import InputError

if TYPE_CHECKING:
    from cutaway.decode.forced import Forced


def score(hypotheses: Sequence[Hypothesis], length_penalty: float) -> float:
    """The score of sentences in a row: log-probability / length^length_penalty of all of them."""
    total = sum(one.score * len(one.ids) ** length_penalty for one in hypotheses)
    return float(total / sum(len(one.ids) for one in hypotheses) ** length_penalty)


def others(
    parts: Sequence[Sequence[Hypothesis]], options: DecodeOptions
) -> list[tuple[float, list[Hypothesis]]]:
    """Other choices of one hypothesis per sentence, and the score of the whole; best first.

    n_best choices are kept after each sentence.
    """
    if len(parts) == 1:
        return [(one.score, [one]) for one in parts[0][1:]]
    power = options.length_penalty
    kept: list[_Choice] = [_Choice()]
    for hypotheses in parts:
        longer = [
            _Choice(
                choice.total + one.score * len(one.ids) ** power,
                choice.length + len(one.ids),
                one,
                choice,
                other=choice.other or place > 0,
            )
            for choice in kept
            for place, one in enumerate(hypotheses)
        ]
        longer.sort(key=lambda choice: -choice.total / choice.length**power)
        kept = longer[: options.n_best]
    others = [choice for choice in kept if choice.other][: options.n_best - 1]
    return [(choice.total / choice.length**power, choice.hypotheses()) for choice in others]


@dataclass(frozen=True)
class _Choice:
    """One hypothesis of each sentence up to here, the last one first."""

    total: float = 0.0  # log-probability
    length: int = 0
    last: Hypothesis | None = None
    before: "_Choice | None" = None
    other: bool = False  # whether it differs from the best of each sentence

    def hypotheses(self) -> list[Hypothesis]:
        """In the order of the text."""
        found: list[Hypothesis] = []
        choice: _Choice | None = self
        while choice is not None and choice.last is not None:
            found.append(choice.last)
            choice = choice.before
        return found[::-1]


def checked(texts: Any, split: Any) -> list[str]:
    """The texts as a list, or one line on what was given instead."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        kind = "None" if texts is None else type(texts).__name__
        raise InputError(
            f"translate got {kind}; expected a list of texts: put one text into a list"
        )
    if not isinstance(split, bool):
        raise InputError(f"split is {split!r}; expected True or False")
    found: list[Any] = list(texts)
    for place, text in enumerate(found):
        if not isinstance(text, str):
            raise InputError(
                f"text {place} is of type {type(text).__name__}; expected str"
                + (": decode it first" if isinstance(text, bytes) else "")
            )
    return found


def joined_attention(parts: "Sequence[Forced | None]") -> tuple[tuple[float, ...], ...] | None:
    """The attentions of the sentences along the diagonal of one matrix, zeros elsewhere."""
    maps = [part.attention for part in parts if part is not None and part.attention is not None]
    if len(maps) != len(parts):
        return None
    width = sum(len(rows[0]) for rows in maps)
    joined: list[tuple[float, ...]] = []
    before = 0
    for rows in maps:
        after = width - before - len(rows[0])
        joined += [(*(0.0,) * before, *row, *(0.0,) * after) for row in rows]
        before += len(rows[0])
    return tuple(joined)
