"""gettext catalogues: `.po` in text and `.mo` in binary, as (message, translation) pairs."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from cutaway.corpus.files import Path, label, open_bytes
from cutaway.errors import DataError

LARGEST = 256 * 2**20  # bytes; a catalogue is read whole
MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,2})\])?)\s*(?=\")")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_CHARSET = re.compile(rb"charset=([-\w]+)")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass
class _Entry:
    line: int
    message: str | None = None
    plural: str | None = None
    forms: dict[int, str] = field(default_factory=dict)
    fuzzy: bool = False


def read_po(path: Path, encoding: str | None, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Translated messages of a `.po`; untranslated, fuzzy and obsolete ones are counted in notes.

    The encoding is the header's charset unless said.
    """
    data = _read_whole(path)
    charset = encoding or _charset(data, label(path))
    left = {"untranslated": 0, "fuzzy": 0, "obsolete": 0}
    for entry in _po_entries(data, charset, label(path), left):
        if not entry.message:
            continue  # the header
        if entry.fuzzy:
            left["fuzzy"] += 1
            continue
        pairs = list(_forms(entry.message, entry.plural, list(entry.forms.values())))
        left["untranslated"] += not pairs
        yield from pairs
    notes.extend(f"{label(path)}: {n} {what} messages left out" for what, n in left.items() if n)


def read_mo(path: Path, encoding: str | None, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Messages of a compiled catalogue, every offset checked before it is followed."""
    data, name = _read_whole(path), label(path)
    order = MAGIC.get(data[:4])
    if order is None or len(data) < 20:
        raise DataError(f"{name}: not a compiled gettext catalogue (.mo)")
    version, count, originals, translations = struct.unpack(order + "4I", data[4:20])
    if version >> 16 > 1:
        raise DataError(f"{name}: catalogue version {version >> 16}; expected 0 or 1")
    for table in (originals, translations):
        if table + 8 * count > len(data):
            raise DataError(f"{name}: a table of {count} messages lies past the end of the file")
    charset = encoding or _charset(data, name)
    untranslated = 0
    for number in range(count):
        message, translation = (
            _mo_string(data, table + 8 * number, order, charset, f"{name}, message {number + 1}")
            for table in (originals, translations)
        )
        if not message:
            continue  # the header
        singular, _, plural = message.rpartition("\x04")[2].partition("\0")
        pairs = list(_forms(singular, plural or None, translation.split("\0")))
        untranslated += not pairs
        yield from pairs
    if untranslated:
        notes.append(f"{name}: {untranslated} untranslated messages left out")


def _forms(singular: str, plural: str | None, forms: list[str]) -> Iterator[tuple[str, str]]:
    """A message's pairs: one without plural; else singular ↔ first form, plural ↔ last form."""
    if plural is None:
        if singular and forms and forms[0]:
            yield singular, forms[0]
        return
    if len(forms) > 1 and singular and forms[0]:
        yield singular, forms[0]
    if forms and forms[-1]:
        yield plural, forms[-1]


def _mo_string(data: bytes, at: int, order: str, charset: str, where: str) -> str:
    length, offset = struct.unpack(order + "2I", data[at : at + 8])
    if offset + length > len(data):
        raise DataError(f"{where}: its text lies past the end of the file")
    return _decode(data[offset : offset + length], charset, where)


def _po_entries(data: bytes, charset: str, name: str, left: dict[str, int]) -> Iterator[_Entry]:
    entry = _Entry(1)
    current: str | None = None  # the keyword that a continued string belongs to
    form = 0
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        where = f"{name}, line {number}"
        line = _decode(raw, charset, where).strip()
        if line.startswith("#~"):
            left["obsolete"] += line.removeprefix("#~").strip().startswith("msgid ")
            continue
        if not line or line.startswith("#"):
            if entry.forms:  # blank or comment: the entry is complete
                yield entry
                entry, current = _Entry(number), None
            entry.fuzzy |= line.startswith("#,") and "fuzzy" in line
            continue
        keyword = _KEYWORD.match(line)
        if keyword:
            if keyword[1] in ("msgctxt", "msgid") and entry.forms:
                yield entry
                entry = _Entry(number)
            current, form = keyword[1].partition("[")[0], int(keyword[2] or 0)
            line = line[keyword.end() :]
        string = _STRING.fullmatch(line)
        if string is None or current is None:
            raise DataError(f"{where}: expected a keyword and a quoted string, got {line[:40]!r}")
        text = _unescape(string[1], where)
        if current == "msgid":
            entry.message = (entry.message or "") + text
        elif current == "msgid_plural":
            entry.plural = (entry.plural or "") + text
        elif current == "msgstr":
            if entry.message is None:
                raise DataError(f"{where}: msgstr without a msgid before it")
            entry.forms[form] = entry.forms.get(form, "") + text
    if entry.forms:
        yield entry
    elif entry.message is not None:
        raise DataError(f"{name}, line {entry.line}: the last message has no msgstr")


def _unescape(text: str, where: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8) & 255)
        if code in _SIMPLE or code in '"\\':
            return _SIMPLE.get(code, code)
        raise DataError(f"{where}: unknown escape \\{code}")

    return _ESCAPE.sub(one, text)


def _charset(data: bytes, name: str) -> str:
    found = _CHARSET.search(data[: 1 << 20])
    charset = found[1].decode() if found else "utf-8"
    if charset == "CHARSET":  # the placeholder of a template
        charset = "utf-8"
    try:
        b" ".decode(charset, "replace")
    except LookupError:
        raise DataError(
            f"{name}: its header names the unknown encoding {charset!r}; say the encoding"
        ) from None
    return charset


def _decode(raw: bytes, charset: str, where: str) -> str:
    try:
        return raw.decode(charset)
    except UnicodeError as error:
        raise DataError(f"{where}: not {charset} ({error})") from None


def _read_whole(path: Path) -> bytes:
    with open_bytes(path) as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DataError(f"{label(path)}: larger than {LARGEST} bytes; not a message catalogue")
    return data
