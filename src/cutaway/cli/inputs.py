"""Texts from an argument, a file or standard input: UTF-8, line by line, each of bounded length."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cutaway.errors import DataError, InputError

TOGETHER = 64  # lines translated at once when so many are waiting
LONGEST = 2**20  # bytes of a line, which is held in memory

# Formats whose text stands between marks that a translation would damage.
FORMATS = {
    ".html": "HTML", ".htm": "HTML", ".xhtml": "HTML", ".md": "Markdown", ".json": "JSON",
    ".jsonl": "JSON lines", ".xml": "XML", ".xliff": "XLIFF", ".xlf": "XLIFF", ".tmx": "TMX",
    ".srt": "subtitles", ".vtt": "subtitles", ".ass": "subtitles", ".docx": "Word", ".doc": "Word",
    ".odt": "OpenDocument", ".rtf": "rich text", ".pdf": "PDF", ".epub": "EPUB", ".tex": "TeX",
    ".rst": "reStructuredText", ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".csv": "CSV",
    ".tsv": "TSV", ".xlsx": "Excel", ".ods": "OpenDocument", ".pptx": "PowerPoint",
    ".properties": "Java properties", ".strings": "strings", ".resx": "resx", ".ts": "Qt",
    ".mo": "compiled gettext", ".pot": "a gettext template", ".gz": "gzip", ".zip": "zip",
}  # fmt: skip
MAGIC = {
    b"PK\x03\x04": "a zip archive (as .docx and .odt are)",
    b"%PDF": "PDF",
    b"\x1f\x8b": "gzip",
}
TEXTS = {".txt", ".text", ".po", ".log"}
_NAME = re.compile(r"[ -~]*[\w)]\.[A-Za-z][A-Za-z0-9]{1,7}")


def existing_file(text: str | None, *, output: bool = False) -> Path | None:
    """The argument as a file, or None for a text; what looks like a path must be a file.

    A path has a separator or an ending and no space, or a known ending, or (with an output file)
    simply no space.
    """
    if text is None or not any(letter.isalnum() for letter in text):
        return None  # nothing, or symbols alone, is a text too ("." names a folder): kept as it is
    if os.path.isfile(text):  # unlike Path.is_file, false for a text too long to be a name
        return _supported(Path(text))
    if os.path.exists(text) and not os.path.isdir(text):
        return Path(text)  # a pipe or a device
    if os.path.isdir(text):
        raise InputError(f"{text} is a folder; give a text, or the path of a text or .po file")
    known = os.path.splitext(text)[1].lower() in FORMATS.keys() | TEXTS
    plain = text.isascii() and not any(letter.isspace() for letter in text)
    separated = text.startswith(("./", "../", "/", "~/", ".\\")) or (
        plain and any(mark in text for mark in "/\\")
    )
    ended = plain and _NAME.fullmatch(text) is not None
    if "\n" not in text and (known or separated or ended or (output and plain)):
        raise InputError(
            f"there is no file {text}; give the path of a text or .po file, or, if it is a text, "
            f"write it to standard input: echo '…' | cutaway translate FOLDER"
        )
    return None


def _supported(path: Path) -> Path:
    """The path, unless its name or its first bytes say a format that is no plain text."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        with path.open("rb") as file:
            first = file.read(4)
        kind = next((name for magic, name in MAGIC.items() if first.startswith(magic)), None)
    if kind is not None:
        raise InputError(
            f"{path} is {kind}, which translate cannot read yet: its marks would be translated as "
            f"words; give plain text (.txt) or a .po file"
        )
    return path


def decoded(line: bytes, number: int, name: str) -> str:
    """A line of bytes as text; what is not UTF-8 is refused with its place."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}, line {number}: byte 0x{line[error.start]:02x} at column {error.start + 1} "
            f"is not UTF-8; convert it first, for example with iconv -t UTF-8"
        ) from None


def batches(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lines as they come: one at a time from a slow writer, many at once from a fast one.

    One read returns what is there and waits only if there is nothing. No thread reads ahead: one
    that waits for standard input when Python ends makes it abort.
    """
    number = 0
    for lines in _available(stream, name):
        for place in range(0, len(lines), TOGETHER):
            batch: list[str] = []
            for line in lines[place : place + TOGETHER]:
                number += 1
                batch.append(decoded(line, number, name))
            yield batch


def _available(stream: BinaryIO, name: str) -> Iterator[list[bytes]]:
    """Whole lines, without their ends, as many as each read brings."""
    parts: list[bytes] = []  # of a line whose end has not come yet
    held = 0
    read = getattr(stream, "read1", stream.read)
    while block := read(2**16):
        *lines, rest = block.split(b"\n")
        if lines:
            lines[0] = b"".join([*parts, lines[0]])
            parts, held = [], 0
            yield lines
        parts.append(rest)
        held += len(rest)
        if held > LONGEST:
            raise too_long(name)
    if held:
        yield [b"".join(parts)]


def numbered(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line with its end); a line longer than the bound is refused."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise too_long(f"{name}, line {number}")
        yield number, line


def too_long(where: str) -> DataError:
    """A line that no sentence can be."""
    return DataError(
        f"{where}: a line of more than {LONGEST:,} bytes; expected text with line breaks: "
        f"break it into lines"
    )


def texts_of(argument: str | None) -> Iterator[str]:
    """The one text given, or every line of standard input as it comes."""
    if argument is not None and argument != "-":
        yield argument
        return
    for batch in batches(sys.stdin.buffer, "standard input"):
        yield from batch
