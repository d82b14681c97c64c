"""Read pairs, texts and labelled texts; the file's name gives the format."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Literal, get_args

from cutaway.corpus.files import STANDARD_INPUT, Path, Stretch, label, read_lines, suffixes
from cutaway.corpus.gettext import read_mo, read_po
from cutaway.corpus.tmx import read_tmx
from cutaway.errors import DataError

Format = Literal["text", "tsv", "jsonl", "tmx", "po", "mo"]

_ENDINGS: dict[str, Format] = {
    ".txt": "text",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tmx": "tmx",
    ".po": "po",
    ".pot": "po",
    ".mo": "mo",
    ".gmo": "mo",
}
EXAMPLE = "--languages en-de"
UTF8 = "utf-8-sig"  # UTF-8, with or without a byte-order mark


def format_of(path: Path, said: Format | None = None) -> Format:
    """The format said, or the one the file's name ends with (`.gz` aside)."""
    if said is not None:
        if said not in get_args(Format):
            raise DataError(f"format {said!r}: expected one of {', '.join(get_args(Format))}")
        return said
    endings = suffixes(path)
    if endings and endings[-1] in _ENDINGS:
        return _ENDINGS[endings[-1]]
    raise DataError(
        f"{label(path)}: the name does not give the format; "
        f"say one of {', '.join(get_args(Format))}"
    )


def iterate_pairs(
    path: Path | tuple[Path, Path],
    format: Format | None = None,
    *,
    columns: tuple[int, int] = (1, 2),
    keys: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
    encoding: str | None = None,
    notes: list[str] | None = None,
) -> Iterator[tuple[str, str]]:
    """(source, target) of a file or of two aligned ones, one at a time.

    `columns` (from 1) for TSV, `keys` for JSONL, `languages` for TMX. "-" is standard input; a
    gzipped file is recognised by its first bytes. What a format cannot give as a pair (a message
    not translated, a unit without the language, a blank line) is left out and counted in `notes`.
    """
    pairs = pairs_of(path, format, columns, keys, languages, encoding, notes)
    count = 0
    for count, pair in enumerate(pairs, 1):  # noqa: B007 - the count is used after the loop
        yield pair
    if not count:
        raise nothing_in(path)


def pairs_of(
    path: Path | tuple[Path, Path],
    format: Format | None = None,
    columns: tuple[int, int] = (1, 2),
    keys: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
    encoding: str | None = None,
    notes: list[str] | None = None,
) -> Iterator[tuple[str, str]]:
    """`iterate_pairs`, perhaps of a stretch of the lines, in which there may be no pair at all."""
    notes = [] if notes is None else notes
    if isinstance(path, tuple):
        if format not in (None, "text"):
            raise DataError(f"two files are read as aligned text, not as {format}")
        return _aligned(path[0], path[1], encoding or UTF8)
    match format_of(path, format):
        case "tsv":
            return _tsv(path, columns, encoding or UTF8, notes)
        case "jsonl":
            return _jsonl_pairs(path, keys, languages, encoding or UTF8, notes)
        case "tmx":
            return read_tmx(path, languages, notes)
        case "po":
            return read_po(path, encoding, notes)
        case "mo":
            return read_mo(path, encoding, notes)
        case "text":
            raise DataError(f"{label(path)}: a text file holds one side; give its partner too")


def nothing_in(path: Path | tuple[Path, Path]) -> DataError:
    """A corpus without a pair."""
    name = " and ".join(map(label, path)) if isinstance(path, tuple) else label(path)
    return DataError(f"{name}: no pair in it; expected at least one")


def read_pairs(
    path: Path | tuple[Path, Path],
    format: Format | None = None,
    *,
    columns: tuple[int, int] = (1, 2),
    keys: tuple[str, str] | None = None,
    languages: tuple[str, str] | None = None,
    encoding: str | None = None,
    notes: list[str] | None = None,
) -> list[tuple[str, str]]:
    """All of `iterate_pairs`."""
    return list(
        iterate_pairs(
            path,
            format,
            columns=columns,
            keys=keys,
            languages=languages,
            encoding=encoding,
            notes=notes,
        )
    )


def read_texts(
    path: Path,
    format: Literal["text", "jsonl"] | None = None,
    *,
    key: str = "text",
    encoding: str | None = None,
    notes: list[str] | None = None,
) -> list[str]:
    """Texts for a language model: one per line, or one JSON object per line; blank lines are noted.

    A name without a known ending means plain text.
    """
    notes = [] if notes is None else notes
    if format is None:
        format = "jsonl" if suffixes(path)[-1:] in ([".jsonl"], [".ndjson"]) else "text"
    if format == "jsonl":
        objects = _jsonl(path, encoding or UTF8, notes)
        texts = [_value(item, key, where) for where, item in objects]
    elif format == "text":
        texts = [line for _, line in _filled(path, encoding or UTF8, notes)]
    else:
        raise DataError(f"texts in the format {format!r}: expected text or jsonl")
    if not texts:
        raise DataError(f"{label(path)}: no text in it; expected at least one line")
    return texts


