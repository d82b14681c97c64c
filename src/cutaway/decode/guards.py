"""What goes wrong with real text, seen before or after decoding, and said in words.

Knows text and ids, no model: where to cut a paragraph, what needs no translation, when an output
goes in circles.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Kind = Literal["split", "loop", "truncated", "length", "unknown", "unchanged"]

_ABBREVIATIONS = frozenset(  # a dot behind one of these ends no sentence
    """
    mr mrs ms dr prof st sr jr vs etc e.g i.e no fig vol p pp cf al approx dept est inc ltd co
    m mm mme mlle mgr chap art env av bd ed z.b bzw usw ca nr str hr fr
    """.split()  # noqa: SIM905
)
_LATIN_END = re.compile(r"[.!?…]+[\"'»”’)\]]*(?=\s+\S)")
_WIDE_END = re.compile(r"[。！？…．]+[”’」』）》]*")
_CLAUSE_END = re.compile(r"[,;:，、；：]+(?:\s|(?<=[，、；：]))")
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]")


@dataclass(frozen=True)
class Notice:
    """Something a reader of the translation should know."""

    kind: Kind
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Piece:
    """A stretch of the text: to be translated, or (space, symbols) to stay as it is."""

    text: str
    translate: bool


def has_words(text: str) -> bool:
    """Whether there is anything to translate: at least one letter of any script."""
    return any(character.isalpha() for character in text)


def cut(text: str, count: Callable[[str], int], limit: int) -> list[Piece]:
    """Cut a text into pieces of at most `limit` tokens where it can be; joined they are the text.

    Lines are cut apart always, a line only when it is too long: into sentences, a sentence still
    too long at its commas, and at last between words or characters.
    """
    pieces: list[Piece] = []
    for line in text.splitlines(keepends=True):
        for part in _too_long(line, count, limit):
            body = part.strip()
            if not has_words(body):
                pieces.append(Piece(part, False))
                continue
            lead = part[: len(part) - len(part.lstrip())]
            trail = part[len(part.rstrip()) :]
            pieces += [Piece(lead, False), Piece(body, True), Piece(trail, False)]
    return [piece for piece in pieces if piece.text]


def _too_long(line: str, count: Callable[[str], int], limit: int) -> list[str]:
    """The line itself, or its sentences, or shorter stretches."""
    if count(line.strip()) <= limit:
        return [line]
    parts: list[str] = []
    for sentence in sentences(line):
        if count(sentence.strip()) <= limit:
            parts.append(sentence)
        else:
            clauses = _cut_after(sentence, (mark.end() for mark in _CLAUSE_END.finditer(sentence)))
            for clause in _packed(clauses, count, limit):
                parts += _chopped(clause, count, limit)
    return parts


def sentences(text: str) -> list[str]:
    """The sentences of a line, each with the space behind it; joined they are the line."""
    ends: list[int] = []
    for match in _LATIN_END.finditer(text):
        word = text[: match.start()].rpartition(" ")[2].lower().strip("(\"'«“")
        following = text[match.end() :].lstrip()[:1]
        plain_dot = match.group().startswith(".")
        if plain_dot and (word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())):
            continue
        if plain_dot and following.islower():
            continue
        ends.append(match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip()))
    ends += [match.end() for match in _WIDE_END.finditer(text)]
    return _cut_after(text, sorted(set(ends)))


def _cut_after(text: str, ends: Iterable[int]) -> list[str]:
    """The text cut at these places, nothing lost."""
    places = [0, *ends, len(text)]
    return [text[a:b] for a, b in pairwise(places) if b > a]


def _packed(parts: Sequence[str], count: Callable[[str], int], limit: int) -> list[str]:
    """Neighbours put together as long as they fit."""
    packed: list[str] = []
    for part in parts:
        if packed and count(packed[-1] + part) <= limit:
            packed[-1] += part
        else:
            packed.append(part)
    return packed


def _chopped(text: str, count: Callable[[str], int], limit: int) -> list[str]:
    """Halves, quarters… until each fits; between words where there are any."""
    if count(text.strip()) <= limit or len(text) < 2:
        return [text]
    middle = len(text) // 2
    space = text.rfind(" ", 1, middle + 1)
    place = space + 1 if space > 0 else middle
    return [*_chopped(text[:place], count, limit), *_chopped(text[place:], count, limit)]


def join(pieces: Sequence[Piece], translated: Sequence[str]) -> str:
    """The translations with what stood between them; a space only where the scripts want one."""
    text = ""
    fresh = iter(translated)
    previous = False  # whether the last piece was a translation
    for piece in pieces:
        part = next(fresh) if piece.translate else piece.text
        if previous and piece.text == " " and not piece.translate and _WIDE.match(text[-1:]):
            previous = False
            continue
        if previous and piece.translate and part and not _WIDE.match(text[-1:]):
            text += " "
        text += part
        previous = piece.translate
    return text


def loop(ids: Sequence[int]) -> tuple[int, int] | None:
    """Where an output starts to go in circles and how long the circle is, or None.

    ids[t] = ids[t − period] so often that the circle is run at least four times and 8 tokens long
    """
    for period in range(1, len(ids) // 4 + 1):
        run = 0
        for place in range(period, len(ids)):
            run = run + 1 if ids[place] == ids[place - period] else 0
            if run >= 3 * period and run + period >= 8:
                return place - run - period + 1, period
    return None


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
