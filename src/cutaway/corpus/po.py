"""The syntax of `.po` files: entries with their texts, and the line numbers of each text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cutaway.errors import DataError

_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*(?=\")")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = {'"': '\\"', "\\": "\\\\", **{text: f"\\{name}" for name, text in _LETTERS.items()}}


@dataclass
class Entry:
    """One entry; lines are counted from 0."""

    first: int  # its first line, comments included
    start: int = 0  # its first line with a keyword
    flags: int | None = None  # its line "#, …"
    fuzzy: bool = False
    strings: dict[str, str] = field(default_factory=dict)  # "msgid", "msgstr[0]", … → text
    places: dict[str, tuple[int, int]] = field(default_factory=dict)  # → first line, line after

    @property
    def forms(self) -> list[str]:
        """The translations: one, or one per plural form; none in an entry that is not complete."""
        return [text for name, text in self.strings.items() if name.startswith("msgstr")]


def entries(lines: Iterable[str], name: str) -> Iterator[Entry]:
    """The entries of a file in order, the header among them; obsolete ones (#~) are comments."""
    entry = Entry(0)
    current: str | None = None  # the keyword that a continued string belongs to
    parts: dict[
        str, list[str]
    ] = {}  # of its texts; joined once: appending line by line would be quadratic
    for number, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("#"):
            if entry.forms:
                yield _joined(entry, parts)
                entry = Entry(number)
            current = None
            if text.startswith("#,"):
                entry.flags = number
                entry.fuzzy |= "fuzzy" in text
            continue
        where = f"{name}, line {number + 1}"
        keyword = _KEYWORD.match(text)
        if keyword is not None:
            current = keyword[1]
            if current in ("msgctxt", "msgid") and entry.forms:
                yield _joined(entry, parts)
                entry = Entry(number)
            if current.startswith("msgstr") and "msgid" not in entry.strings:
                raise DataError(f"{where}: msgstr without a msgid before it")
            if not entry.strings:
                entry.start = number
            text = text[keyword.end() :]
        string = _STRING.fullmatch(text)
        if string is None or current is None:
            raise DataError(f"{where}: expected a keyword and a quoted string, got {text[:40]!r}")
        entry.strings.setdefault(current, "")
        parts.setdefault(current, []).append(_unescaped(string[1], where))
        begun = entry.places.get(current, (number, number))[0]
        entry.places[current] = (begun, number + 1)
    if entry.forms:
        yield _joined(entry, parts)
    elif "msgid" in entry.strings:
        raise DataError(f"{name}, line {entry.first + 1}: the last message has no msgstr")


def _joined(entry: Entry, parts: dict[str, list[str]]) -> Entry:
    """The entry with its texts whole; `parts` is empty again."""
    for keyword, pieces in parts.items():
        entry.strings[keyword] = "".join(pieces)
    parts.clear()
    return entry


def quoted(keyword: str, text: str) -> list[str]:
    """A keyword with its text as lines: one line, or an empty string and one line per line."""
    escaped = "".join(_ESCAPED.get(character, character) for character in text)
    parts = re.findall(r".+?(?:\\n|$)", escaped)
    if len(parts) < 2:
        return [f'{keyword} "{escaped}"']
    return [f'{keyword} ""', *(f'"{part}"' for part in parts)]


def _unescaped(text: str, where: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8) & 255)
        if code in _LETTERS or code in '"\\':
            return _LETTERS.get(code, code)
        raise DataError(f"{where}: unknown escape \\{code}")

    return _ESCAPE.sub(one, text)
