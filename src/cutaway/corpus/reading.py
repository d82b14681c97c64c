"""Read pairs, texts and labelled texts from any of the formats; the name tells which."""

from collections.abc import Iterator
from os import PathLike
from typing import Literal

Format = Literal["text", "tsv", "jsonl", "tmx", "po", "mo"]
Path = str | PathLike[str]


def iterate_pairs(
    path: Path | tuple[Path, Path],
    format: Format | None = None,
    *,
    columns: tuple[int, int] = (1, 2),
    keys: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
    encoding: str = "utf-8-sig",
) -> Iterator[tuple[str, str]]:
    """(source, target) of a file or of two aligned ones, one at a time.

    `columns` (from 1) for TSV, `keys` for JSONL, `languages` for TMX. "-" is standard input; a
    gzipped file is told by its first bytes. Nothing in the file: a DataError at the end.
    """
    raise NotImplementedError


def read_pairs(
    path: Path | tuple[Path, Path],
    format: Format | None = None,
    *,
    columns: tuple[int, int] = (1, 2),
    keys: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
    encoding: str = "utf-8-sig",
) -> list[tuple[str, str]]:
    """All of `iterate_pairs`."""
    raise NotImplementedError


def read_texts(
    path: Path,
    format: Literal["text", "jsonl"] | None = None,
    *,
    key: str = "text",
    encoding: str = "utf-8-sig",
) -> list[str]:
    """Texts for a language model: one a line, or one JSON object a line."""
    raise NotImplementedError


def read_labelled(
    path: Path,
    format: Literal["tsv", "jsonl"] | None = None,
    *,
    keys: tuple[str, str] = ("label", "text"),
    encoding: str = "utf-8-sig",
) -> list[tuple[str, str]]:
    """(label, text) rows: TSV `label TAB text`, or JSON objects with both keys."""
    raise NotImplementedError
