"""The embedded corpus: sentences of a synchronous grammar, and three of the by-hand lesson.

`tools/grammar` draws trees and renders each in English, French and Chinese, so both pairs have the
same English sentences, each with one translation; `tools/make_corpus.py` writes them to
`cutaway/data/corpus.tsv.xz`, which is read here. The test split is unseen by construction: every
test sentence has a combination, such as (subject, verb), (verb, object) or (adjective, noun), that
is in no training sentence, while each of its words is in others.
"""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from functools import cache
from zlib import crc32

from cutaway.data import CORPUS, PAIRS, SENTENCES
from cutaway.errors import DataError

__all__ = [
    "GROUPS",
    "PAIRS",
    "SPLITS",
    "Thrones",
    "chosen_sentences",
    "embedded",
    "thrones",
]

SPLITS = ("train", "validation", "test")

# Groups of `chosen_sentences`. "known": in training, used by lessons and demo. "unseen": moles and
# towers in combinations of no split: nowhere does a mole run or drink, is there a mole of salt, are
# three moles in a bottle, is a mole on a neck or a face; nobody sees a tower, draws the Eiffel
# tower or loses a miniature one. "robot", "robot-unseen": a new word, to teach and to test.
GROUPS = ("known", "unseen", "robot", "robot-unseen")


def embedded(pair: str, split: str) -> list[tuple[str, str]]:
    """The (source, target) sentences of a pair ("en-fr", "en-zh") and a split, always the same.

    train has over 60,000, validation 1,000, test 2,000; no source is in two splits.
    """
    if pair not in PAIRS:
        raise DataError(f"embedded corpus {pair!r}: expected one of {', '.join(PAIRS)}")
    if split not in SPLITS:
        raise DataError(f"embedded corpus split {split!r}: expected one of {', '.join(SPLITS)}")
    return list(pairs_of(pair, split))


@cache
def chosen_sentences(pair: str, group: str) -> tuple[tuple[str, str], ...]:
    """Sentences chosen for lessons and demo, with the translations expected of them."""
    if pair not in PAIRS or group not in GROUPS:
        known = f"{' or '.join(PAIRS)} and {', '.join(GROUPS)}"
        raise DataError(f"chosen sentences {pair!r}, {group!r}: expected one of {known}")
    target = 2 + PAIRS.index(pair)
    table = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    return tuple((row[1], row[target]) for row in table if row[0] == group)


@dataclass(frozen=True)
class Thrones:
    """The three sentences of the by-hand lesson, and the continuation to learn from them."""

    sentences: tuple[str, str, str]
    prompt: str
    continuation: str


def thrones() -> Thrones:
    """The by-hand corpus: three sentences, 30 words, and what follows "when you play …"."""
    return Thrones(
        (
            "I drink and I know things.",
            "When you play the game of thrones, you win or you die.",
            "The true enemy won't wait out the storm, He brings the storm.",
        ),
        "when you play the game of thrones",
        "you win or you die",
    )


@cache
def rows() -> tuple[tuple[str, str, str, str], ...]:
    """Split, English, French and Chinese of every sentence, mixed by the CRC-32 of the English."""
    lines = lzma.decompress(CORPUS.read_bytes()).decode().splitlines()
    table = [line.split("\t") for line in lines]
    table.sort(key=lambda row: crc32(row[1].encode()))
    return tuple((split, english, french, chinese) for split, english, french, chinese in table)


@cache
def pairs_of(pair: str, split: str) -> tuple[tuple[str, str], ...]:
    target = 2 + PAIRS.index(pair)
    return tuple((row[1], row[target]) for row in rows() if row[0] == split)
