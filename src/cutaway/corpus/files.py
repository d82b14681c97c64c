"""Open a corpus file: plain, gzipped or standard input; errors name file and line."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path as FilePath
from typing import BinaryIO, cast

from cutaway.errors import DataError

Path = str | PathLike[str]

GZIP = b"\x1f\x8b"
STANDARD_INPUT = "-"
LONGEST = 16 * 2**20  # bytes of a line


@dataclass(frozen=True)
class Stretch(PathLike[str]):
    """Some lines of a file, from the first byte of one to the last of another.

    It is read as the file whose name it has; numbers of lines are those of the whole file.
    """

    name: str  # as it was given, for messages and the format
    place: str  # where it is opened, also by a process that works in another folder
    start: int
    end: int
    line: int = 1  # the number of its first line

    def __fspath__(self) -> str:
        return self.name


def label(path: Path) -> str:
    """A file's name in messages."""
    return "standard input" if os.fspath(path) == STANDARD_INPUT else os.fspath(path)


def suffixes(path: Path) -> list[str]:
    """The endings of a file's name in lower case, without .gz: a.en.TSV.gz → [.en, .tsv]."""
    found = [suffix.lower() for suffix in FilePath(os.fspath(path)).suffixes]
    return found[:-1] if found[-1:] == [".gz"] else found


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed when its first two bytes say gzip."""
    try:
        if isinstance(path, Stretch):
            with FilePath(path.place).open("rb") as file:
                file.seek(path.start)
                yield io.BytesIO(file.read(path.end - path.start))
            return
        if os.fspath(path) == STANDARD_INPUT:
            with _decompressed(sys.stdin.buffer) as stream:
                yield stream
            return
        with FilePath(path).open("rb") as file, _decompressed(file) as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{label(path)}: the gzipped data is damaged ({error})") from None
    except FileNotFoundError:
        raise DataError(f"{label(path)}: no such file; give the path of a corpus") from None
    except OSError as error:
        raise DataError(f"{label(path)}: cannot be read ({error.strerror or error})") from None


@contextmanager
def _decompressed(raw: BinaryIO) -> Iterator[BinaryIO]:
    if not isinstance(raw, io.BufferedReader):  # a stand-in for standard input
        raw = io.BufferedReader(io.BytesIO(raw.read()))
    if raw.peek(2)[:2] == GZIP:
        with gzip.GzipFile(fileobj=raw, mode="rb") as unpacked:
            yield cast(BinaryIO, unpacked)
    else:
        yield raw


def read_lines(path: Path, encoding: str = "utf-8-sig") -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end), split at \\n and \\r\\n only.

    Other marks that Unicode calls a line break may be part of a sentence.
    """
    try:
        b" ".decode(encoding, "replace")
    except (LookupError, UnicodeError):
        raise DataError(f"encoding {encoding!r} is not known; expected utf-8, latin-1, …") from None
    first = path.line if isinstance(path, Stretch) else 1
    with open_bytes(path) as stream:
        if is_wide(encoding):  # a newline is more than one byte there, so decode first
            yield from _decoded_first(stream, path, encoding)
            return
        for number, raw in enumerate(iter(lambda: stream.readline(LONGEST + 1), b""), first):
            if len(raw) > LONGEST:  # a few kilobytes of gzip can be one line of gigabytes
                raise DataError(
                    f"{label(path)}, line {number}: longer than {LONGEST:,} bytes; "
                    "expected one sentence per line"
                )
            try:
                line = raw.decode("utf-8" if encoding == "utf-8-sig" and number > 1 else encoding)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{label(path)}, line {number}: byte {error.start + 1} is not "
                    f"{encoding_name(encoding)} ({error.reason}); convert the file, or name its "
                    "encoding, as --encoding cp1252"
                ) from None
            yield number, line.removesuffix("\n").removesuffix("\r")


def is_wide(encoding: str) -> bool:
    """Whether a line break is more than one byte."""
    name = encoding.lower().replace("_", "-")
    return name.startswith(("utf-16", "utf-32", "utf16", "utf32"))


def _decoded_first(stream: BinaryIO, path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    text = io.TextIOWrapper(stream, encoding=encoding, newline="\n")
    number = 0
    try:
        for number, line in enumerate(iter(lambda: text.readline(LONGEST + 1), ""), 1):
            if len(line) > LONGEST:
                raise DataError(
                    f"{label(path)}, line {number}: longer than {LONGEST:,} characters; "
                    "expected one sentence per line"
                )
            yield number, line.removesuffix("\n").removesuffix("\r")
    except UnicodeError as error:
        raise DataError(
            f"{label(path)}, line {number + 1}: not {encoding_name(encoding)} ({error})"
        ) from None
    finally:
        text.detach()  # the caller that opened the stream closes it


def encoding_name(encoding: str) -> str:
    """An encoding's usual name."""
    return "UTF-8" if encoding == "utf-8-sig" else encoding
