"""A large file's work in shards: cut at line ends, each answer whole or absent, joined in order.

PLACE/about.json     what the shards are made from and how; another call is refused
PLACE/…/00000017     the answer of shard 17, renamed into place when it is on disk

Who answers a shard does not matter, nor how often it is tried: what died leaves nothing, and the
same call goes on with the shards that are missing.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cutaway.errors import InputError
from cutaway.system.files import replace

LINES = 10_000  # of a shard: some seconds of work at most, so that little is lost with a worker
ABOUT = "about.json"


class Cut(NamedTuple):
    """A stretch of a file, from one line's first byte to another's."""

    start: int
    end: int
    lines: int


def cuts(path: Path, lines: int) -> Iterator[Cut]:
    """The file cut after every `lines` lines."""
    start = end = count = 0
    with path.open("rb") as stream:
        for line in stream:
            end += len(line)
            count += 1
            if count == lines:
                yield Cut(start, end, count)
                start, count = end, 0
    if count:
        yield Cut(start, end, count)


def beside(output: Path) -> Path:
    """The folder for the shards of an output."""
    return output.with_name(output.name + ".shards")


def claim(place: Path, about: dict[str, Any]) -> None:
    """Make the folder of a call's shards, or find it as the very same call has left it."""
    place.mkdir(parents=True, exist_ok=True)
    record = place / ABOUT
    wanted = json.dumps(about, sort_keys=True)
    if record.is_file() and record.read_text(encoding="utf-8") != wanted:
        raise InputError(
            f"{place} belongs to another call (other files, models or options); "
            f"remove it, or repeat that call to finish it"
        )
    write_whole(record, [wanted.encode()])


def answer(place: str | Path, number: int) -> Path:
    """The file of a shard's answer."""
    return Path(place) / f"{number:08}"


def write_whole(path: Path, blocks: Iterable[bytes]) -> None:
    """Write a file that has its name only when all of it is on disk."""
    descriptor, name = tempfile.mkstemp(prefix=".", dir=path.parent)
    with os.fdopen(descriptor, "wb") as stream:
        for block in blocks:
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())
    replace(Path(name), path)


def join(place: Path, numbers: Iterable[int], output: Path) -> None:
    """All answers one after the other as one file, which is whole or absent."""
    partial = output.with_name(output.name + ".partial")
    with partial.open("wb") as stream:
        for number in numbers:
            with answer(place, number).open("rb") as part:
                shutil.copyfileobj(part, stream, 1 << 20)
        stream.flush()
        os.fsync(stream.fileno())
    replace(partial, output)
