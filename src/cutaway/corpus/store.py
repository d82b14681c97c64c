"""The token store: a corpus larger than memory, encoded once and memory-mapped.

A folder of four flat little-endian arrays, the tokenizers they were made with, and `header.json`,
which names the size and SHA-256 of each, and of each part its pairs, weight, tag and languages. It
is written under another name and renamed at the end, so a store is complete or absent.
"""

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutaway.config import language_code
from cutaway.corpus.encoded import (
    EncodedPairs,
    Long,
    LongReport,
    encode_rows,
    fingerprint,
    gather_any,
    token_code,
)
from cutaway.corpus.parts import Part, Stream
from cutaway.errors import DataError
from cutaway.system.files import replace, usual_permissions
from cutaway.text import Tokenizer

FORMAT = "cutaway token store 2"
HEADER = "header.json"
TOKENIZER, TARGET_TOKENIZER = "tokenizer.model", "target.model"  # the second if not joint
ARRAYS = ("source", "target", "offsets", "numbers")  # the order the fingerprint is made in
ROWS = 4096  # pairs written at a time


class Block(NamedTuple):
    """Encoded pairs that follow each other, and the numbers of those that were too long."""

    pairs: EncodedPairs
    long: Sequence[int]


class _Writer:
    """Appends numbers to a file, hashing as it goes."""

    def __init__(self, path: Path, code: str) -> None:
        self.file: BinaryIO = path.open("wb")
        self.type = np.dtype(code).newbyteorder("<")
        self.digest = hashlib.sha256()
        self.count = 0

    def extend(self, numbers: NDArray[Any]) -> None:
        block = numbers.astype(self.type, copy=False).tobytes()
        self.count += numbers.size
        self.digest.update(block)
        self.file.write(block)

    def close(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()


def build_store(
    path: str | PathLike[str],
    parts: Sequence[Stream],
    source: Tokenizer,
    target: Tokenizer | None = None,
    *,
    max_length: int | None = None,
    long: Long = "truncate",
    reverse: bool = False,
    encoded: Sequence[Iterable[Block]] | None = None,
) -> LongReport:
    """Encode the pairs of all parts one by one into a folder; memory does not grow with them.

    An older store at the same place is replaced once the new one is complete. `reverse` is kept in
    the header: source and target were swapped, and must be in the validation files. `encoded`, the
    ids of each part, are what others have made of their rows.
    """
    separate, target = target, target or source
    place = Path(path)
    if place.exists() and not (place / HEADER).is_file():
        raise DataError(f"{place}: exists and is no token store; give another folder")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # A folder with a random name: NAME.new may belong to the user.
        fresh = Path(tempfile.mkdtemp(prefix=f".{place.name}.new-", dir=place.parent))
    except OSError as error:
        raise DataError(f"{place}: the store cannot be written ({error.strerror})") from None
    try:
        usual_permissions(fresh)
        code = token_code(max(source.vocabulary, target.vocabulary))
        codes = dict(zip(ARRAYS, (code, code, "q", "q"), strict=True))
        writers = {name: _Writer(fresh / f"{name}.bin", codes[name]) for name in ARRAYS}
        try:
            if encoded is None:
                encoded = _encoded(parts, source, target, max_length, long)
            entries, long_numbers = _write(writers, parts, encoded)
        finally:
            for writer in writers.values():
                writer.close()
        header = {
            "format": FORMAT,
            "pairs": writers["numbers"].count,
            "vocabulary": [source.vocabulary, target.vocabulary],
            "tokenizers": [source.fingerprint, target.fingerprint],
            "joint": separate is None,
            "reverse": reverse,
            "max_length": max_length,
            "long": {long: len(long_numbers)},
            "parts": entries,
            "arrays": {
                name: {
                    "type": np.dtype(codes[name]).newbyteorder("<").str,
                    "count": writers[name].count,
                    "sha256": writers[name].digest.hexdigest(),
                }
                for name in ARRAYS
            },
            "fingerprint": _fingerprint(
                [writers[name].digest.hexdigest() for name in ARRAYS], entries
            ),
        }
        source.save(fresh / TOKENIZER)
        if separate is not None:
            separate.save(fresh / TARGET_TOKENIZER)
        with (fresh / HEADER).open("w", encoding="utf-8") as file:
            json.dump(header, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        shutil.rmtree(place, ignore_errors=True)
        replace(fresh, place)
    except OSError as error:
        raise DataError(f"{place}: the store cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return LongReport(max_length, long, tuple(long_numbers))


def _encoded(
    parts: Sequence[Stream],
    source: Tokenizer,
    target: Tokenizer,
    max_length: int | None,
    long: Long,
) -> list[Iterator[Block]]:
    """The pairs of each part as ids, made when they are asked for, in the order of the parts."""
    numbers = count()  # over all parts, pairs left out included
    vocabulary = max(source.vocabulary, target.vocabulary)

    def blocks(part: Stream) -> Iterator[Block]:
        too_long: list[int] = []
        rows = encode_rows(
            part.rows,
            source,
            target,
            language=part.target_tag(source),
            mark=part.mark or None,
            max_length=max_length,
            long=long,
            too_long=too_long.append,
            numbers=numbers,
        )
        while len(pairs := gather_any(islice(rows, ROWS), vocabulary, max_length)):
            yield Block(pairs, too_long[:])
            del too_long[:]
        yield Block(pairs, too_long)

    return [blocks(part) for part in parts]


def _write(
    writers: dict[str, _Writer], parts: Sequence[Stream], encoded: Sequence[Iterable[Block]]
) -> tuple[list[dict[str, Any]], list[int]]:
    """Append the pairs of each part; the header's entries, and the numbers of pairs too long."""
    entries: list[dict[str, Any]] = []
    long_numbers: list[int] = []
    writers["offsets"].extend(np.zeros(2, np.int64))
    for part, blocks in zip(parts, encoded, strict=True):
        before = writers["numbers"].count
        for pairs, long in blocks:
            ends = np.array([writers["source"].count, writers["target"].count])
            writers["offsets"].extend(pairs.offsets[1:] + ends)
            writers["source"].extend(pairs.source_tokens)
            writers["target"].extend(pairs.target_tokens)
            writers["numbers"].extend(pairs.numbers)
            long_numbers += long
        stored = writers["numbers"].count - before
        if not stored:
            raise DataError("no pair is left to store; give a corpus, or a larger limit on length")
        entry = {"pairs": stored, "weight": part.weight, "tag": part.mark}
        entries.append({**entry, "languages": part.languages})
    return entries, long_numbers


def _fingerprint(digests: Iterable[str], parts: list[dict[str, Any]]) -> str:
    """One SHA-256 of the arrays and of how their parts are seen."""
    return fingerprint([*digests, json.dumps(parts, sort_keys=True)])


def open_store(
    path: str | PathLike[str],
    source: Tokenizer | None = None,
    target: Tokenizer | None = None,
    *,
    verify: bool = True,
) -> EncodedPairs:
    """Map a store folder; `verify` compares every file with its SHA-256 first.

    With tokenizers given, a store made with others is refused.
    """
    place = Path(path)
    header = read_header(place)
    if source is not None:
        expected = [source.fingerprint, (target or source).fingerprint]
        if header.get("tokenizers") != expected:
            raise DataError(f"{place}: built with another tokenizer; build it again")
    try:
        arrays = [_map(place, name, header["arrays"][name], verify) for name in ARRAYS]
        pairs, max_length = int(header["pairs"]), header["max_length"]
        digests = [header["arrays"][name]["sha256"] for name in ARRAYS]
        if verify and header["fingerprint"] != _fingerprint(digests, header["parts"]):
            raise DataError(f"{place}: its header is inconsistent; build the store again")
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{place}/{HEADER} is damaged ({error!r}); build it again") from None
    offsets = arrays[2]
    if len(arrays[3]) != pairs or len(offsets) != 2 * (pairs + 1):
        raise DataError(f"{place}: {pairs} pairs in the header, other numbers in the files")
    return EncodedPairs(arrays[0], arrays[1], offsets.reshape(-1, 2), arrays[3], max_length)


def store_parts(path: str | PathLike[str]) -> list[tuple[int, Part]]:
    """The parts of a store in order, each with its number of pairs; their texts are not kept."""
    header = read_header(path)
    try:
        parts = [(one["pairs"], _part(one)) for one in header["parts"]]
        if sum(pairs for pairs, _ in parts) != header["pairs"]:
            raise ValueError("the parts have other numbers of pairs than the whole")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}/{HEADER} is damaged ({error!r}); build it again") from None
    return parts


def _part(said: dict[str, Any]) -> Part:
    pairs, weight, tag, languages = (said[x] for x in ("pairs", "weight", "tag", "languages"))
    if type(pairs) is not int or pairs < 1:
        raise ValueError(f"a part of {pairs!r} pairs")
    if type(weight) not in (int, float) or not 0 < weight < math.inf:
        raise ValueError(f"a weight of {weight!r}")
    if not isinstance(tag, str) or not (tag == "" or tag.isalnum()):
        raise ValueError(f"a tag {tag!r}")
    if languages is None:
        return Part([], None, tag, weight)
    first, second = languages
    for code in (first, second):
        language_code("a language", code)
    return Part([], (first, second), tag, weight)


def store_tokenizers(path: str | PathLike[str]) -> tuple[Tokenizer, Tokenizer | None]:
    """The tokenizers a store was built with; one for both sides when the second is None."""
    place, header = Path(path), read_header(path)
    source = Tokenizer.load(place / TOKENIZER)
    target = None if header.get("joint") else Tokenizer.load(place / TARGET_TOKENIZER)
    if header.get("tokenizers") != [source.fingerprint, (target or source).fingerprint]:
        raise DataError(f"{place}: its tokenizer was altered since; build the store again")
    return source, target


def read_header(path: str | PathLike[str]) -> dict[str, Any]:
    """The header of a store: pairs and their parts, tokenizers' fingerprints, arrays."""
    place = Path(path) / HEADER
    try:
        header = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{path}: no {HEADER}; expected a folder made by `cutaway data build`"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{place}: cannot be read ({error})") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError(f"{place}: not a {FORMAT!r}; build the store again")
    return header


def _map(place: Path, name: str, said: dict[str, Any], verify: bool) -> NDArray[Any]:
    path = place / f"{name}.bin"
    kind, count = np.dtype(str(said["type"])), int(said["count"])
    if kind.str not in ("<u2", "<u4", "<i8") or count < 0:
        raise DataError(f"{place / HEADER}: {name} has the type {kind.str}")
    try:
        size = path.stat().st_size
        if size != count * kind.itemsize:
            raise DataError(f"{path}: {size} bytes, expected {count * kind.itemsize}; build again")
        if verify:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != said["sha256"]:
                raise DataError(f"{path}: altered since it was built (SHA-256); build it again")
        if not count:
            return np.empty(0, kind)
        return np.memmap(path, kind, mode="r")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
