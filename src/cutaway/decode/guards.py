"""Warn of what goes wrong in silence: repetition loops, odd lengths, a text in another script.

Works without a model.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["split", "loop", "truncated", "length", "unknown", "unchanged"]

LATIN = {
    "ca", "cs", "da", "de", "en", "es", "eu", "fi", "fr", "hu", "id", "it", "nb", "nl", "no", "pl",
    "pt", "ro", "sk", "sv", "tr", "vi",
}  # languages written in Latin letters  # fmt: skip


@dataclass(frozen=True)
class Notice:
    """A warning about a translation."""

    kind: Kind
    message: str

    def __str__(self) -> str:
        return self.message


def grouped(notices: Sequence[Notice]) -> list[Notice]:
    """One warning of each kind: the first, and how many more parts of the text have it."""
    by_kind: dict[Kind, list[Notice]] = {}
    for notice in notices:
        by_kind.setdefault(notice.kind, []).append(notice)
    return [
        replace(first, message=f"{first.message} ({len(more)} more parts of this text likewise)")
        if more
        else first
        for first, *more in by_kind.values()
    ]


def loop(ids: Sequence[int]) -> tuple[int, int] | None:
    """Start and period of a repetition loop in an output, or None.

    ids[t] = ids[t − period] for at least four periods and 8 tokens
    """
    for period in range(1, len(ids) // 4 + 1):
        run = 0
        for place in range(period, len(ids)):
            run = run + 1 if ids[place] == ids[place - period] else 0
            if run >= 3 * period and run + period >= 8:
                return place - run - period + 1, period
    return None


def foreign(text: str, language: str) -> bool:
    """Whether a text for a language of Latin letters is mostly in another script.

    A vocabulary for both sides knows the letters of the target too, so that no piece is unknown.
    """
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return language in LATIN and 2 * latin < len(letters)


def odd_length(source: int, target: int) -> str | None:
    """A warning when one side is more than three times as long as the other."""
    longer = max(source, target)
    if longer < 12 or longer <= 3 * min(source, target):
        return None
    word = "longer" if target > source else "shorter"
    return (
        f"the translation has {target} tokens for {source} of the source, "
        f"much {word} than usual: compare both"
    )
