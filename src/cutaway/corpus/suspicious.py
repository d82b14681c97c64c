"""Find pairs that do not look like translations, and say why."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

EXAMPLES = 5
OUTLIER = 5.0  # robust standard deviations of the log length ratio

REASONS = {
    "length": "one side is far longer than in the other pairs",
    "numbers": "the two sides have different numbers in digits",
    "script": "no letter of a side is in the usual script of that side",
    "similar": "the translation repeats most words of the source",
    "repetition": "one word stands four or more times in a row",
    "question": "only one side is a question",
    "markup": "only one side has a web address, an e-mail address or a tag",
}

_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d)[., \u00a0\u202f'’](?=\d{3}(?!\d))")
_WORDS = re.compile(r"\w+")
_MARKUP = re.compile(r"https?://|www\.|\S@\S+\.\w|</?[a-zA-Z][^<>]*>")
_REPEATED = re.compile(r"\b(\w+)(?:\W+\1\b){3,}", re.IGNORECASE)
_CLOSING = " \"'”’»›)]）」』\u00a0\u202f"
_QUESTION = ("?", "？", "؟")
_SHARED = 0.8  # of the words of the shorter side, for `similar`


@dataclass(frozen=True)
class SuspiciousPairs:
    """Pairs that share one reason to look at them; `numbers` are places in the list, from 0."""

    kind: str
    reason: str
    count: int
    numbers: tuple[int, ...]


def find_suspicious(
    pairs: Sequence[tuple[str, str]], lengths: NDArray[np.int32]
) -> tuple[SuspiciousPairs, ...]:
    """The suspicious pairs by reason; `lengths` are the numbers of ids of each side."""
    found: dict[str, list[int]] = {kind: [] for kind in REASONS}
    found["length"] = _outliers(lengths)
    scripts = [[_scripts(pair[side]) for pair in pairs] for side in (0, 1)]
    usual = [Counter(s for found in side for s in found).most_common(1) for side in scripts]
    for number, (source, target) in enumerate(pairs):
        first, second = _numbers(source), _numbers(target)
        if first and second and first != second:
            found["numbers"].append(number)
        if any(
            scripts[side][number] and usual[side][0][0] not in scripts[side][number]
            for side in (0, 1)
        ):
            found["script"].append(number)
        if _similar(source, target):
            found["similar"].append(number)
        if _REPEATED.search(source) or _REPEATED.search(target):
            found["repetition"].append(number)
        if _asks(source) != _asks(target):
            found["question"].append(number)
        if bool(_MARKUP.search(source)) != bool(_MARKUP.search(target)):
            found["markup"].append(number)
    return tuple(
        SuspiciousPairs(kind, REASONS[kind], len(numbers), tuple(numbers[:EXAMPLES]))
        for kind, numbers in found.items()
        if numbers
    )


def _outliers(lengths: NDArray[np.int32]) -> list[int]:
    """Pairs whose log length ratio lies far from the median, in median absolute deviations.

    Three is added to both lengths, so that short pairs (two words against four) do not count.
    """
    if len(lengths) < 10:
        return []
    ratios = np.log((lengths[:, 1] + 3.0) / (lengths[:, 0] + 3.0))
    distance = np.abs(ratios - np.median(ratios))
    spread = max(1.4826 * float(np.median(distance)), 0.05)
    order = np.argsort(-distance, kind="stable")  # the worst first
    return [int(number) for number in order if distance[number] > OUTLIER * spread]


def _asks(text: str) -> bool:
    return text.rstrip(_CLOSING).endswith(_QUESTION)


def _similar(source: str, target: str) -> bool:
    first = Counter(_WORDS.findall(source.lower()))
    second = Counter(_WORDS.findall(target.lower()))
    shorter = min(first.total(), second.total())
    return shorter >= 4 and (first & second).total() >= _SHARED * shorter


def _numbers(text: str) -> list[str]:
    """The numbers in digits, whatever separates their thousands: 4,000 is 4 000 is 4000."""
    return sorted(_DIGITS.findall(_THOUSANDS.sub("", text)))


def _scripts(text: str) -> set[str]:
    """The scripts of a text's letters: LATIN, CYRILLIC, CJK…"""
    return {_letter_script(character) for character in text if character.isalpha()}


@lru_cache(maxsize=1 << 16)
def _letter_script(letter: str) -> str:
    script = unicodedata.name(letter, "OTHER").partition(" ")[0]
    return "CJK" if script in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else script
