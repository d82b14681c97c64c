"""Write pairs to files that the readers read back: aligned text, TSV and JSON lines."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path

from cutaway.corpus.reading import format_of
from cutaway.errors import DataError
from cutaway.system.files import replace


def write_lines(path: str | PathLike[str], lines: Iterable[str]) -> int:
    """Write lines and return their number; the file is complete or absent.

    A line break inside a line would shift all that follow, so it is refused.
    """
    place = Path(path).resolve()  # a symbolic link is followed
    if place.exists() and not place.is_file() and not place.is_dir():
        return _write_through(place, lines)
    fresh = place.with_name(place.name + ".new")
    count = 0
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("w", encoding="utf-8", newline="\n") as file:
            for count, line in enumerate(lines, 1):
                file.write(_whole(line, count) + "\n")
        replace(fresh, place)
    except OSError as error:
        raise DataError(f"{place}: cannot be written ({error.strerror})") from None
    finally:
        with suppress(OSError):
            fresh.unlink()
    return count


def _write_through(place: Path, lines: Iterable[str]) -> int:
    """Write lines to a device or a pipe, which no other file can replace."""
    count = 0
    try:
        with place.open("w", encoding="utf-8", newline="\n") as file:
            for count, line in enumerate(lines, 1):
                file.write(_whole(line, count) + "\n")
    except OSError as error:
        raise DataError(f"{place}: cannot be written ({error.strerror})") from None
    return count


def write_tsv(path: str | PathLike[str], rows: Iterable[Sequence[str]]) -> int:
    """Write rows with a tab between cells; a tab inside a cell is refused."""

    def lines() -> Iterable[str]:
        for number, row in enumerate(rows, 1):
            if any("\t" in cell for cell in row):
                raise DataError(
                    f"row {number} has a tab inside a cell; TSV cannot hold it, .jsonl can"
                )
            yield "\t".join(row)

    return write_lines(path, lines())


def pairs_format(path: str | PathLike[str]) -> str:
    """The format that a file of pairs is written in, by its name."""
    kind = format_of(path)
    if kind not in ("tsv", "jsonl"):
        raise DataError(f"{path}: pairs are written as .tsv or .jsonl; give such a name")
    return kind


def write_pairs(path: str | PathLike[str], pairs: Iterable[tuple[str, str]]) -> int:
    """Write pairs as TSV or, with any character in them, as JSON lines; the name says which."""
    if pairs_format(path) == "tsv":
        return write_tsv(path, pairs)
    rows = ({"source": source, "target": target} for source, target in pairs)
    return write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))


def _whole(line: str, number: int) -> str:
    if "\n" in line or "\r" in line:
        raise DataError(f"row {number} has a line break inside; a line cannot hold it")
    return line
