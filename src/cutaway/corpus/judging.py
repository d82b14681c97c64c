"""A corpus read and judged in shards of lines, by processes that know nothing of each other.

A worker reads a stretch of the lines, does to each pair what concerns it alone, and writes what the
filters said, with a hash of each pair that passed. Whoever reads the shards in order then finds the
duplicates and counts as if there had been one process.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutaway.corpus.cleaning import Cleaner, Judged
from cutaway.corpus.files import GZIP, STANDARD_INPUT, Path, Stretch, is_wide, label
from cutaway.corpus.opening import Recipe, first_notes, options, place
from cutaway.corpus.packed import pack, unpack
from cutaway.corpus.parts import swapped
from cutaway.corpus.reading import blank_lines, format_of, not_aligned, nothing_in, pairs_of
from cutaway.errors import DataError, InputError
from cutaway.system.shards import Cut, answer, cuts

CHANGED = 0x80  # of a fate: preparing changed the pair; below it the filter's number, 0: it passed


@dataclass(frozen=True)
class CorpusShard:
    """Some lines of one source's file or of its two aligned files."""

    number: int
    source: int
    line: int  # the number of the first
    lines: int
    start: int
    end: int
    target_start: int = 0
    target_end: int = 0


def plan(recipes: Sequence[Recipe], lines: int) -> list[CorpusShard]:
    """All sources cut after every `lines` lines; what has no lines to cut at is refused."""
    shards: list[CorpusShard] = []
    for source, recipe in enumerate(recipes):
        files = _files(recipe)
        line = 1
        for cut in _aligned(files, lines) if len(files) == 2 else cuts(FilePath(files[0]), lines):
            shards.append(CorpusShard(len(shards), source, line, cut[2], cut[0], cut[1], *cut[3:]))
            line += cut[2]
    return shards


def _files(recipe: Recipe) -> tuple[str, ...]:
    """The file of a source, or both of them."""
    settings = recipe.settings
    given = place(settings)
    if given is None:
        raise InputError("--ray cuts files into shards; give files, or leave --ray out")
    files = tuple(map(str, given if isinstance(given, tuple) else (given,)))
    if is_wide(settings.encoding):
        raise InputError(f"{files[0]}: --ray cannot cut {settings.encoding}; convert it to UTF-8")
    for file in files:
        if file == STANDARD_INPUT:
            raise InputError("--ray cannot cut standard input; give a file, or leave --ray out")
        try:
            with open(file, "rb") as stream:
                packed = stream.read(2) == GZIP
        except FileNotFoundError:
            raise DataError(f"{file}: no such file; give the path of a corpus") from None
        except OSError as error:
            raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
        if packed:
            raise InputError(f"{file}: --ray cannot cut a gzipped file; unpack it: gunzip {file}")
    if len(files) == 1:
        kind = format_of(files[0], options(settings)["format"])
        if kind in ("tmx", "po", "mo"):
            raise InputError(
                f"{files[0]}: --ray cuts at lines, and {kind} has none; write it as lines first: "
                f"cutaway data clean --no-clean {files[0]} --out PAIRS.jsonl"
            )
    return files