def read_labelled(
    path: Path,
    format: Literal["tsv", "jsonl"] | None = None,
    *,
    keys: tuple[str, str] = ("label", "text"),
    encoding: str | None = None,
    notes: list[str] | None = None,
) -> list[tuple[str, str]]:
    """(label, text) rows: TSV `label TAB text`, or JSON objects with both keys."""
    notes = [] if notes is None else notes
    said = format_of(path, format)
    if said == "tsv":
        rows = list(_tsv(path, (1, 2), encoding or UTF8, notes))
    elif said == "jsonl":
        objects = _jsonl(path, encoding or UTF8, notes)
        rows = [(_value(o, keys[0], where), _value(o, keys[1], where)) for where, o in objects]
    else:
        raise DataError(f"{label(path)}: labelled text is tsv or jsonl, not {said}")
    if not rows:
        raise DataError(f"{label(path)}: no labelled text in it; expected at least one line")
    return rows


def _aligned(source: Path, target: Path, encoding: str) -> Iterator[tuple[str, str]]:
    if source == target == STANDARD_INPUT:
        raise DataError("both files are standard input; only one of them can be")
    sources, targets = read_lines(source, encoding), read_lines(target, encoding)
    for first, second in zip_longest(sources, targets):
        if first is None or second is None:
            short, long, rest = (
                (source, target, targets) if first is None else (target, source, sources)
            )
            number = (first or second)[0]
            total = number + sum(1 for _ in rest)
            raise not_aligned(long, short, total, number - 1)
        yield first[1], second[1]


def not_aligned(long: Path, short: Path, more: int, fewer: int) -> DataError:
    """Two files that should have the same number of lines."""
    return DataError(
        f"{label(long)}, line {fewer + 1}: no partner in {label(short)} "
        f"({more} lines against {fewer}); the files must be aligned line by line"
    )


# What the first row of a table is called by when it names the columns.
HEADINGS = {
    *("source", "target", "src", "tgt", "trg", "original", "translation", "sentence", "text"),
    *("english", "french", "german", "spanish", "italian", "portuguese", "russian", "chinese"),
    *("en", "fr", "de", "es", "it", "pt", "nl", "ru", "zh", "ja", "ko", "ar"),
}


def _tsv(
    path: Path, columns: tuple[int, int], encoding: str, notes: list[str]
) -> Iterator[tuple[str, str]]:
    if min(columns) < 1:
        raise DataError(f"columns {columns[0]} and {columns[1]}: they are counted from 1")
    for number, line in _filled(path, encoding, notes):
        cells = line.split("\t")
        if number == 1 and columns == (1, 2) and len(cells) > 2 and cells[0].strip().isdecimal():
            raise DataError(
                f"{label(path)}, line 1: column 1 is the number {cells[0].strip()}, of "
                f"{len(cells)} columns; name those of source and target, as --columns 2,3"
            )
        if len(cells) < max(columns):
            raise DataError(
                f"{label(path)}, line {number}: {len(cells)} column(s); "
                f"column {max(columns)} is missing (columns are separated by a tab)"
            )
        pair = cells[columns[0] - 1], cells[columns[1] - 1]
        if number == 1 and {cell.strip().lower() for cell in pair} <= HEADINGS:
            notes.append(f"{label(path)}: line 1, {pair[0]} | {pair[1]}, names columns: left out")
            continue
        yield pair


def _jsonl_pairs(
    path: Path,
    keys: tuple[str, str] | None,
    languages: tuple[str, str] | None,
    encoding: str,
    notes: list[str],
) -> Iterator[tuple[str, str]]:
    for where, item in _jsonl(path, encoding, notes):
        source, target = keys or ("source", "target")
        if keys is None and isinstance(item, list) and len(item) == 2:
            item = {source: item[0], target: item[1]}
        elif keys is None and isinstance(item, dict) and isinstance(item.get("translation"), dict):
            if languages is None:
                known = ", ".join(map(str, item["translation"]))
                raise DataError(f"{where}: translations in {known}; give two of them, as {EXAMPLE}")
            item, (source, target) = item["translation"], languages
        elif keys is None and languages and isinstance(item, dict) and set(languages) <= set(item):
            source, target = languages
        yield _value(item, source, where), _value(item, target, where)


def _jsonl(path: Path, encoding: str, notes: list[str]) -> Iterator[tuple[str, Any]]:
    for number, line in _filled(path, encoding, notes):
        where = f"{label(path)}, line {number}"
        try:
            yield where, json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}: not JSON ({error.msg} at column {error.colno})") from None
        except (RecursionError, ValueError) as error:
            raise DataError(f"{where}: JSON that cannot be read ({error})") from None


def _value(item: Any, key: str, where: str) -> str:
    if not isinstance(item, dict):
        raise DataError(f"{where}: {type(item).__name__} instead of an object with {key!r}")
    if key not in item:
        present = ", ".join(map(repr, list(item)[:8])) or "nothing"
        raise DataError(
            f"{where}: no key {key!r}; present: {present}; name those of source and target, "
            f"as --keys question,answer"
        )
    if not isinstance(item[key], str):
        raise DataError(f"{where}: {key!r} is {type(item[key]).__name__}, expected text")
    text = str(item[key])
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"{where}: {key!r} holds half of a surrogate pair, which is no text")
    return text


def _filled(path: Path, encoding: str, notes: list[str]) -> Iterator[tuple[int, str]]:
    blank = 0
    for number, line in read_lines(path, encoding):
        if line.strip():
            yield number, line
        else:
            blank += 1
    if blank and not isinstance(path, Stretch):  # those of a file in stretches are added up
        notes.append(blank_lines(path, blank))


def blank_lines(path: Path, count: int) -> str:
    """The note on blank lines."""
    return f"{label(path)}: {count} blank line(s) left out"
