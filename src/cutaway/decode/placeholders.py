"""Placeholders and tags in a message: find them, compare them, keep them in a translation.

%s %d %(name)s %1$s {name} {0} {{name}} ${name} <b> </b> &amp; and escapes such as \\n
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PLACEHOLDER = re.compile(
    r"%%"
    r"|%(?:\(\w+\)|\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?"  # flags, width, precision
    r"(?:hh|h|ll|l|L|z|j|t)?[diouxXeEfFgGcrsaAp@]"
    r"|\$?\{\{?[^{}\s]*\}?\}"
    r"|</?[A-Za-z][^<>]*>"
    r"|&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);"
)


@dataclass(frozen=True)
class Protected:
    """A translated message, and the placeholders that were lost or invented (none: intact)."""

    text: str
    wrong: tuple[str, ...]
    in_pieces: bool = False  # translated around its placeholders: the word order needs a look


def placeholders(text: str) -> list[str]:
    """All of them, in order."""
    return PLACEHOLDER.findall(text)


def difference(source: str, target: str) -> tuple[str, ...]:
    """What one side has and the other has not, each as often as it is missing."""
    wanted, have = Counter(placeholders(source)), Counter(placeholders(target))
    return tuple(((wanted - have) + (have - wanted)).elements())


def translate_protected(
    messages: Sequence[str], translate: Callable[[list[str]], list[str]]
) -> list[Protected]:
    """Translate messages and keep their placeholders intact.

    First each as it stands; where that loses a placeholder, the text between the placeholders is
    translated piece by piece and put back around them.
    """
    whole = translate(list(messages))
    broken = [
        place
        for place, (source, target) in enumerate(zip(messages, whole, strict=True))
        if difference(source, target)
    ]
    pieces = {place: _between(messages[place]) for place in broken}
    texts = [text for place in broken for text, fixed in pieces[place] if not fixed]
    translated = iter(translate(texts) if texts else [])
    mended = {
        place: "".join(text if fixed else next(translated) for text, fixed in pieces[place])
        for place in broken
    }
    protected: list[Protected] = []
    for place, source in enumerate(messages):
        text = mended.get(place, whole[place])
        protected.append(Protected(text, difference(source, text), place in mended))
    return protected


def _between(message: str) -> list[tuple[str, bool]]:
    """The message cut at its placeholders: (text, whether it must stay as it is)."""
    parts: list[tuple[str, bool]] = []
    end = 0
    for match in PLACEHOLDER.finditer(message):
        parts += [(message[end : match.start()], False), (match.group(), True)]
        end = match.end()
    parts.append((message[end:], False))
    return [(text, fixed) for text, fixed in parts if text]
