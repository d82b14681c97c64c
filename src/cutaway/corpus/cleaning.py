"""Cleaning: declared filters, and a count of what each removed."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Filters:
    """The filters in the order they are applied; None or False switches one off."""

    normalise: str | None = "NFC"  # Unicode form both sides are brought to
    empty: bool = True  # a side without a visible character
    control: bool = True  # a control character other than tab
    copied: bool = True  # target equals source
    shortest: int | None = None  # fewer words on a side (characters where no spaces are written)
    longest: int | None = 250  # more words on a side
    ratio: float | None = 9.0  # one side more than so many times longer than the other
    duplicate: bool = True  # the same pair once more


@dataclass(frozen=True)
class Cleaning:
    """What cleaning did: pairs in, pairs out, removed by filter, changed by normalisation."""

    given: int
    kept: int
    removed: dict[str, int]
    normalised: int
    examples: dict[str, tuple[int, ...]]  # filter → numbers (from 0) of the first pairs removed


def clean(
    pairs: Iterable[tuple[str, str]], filters: Filters | None = None
) -> tuple[list[tuple[str, str]], Cleaning]:
    """Apply the filters; `given = kept + sum(removed.values())`."""
    raise NotImplementedError
