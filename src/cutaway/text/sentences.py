"""Texts cut into sentences and put together again; the rules of sentence ends that export carries.

    “Dr. Smith left. He ran.” → “Dr. Smith left.” “ ” “He ran.” → translated → joined with that “ ”

A sentence ends behind . ! ? … where a space follows and then no small letter, and behind 。！？ at
once. In doubt it ends: a model of single sentences translates both halves of a sentence, but loses
the second of two.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

MARKS = "!?…‽؟۔।॥։።፧။។"  # end a sentence where a space follows, as the dot does
FULL = "。！？｡"  # end a sentence with no space behind them
CLOSING = "\"'’”»›)]」』）】》〉〕］"

# The dot behind one of these is part of it; a name or another word always follows.
TITLES = frozenset(
    """
    mr mrs ms mx dr prof rev hon gov sen rep gen col capt lt sgt st ste mt messrs
    e.g i.e cf vs viz approx
    mm mme mmes mlle mlles mgr me pr
    hr fr frl bzw ca z.b d.h u.a o.ä inkl exkl evtl ggf vgl sog bspw
    sra srta dra dña ud uds sig dott avv dhr mevr bijv np tzn tzw ul
    """.split()  # noqa: SIM905
)
# The dot behind one of these is part of it where a number follows.
BEFORE_NUMBERS = frozenset(
    """
    no nos nr núm num art arts fig figs vol vols p pp pg ch chap sec sect eq eqs ref refs tab ex est
    av bd str env abs kap bd s jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()  # noqa: SIM905
)
# Languages that write ordinal numbers with a dot: am 3. Mai, 3. května.
ORDINALS = frozenset("bs cs da de et fi fo hr hu is lb lv nb nn no pl sk sl sr tr".split())  # noqa: SIM905

_SPACED = re.compile(
    rf"(?P<stop>[.{re.escape(MARKS)}]+)(?P<closing>[{re.escape(CLOSING)}]*)(?P<space>\s+)(?=(?P<next>\S))"
)
_OPENING = "(\"'«“„‘‚[¿¡"
_CJK = r"\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_FULL = re.compile(
    rf"(?:[{FULL}][{FULL}{re.escape(MARKS)}]*|(?<=[{_CJK}])[!?]+(?=[{_CJK}“「『]))"
    rf"[{re.escape(CLOSING)}]*\s*"
)
_HIRAGANA = re.compile(r"[ぁ-ゟ]")
_LOOSE = re.compile(rf"[.{re.escape(MARKS)}]+[{re.escape(CLOSING)}]*\s+(?=\S)")
_CLAUSE = re.compile(r"[,;:，、；：]+(?:\s|(?<=[，、；：]))")
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]")
_LONGEST_WORD = 32  # characters looked at in front of a dot


@dataclass(frozen=True)
class Piece:
    """A stretch of the text: to be translated, or (space, symbols) to stay as it is."""

    text: str
    translate: bool
    broken: bool = False  # a part of a sentence that was too long


def has_words(text: str) -> bool:
    """Whether there is anything to translate: at least one letter of any script."""
    return any(character.isalpha() for character in text)


def sentences(text: str, language: str = "") -> list[str]:
    """The sentences of a line, each with the space behind it; joined they are the line."""
    ends = [match.end() for match in _SPACED.finditer(text) if _ends(text, match, language)]
    for match in _FULL.finditer(text):
        quoted = match.group().rstrip()[-1:] in CLOSING
        if quoted and _HIRAGANA.match(text, match.end()):
            continue  # 「走れ！」と言った。
        ends.append(match.end())
    return _cut_after(text, sorted(set(ends)))


def _ends(text: str, match: re.Match[str], language: str) -> bool:
    """Whether a stop before a space ends a sentence."""
    following = match["next"]
    if following.islower():
        return False
    if match["stop"] != "." or match["closing"]:
        return True
    before = text[max(0, match.start() - _LONGEST_WORD) : match.start()]
    if not before or before[-1].isspace():
        return True  # a dot on its own: "un chat ."
    word = before.split()[-1].lower().lstrip(_OPENING)
    if word in TITLES or _is_initials(word):
        return False
    if word.isdecimal() and len(word) <= 2 and language in ORDINALS:
        return before.strip() == word  # the number of a list
    return not (word in BEFORE_NUMBERS and following.isdecimal())


def _is_initials(word: str) -> bool:
    """J in “J. Smith”, u.s in “U.S. Army”, z in “z. B.”"""
    return all(len(part) == 1 and part.isalpha() for part in word.split("."))


def cut(
    text: str,
    count: Callable[[str], int],
    limit: int,
    *,
    split: bool = True,
    language: str = "",
) -> list[Piece]:
    """Cut a text into pieces of at most `limit` tokens; joined they are the text.

    Lines are cut apart always, with `split` into sentences. What is longer than the limit is cut
    at every stop, then at commas, and at last between words or characters.
    """
    pieces: list[Piece] = []
    for line in text.splitlines(keepends=True):
        for sentence in sentences(line, language) if split else [line]:
            parts = _fitting(sentence, count, limit)
            for part in parts:
                body = part.strip()
                if not has_words(body):
                    pieces.append(Piece(part, False))
                    continue
                start = part.index(body)
                pieces += [
                    Piece(part[:start], False),
                    Piece(body, True, broken=len(parts) > 1),
                    Piece(part[start + len(body) :], False),
                ]
    return [piece for piece in pieces if piece.text]


def _fitting(sentence: str, count: Callable[[str], int], limit: int) -> list[str]:
    """The sentence itself, or stretches of it that fit."""
    if count(sentence.strip()) <= limit:
        return [sentence]
    parts: list[str] = []
    ends = {
        match.end() for expression in (_LOOSE, _FULL) for match in expression.finditer(sentence)
    }
    for stretch in _cut_after(sentence, sorted(ends)):
        if count(stretch.strip()) <= limit:
            parts.append(stretch)
            continue
        clauses = _cut_after(stretch, (match.end() for match in _CLAUSE.finditer(stretch)))
        for clause in _packed(clauses, count, limit):
            parts += _chopped(clause, count, limit)
    return parts


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
