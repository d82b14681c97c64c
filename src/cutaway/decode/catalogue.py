"""A gettext catalogue (.po) as text: its open entries filled, every other byte as it was."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cutaway.decode.placeholders import Carried, carry
from cutaway.decode.translation import Translation
from cutaway.errors import DataError

_KEYWORD = re.compile(r"\s*(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*(\".*\")\s*$")
_STRING = re.compile(r"\s*(\".*\")\s*$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "a": "\a", "b": "\b"}
_UNESCAPES = {value: f"\\{name}" for name, value in _ESCAPES.items()}


@dataclass(frozen=True)
class Problem:
    """An entry that needs a person, by the line of its msgid."""

    line: int
    message: str


@dataclass
class Filled:
    """The catalogue afterwards, and what was done to it."""

    text: str
    translated: int = 0  # entries filled and marked fuzzy
    kept: int = 0  # entries that had a translation
    left: int = 0  # entries still open
    problems: list[Problem] = field(default_factory=list)


@dataclass
class _Entry:
    """One entry: where its lines are, what it says."""

    first: int  # index of its first line, comments too
    strings: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)  # lines of each string
    flags: int | None = None  # index of its "#," line
    start: int = 0  # index of its first keyword line

    @property
    def is_open(self) -> bool:
        return bool(self.strings.get("msgid")) and not any(
            text for name, text in self.strings.items() if name.startswith("msgstr")
        )


def fill(
    text: str,
    translate: Callable[[list[str]], Sequence[Translation]],
    *,
    name: str = "the catalogue",
) -> Filled:
    """Translate the entries without translation, mark them fuzzy, keep placeholders whole."""
    lines = text.split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    entries = list(_entries([line.removesuffix("\r") for line in lines], name))
    waiting = [entry for entry in entries if entry.is_open]
    messages = [
        message
        for entry in waiting
        for message in (entry.strings["msgid"], entry.strings.get("msgid_plural"))
        if message is not None
    ]
    warnings: dict[str, list[str]] = {}

    def plain(texts: list[str]) -> list[str]:
        translations = translate(texts)
        for translation in translations:
            warnings.setdefault(translation.source, []).extend(
                notice.message for notice in translation.warnings if notice.kind != "unchanged"
            )
        return [translation.text for translation in translations]

    carried = iter(carry(messages, plain) if messages else [])
    filled = Filled(
        "", kept=sum(bool(entry.strings.get("msgid")) and not entry.is_open for entry in entries)
    )
    edits: list[tuple[int, int, list[str]]] = []  # (first line, behind the last, what instead)
    for entry in waiting:
        singular = next(carried)
        plural = next(carried) if "msgid_plural" in entry.strings else None
        wrong = sorted({*singular.wrong, *(plural.wrong if plural else ())})
        line = entry.places["msgid"][0] + 1
        if wrong:
            filled.left += 1
            filled.problems.append(
                Problem(line, f"left open: cannot keep {', '.join(wrong)} in the translation")
            )
            continue
        filled.translated += 1
        if singular.in_pieces or (plural is not None and plural.in_pieces):
            note = "translated in pieces around its placeholders; check the order of the words"
            filled.problems.append(Problem(line, note))
        for message in (entry.strings["msgid"], entry.strings.get("msgid_plural") or ""):
            filled.problems += [Problem(line, note) for note in warnings.get(message, [])]
        edits += _edits(entry, singular, plural, lines)
    for first, behind, instead in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        lines[first:behind] = [line + ending for line in instead]
    filled.text = "\n".join(lines)
    return filled


def _edits(
    entry: _Entry, singular: Carried, plural: Carried | None, lines: list[str]
) -> Iterator[tuple[int, int, list[str]]]:
    """The lines to change for one entry: its msgstr, and the fuzzy mark."""
    for name in entry.strings:
        if not name.startswith("msgstr"):
            continue
        from_plural = plural is not None and name != "msgstr[0]"
        source = entry.strings["msgid_plural" if from_plural else "msgid"]
        target = plural.text if plural is not None and from_plural else singular.text
        first, behind = entry.places[name]
        yield first, behind, _quoted(name, _same_edges(source, target))
    if entry.flags is None:
        yield entry.start, entry.start, ["#, fuzzy"]
    else:
        old = lines[entry.flags].removesuffix("\r")
        if not re.search(r"\bfuzzy\b", old):
            yield entry.flags, entry.flags + 1, [old.replace("#,", "#, fuzzy,", 1)]


def _entries(lines: Sequence[str], name: str) -> Iterator[_Entry]:
    """The entries of the catalogue; obsolete ones (#~) are comments."""
    entry = _Entry(0)
    current: str | None = None
    for number, line in enumerate(lines):
        keyword = _KEYWORD.match(line)
        more = _STRING.match(line)
        if keyword is not None:
            key = keyword.group(1)
            if key in ("msgctxt", "msgid") and any(
                old.startswith("msgstr") for old in entry.strings
            ):
                yield entry
                entry = _Entry(number)
            if not entry.strings:
                entry.start = number
            current = key
            entry.strings[key] = _unquoted(keyword.group(2))
            entry.places[key] = (number, number + 1)
        elif more is not None and current is not None:
            entry.strings[current] += _unquoted(more.group(1))
            entry.places[current] = (entry.places[current][0], number + 1)
        elif line.startswith("#") or not line.strip():
            if any(old.startswith("msgstr") for old in entry.strings):
                yield entry
                entry = _Entry(number)
            current = None
            if line.startswith("#,"):
                entry.flags = number
        else:
            raise DataError(
                f"{name}, line {number + 1}: {line.strip()[:40]!r} is no part of a .po file; "
                f"expected a comment, msgid, msgstr or a quoted string"
            )
    if entry.strings:
        yield entry


def _unquoted(quoted: str) -> str:
    """The text of a quoted string."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match.group(1), match.group()), quoted[1:-1])


def _quoted(name: str, text: str) -> list[str]:
    """A keyword with its text: one line, or an empty string and a line for every line."""
    escaped = "".join(_UNESCAPES.get(character, character) for character in text)
    parts = re.findall(r".+?(?:\\n|$)", escaped)
    if len(parts) < 2:
        return [f'{name} "{escaped}"']
    return [f'{name} ""', *(f'"{part}"' for part in parts)]


def _same_edges(source: str, target: str) -> str:
    """The translation with the white space of its source at both ends, as msgfmt demands."""
    body = source.strip()
    if not body:
        return target
    start = source.index(body)
    return source[:start] + target.strip() + source[start + len(body) :]
