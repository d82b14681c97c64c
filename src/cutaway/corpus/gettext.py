"""gettext files, `.po` (text) and `.mo` (compiled), as (message, translation) pairs."""

import re
import struct
from collections.abc import Iterator

from cutaway.corpus.files import Path, label, open_bytes
from cutaway.corpus.po import entries
from cutaway.errors import DataError

LARGEST = 256 * 2**20  # bytes; a gettext file is read whole
MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}

_CHARSET = re.compile(rb"charset=([-\w]+)")
_OBSOLETE = re.compile(r"#~\s*msgid\s")


def read_po(path: Path, encoding: str | None, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Translated messages of a `.po`; untranslated, fuzzy and obsolete ones are counted in notes.

    The encoding is the header's charset unless it is given.
    """
    data, name = _read_whole(path), label(path)
    charset = encoding or _charset(data, name)
    left = {"untranslated": 0, "fuzzy": 0, "obsolete": 0}

    def lines() -> Iterator[str]:
        for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
            line = _decode(raw, charset, f"{name}, line {number}")
            left["obsolete"] += bool(_OBSOLETE.match(line))
            yield line

    for entry in entries(lines(), name):
        message = entry.strings.get("msgid")
        if not message:
            continue  # the header
        if entry.fuzzy:
            left["fuzzy"] += 1
            continue
        pairs = list(_forms(message, entry.strings.get("msgid_plural"), entry.forms))
        left["untranslated"] += not pairs
        yield from pairs
    notes.extend(
        f"{name}: {count} {what} messages left out" for what, count in left.items() if count
    )


def read_mo(path: Path, encoding: str | None, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Messages of a compiled gettext file, every offset checked before it is followed."""
    data, name = _read_whole(path), label(path)
    order = MAGIC.get(data[:4])
    if order is None or len(data) < 20:
        raise DataError(f"{name}: not a compiled gettext file (.mo)")
    version, count, originals, translations = struct.unpack(order + "4I", data[4:20])
    if version >> 16 > 1:
        raise DataError(f"{name}: gettext version {version >> 16}; expected 0 or 1")
    for table in (originals, translations):
        if table + 8 * count > len(data):
            raise DataError(f"{name}: a table of {count} messages lies past the end of the file")
    charset = encoding or _charset(data, name)
    untranslated = total = 0
    for number in range(count):
        for table in (originals, translations):
            total += _mo_length(data, table + 8 * number, order)
        if total > 2 * len(
            data
        ):  # overlapping texts: a file of a megabyte could expand to a terabyte
            raise DataError(f"{name}: its messages together are longer than the file")
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


def _mo_length(data: bytes, at: int, order: str) -> int:
    return int(struct.unpack(order + "I", data[at : at + 4])[0])


def _mo_string(data: bytes, at: int, order: str, charset: str, where: str) -> str:
    length, offset = struct.unpack(order + "2I", data[at : at + 8])
    if offset + length > len(data):
        raise DataError(f"{where}: its text lies past the end of the file")
    return _decode(data[offset : offset + length], charset, where)


def _charset(data: bytes, name: str) -> str:
    found = _CHARSET.search(data[: 1 << 20])
    charset = found[1].decode() if found else "utf-8"
    if charset == "CHARSET":  # the placeholder of a template
        charset = "utf-8"
    try:
        b" ".decode(charset, "replace")
    except (LookupError, UnicodeError):  # the codec named "undefined" decodes nothing
        raise DataError(
            f"{name}: its header names the unknown encoding {charset!r}; give --encoding"
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
        raise DataError(f"{label(path)}: larger than {LARGEST} bytes; not a gettext file")
    return data
