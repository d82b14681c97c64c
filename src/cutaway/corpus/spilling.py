"""Rows of a corpus in shards, encoded by processes that know nothing of each other.

Rows are written aside as they pass, so that one reading serves the tokenizer and the encoding. A
worker makes ids of a shard's rows, and the token store is made of the shards in order.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import count, islice
from pathlib import Path

import numpy as np

from cutaway.corpus.encoded import EncodedPairs, Long, encode_rows, gather_any
from cutaway.corpus.packed import pack, unpack
from cutaway.corpus.parts import Anew, Stream
from cutaway.corpus.store import Block
from cutaway.system.shards import answer, write_whole
from cutaway.text import Tokenizer

ROWS, IDS = "rows", "ids"  # folders of the shards of rows, and of their answers
SPILLED = "rows.json"  # there when all rows are


@dataclass(frozen=True)
class RowShard:
    """Rows of one part of a corpus."""

    number: int
    part: int
    first: int  # the number of its first row, over all parts


@dataclass
class Spill:
    """Writes the rows of parts aside, in shards of `lines` rows, while somebody reads them."""

    place: Path
    lines: int
    shards: list[RowShard] = field(default_factory=list)
    rows: int = 0

    def passing(self, parts: Sequence[Stream]) -> list[Stream]:
        """The same parts; whoever reads them, once and in order, leaves their rows here."""
        (self.place / ROWS).mkdir(exist_ok=True)
        return [
            Stream(
                Anew(partial(self._pass, number, part.rows)), part.languages, part.mark, part.weight
            )
            for number, part in enumerate(parts)
        ]

    def _pass(self, part: int, rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        rest = iter(rows)
        while block := list(islice(rest, self.lines)):
            shard = RowShard(len(self.shards), part, self.rows)
            pack(answer(self.place / ROWS, shard.number), {}, {}, block)
            self.shards.append(shard)
            self.rows += len(block)
            yield from block

    def finish(self, notes: list[str]) -> None:
        """Say that all rows are written, and what was to be told of them."""
        said = {"shards": [list(asdict(shard).values()) for shard in self.shards], "notes": notes}
        write_whole(self.place / SPILLED, [json.dumps(said).encode()])


def spilled(place: Path) -> tuple[list[RowShard], list[str]] | None:
    """The shards and notes of rows that were all written; None if they were not."""
    path = place / SPILLED
    if not path.is_file():
        return None
    said = json.loads(path.read_text(encoding="utf-8"))
    return [RowShard(*shard) for shard in said["shards"]], said["notes"]


@dataclass(frozen=True)
class Encoder:
    """Shard of rows → their ids; the tokenizers are loaded where it works."""

    place: str
    tokenizers: tuple[str, ...]  # files: one for both sides, or two
    tags: tuple[tuple[str | None, str | None], ...]  # of each part: language and mark
    max_length: int | None
    long: Long

    @cached_property
    def _loaded(self) -> tuple[Tokenizer, Tokenizer]:
        loaded = [Tokenizer.load(path) for path in self.tokenizers]
        return loaded[0], loaded[-1]

    def __call__(self, shard: RowShard) -> int:
        """Write the answer of one shard, unless it is there."""
        path = answer(Path(self.place) / IDS, shard.number)
        if not path.exists():
            self._write(path, shard)
        return 0

    def _write(self, path: Path, shard: RowShard) -> None:
        source, target = self._loaded
        language, mark = self.tags[shard.part]
        long: list[int] = []
        rows = encode_rows(
            unpack(answer(Path(self.place) / ROWS, shard.number)).pairs(),
            source,
            target,
            language=language,
            mark=mark,
            max_length=self.max_length,
            long=self.long,
            too_long=long.append,
            numbers=count(shard.first),
            threads=1,  # other shards have the other cores
        )
        ids = gather_any(rows, max(source.vocabulary, target.vocabulary), self.max_length)
        arrays = {
            "source": ids.source_tokens,
            "target": ids.target_tokens,
            "offsets": ids.offsets.reshape(-1),
            "numbers": ids.numbers,
            "long": np.array(long, np.int64),
        }
        pack(path, {}, arrays)


def blocks(place: Path, shards: Sequence[RowShard], part: int) -> Iterator[Block]:
    """The ids of one part, shard by shard."""
    for shard in shards:
        if shard.part == part:
            arrays = unpack(answer(place / IDS, shard.number)).arrays
            offsets = arrays["offsets"].reshape(-1, 2)
            ids = EncodedPairs(arrays["source"], arrays["target"], offsets, arrays["numbers"])
            yield Block(ids, arrays["long"].tolist())
