"""Changes to pairs that a source declares: transforms of every pair, and changed copies to add.

Each is a function of the pair, its number and the seed alone.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

from cutaway.config import one_of
from cutaway.errors import ConfigError

Pair = tuple[str, str]
Transform = Callable[[str, str], Pair]

OPENING = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "„": "“"}
ENDS = ".!?。！？…"
REMOVE = "remove:"


def _unescape(source: str, target: str) -> Pair:
    """`&quot;` and the like as the characters they stand for."""
    return html.unescape(source), html.unescape(target)


def _unpaired(source: str, target: str) -> Pair:
    """Without brackets and quotation marks that have no partner."""
    return _paired(source), _paired(target)


def _paired(text: str) -> str:
    alone: set[int] = set()
    open_: list[int] = []
    straight: list[int] = []
    for place, character in enumerate(text):
        if open_ and character == OPENING[text[open_[-1]]]:
            open_.pop()
        elif character in OPENING:
            open_.append(place)
        elif character in OPENING.values():
            alone.add(place)
        elif character == '"':
            straight.append(place)
    alone.update(open_)
    if len(straight) % 2:
        alone.add(straight[-1])
    return "".join(character for place, character in enumerate(text) if place not in alone)


def _first_case(source: str, target: str) -> Pair:
    """The target's first letter in the case of the source's."""
    first, second = source[:1], target[:1]
    if not (first.isalpha() and second.isalpha()) or first.isupper() == second.isupper():
        return source, target
    return source, (second.upper() if first.isupper() else second.lower()) + target[1:]


TRANSFORMS: dict[str, Transform] = {
    "unescape": _unescape,
    "unpaired": _unpaired,
    "first_case": _first_case,
}


def transformed(pairs: Iterable[Pair], names: Sequence[str]) -> Iterator[Pair]:
    """Every pair, changed by these in their order."""
    functions = [_transform(name) for name in names]
    for pair in pairs:
        for function in functions:
            pair = function(*pair)
        yield pair


def _transform(name: str) -> Transform:
    if name.startswith(REMOVE) and (text := name.removeprefix(REMOVE)):
        return lambda source, target: (source.replace(text, ""), target.replace(text, ""))
    one_of("transforms", name, (*TRANSFORMS, f"{REMOVE}TEXT"))
    return TRANSFORMS[name]


def _lowercase(source: str, target: str, random: Random) -> Pair:
    """All in lower case."""
    return source.lower(), target.lower()


def _unpunctuated(source: str, target: str, random: Random) -> Pair:
    """Both sides without the mark that ends them, where both have one."""
    if source[-1:] in ENDS and target[-1:] in ENDS:
        return source.rstrip(ENDS).rstrip(), target.rstrip(ENDS).rstrip()
    return source, target


def _typos(source: str, target: str, random: Random) -> Pair:
    """A source in which two neighbouring letters of a word are exchanged."""
    words = list(re.finditer(r"[^\W\d_]{4,}", source))
    if not words:
        return source, target
    word = random.choice(words)
    place = random.randrange(word.start() + 1, word.end() - 1)
    swapped = source[:place] + source[place + 1] + source[place] + source[place + 2 :]
    return swapped, target


AUGMENTATIONS: dict[str, Callable[[str, str, Random], Pair]] = {
    "lowercase": _lowercase,
    "unpunctuated": _unpunctuated,
    "typos": _typos,
}


def augmented(pairs: Iterable[Pair], shares: dict[str, Any], seed: int) -> Iterator[Pair]:
    """Every pair, and after it the changed copies it was drawn for; copies alike are left out."""
    for name, share in shares.items():
        one_of("augment", name, tuple(AUGMENTATIONS))
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise ConfigError(
                f"augment.{name} is {share!r}; expected a share of the pairs above 0, at most 1"
            )
    for number, pair in enumerate(pairs):
        yield pair
        for name, share in shares.items():
            random = Random(f"{seed} {name} {number}")
            if random.random() < share:
                changed = AUGMENTATIONS[name](*pair, random)
                if changed != pair and all(changed):
                    yield changed