def _aligned(files: Sequence[str], lines: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Start, end and lines of stretches of the first file, start and end in the second."""
    first, second = (cuts(FilePath(file), lines) for file in files)
    done = 0
    none = Cut(0, 0, 0)
    for one, other in zip_longest(first, second, fillvalue=none):
        if one.lines != other.lines:
            totals = [
                done + cut.lines + sum(rest.lines for rest in more)
                for cut, more in ((one, first), (other, second))
            ]
            short = totals.index(min(totals))
            raise not_aligned(files[1 - short], files[short], max(totals), min(totals))
        yield one.start, one.end, one.lines, other.start, other.end
        done += one.lines


@dataclass(frozen=True)
class Judge:
    """Shard → its file: what the filters say of each of its pairs, and those that pass."""

    recipes: tuple[Recipe, ...]
    place: str  # folder of the answers
    folder: str  # that the names of files are relative to

    def __call__(self, shard: CorpusShard) -> int:
        """Write the answer of one shard, unless it is there."""
        path = answer(self.place, shard.number)
        if not path.exists():
            self._write(path, shard)
        return 0

    def _write(self, path: FilePath, shard: CorpusShard) -> None:
        recipe = self.recipes[shard.source]
        notes: list[str] = []
        pairs = pairs_of(self._stretch(recipe, shard), notes=notes, **options(recipe.settings))
        pairs = swapped(pairs) if recipe.settings.reverse else pairs
        first = list(islice(pairs, 1))
        filters = {name: 1 + place for place, name in enumerate(Cleaner(recipe.filters).alone)}
        fates = bytearray()
        digests: list[int] = []
        passed: list[tuple[str, str]] = []
        for pair, culprit, changed, digest in recipe.judge(chain(first, pairs)):
            fates.append(filters.get(culprit or "", 0) + CHANGED * changed)
            if culprit is None:
                passed.append(pair)
                digests.append(digest)
        facts = {
            "first": first,
            "notes": notes,
            "blank": shard.lines - len(fates) - len(notes),  # a note: the line that names columns
        }
        arrays: dict[str, NDArray[Any]] = {
            "fates": np.frombuffer(bytes(fates), np.uint8),
            "digests": np.array(digests, np.uint64),
        }
        pack(path, facts, arrays, passed)

    def _stretch(self, recipe: Recipe, shard: CorpusShard) -> Path | tuple[Path, Path]:
        def of(name: Path, start: int, end: int) -> Stretch:
            given = str(name)
            return Stretch(given, str(FilePath(self.folder) / given), start, end, shard.line)

        files = place(recipe.settings)
        assert files is not None  # `plan` refuses a source without files
        if not isinstance(files, tuple):
            return of(files, shard.start, shard.end)
        return (
            of(files[0], shard.start, shard.end),
            of(files[1], shard.target_start, shard.target_end),
        )


@dataclass(frozen=True)
class JudgedShards:
    """The pairs of one source as its shards have them, in order."""

    recipe: Recipe
    place: str
    numbers: tuple[int, ...]  # of its shards

    def judged(self, notes: list[str]) -> Iterator[Judged]:
        """The pairs with what the filters said; notes as from the file itself."""
        files = place(self.recipe.settings)
        assert files is not None
        names = (None, *Cleaner(self.recipe.filters).alone)
        found, blank = False, 0
        for number in self.numbers:
            packed = unpack(answer(self.place, number))
            notes += packed.facts["notes"]
            for one in [] if found else packed.facts["first"]:
                notes += first_notes(self.recipe.settings, tuple(one))
                found = True
            blank += packed.facts["blank"]
            fates = packed.arrays["fates"].tolist()
            yield from _told(fates, packed.pairs(), packed.arrays["digests"].tolist(), names)
        if not found:
            raise nothing_in(files)
        if blank and not isinstance(files, tuple):
            notes.append(blank_lines(label(files), blank))

    def count(self) -> int:
        """Pairs in all shards."""
        shards = (unpack(answer(self.place, number)) for number in self.numbers)
        return sum(len(packed.arrays["fates"]) for packed in shards)


def _told(
    fates: list[int],
    passed: Iterable[tuple[str, str]],
    digests: list[int],
    names: Sequence[str | None],
) -> Iterator[Judged]:
    """A shard's pairs as the filters saw them; the text of those removed is not kept."""
    pairs = zip(passed, digests, strict=True)
    for fate in fates:
        culprit = names[fate & ~CHANGED]
        if culprit is None:
            pair, digest = next(pairs)
            yield pair, None, fate >= CHANGED, digest
        else:
            yield ("", ""), culprit, fate >= CHANGED, 0
