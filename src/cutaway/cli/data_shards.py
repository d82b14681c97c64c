"""Clean or encode a corpus of any size on Ray Data, with the result of one process to the byte.

OUT.shards/about.json     the arguments of the call; another call is refused
OUT.shards/judged/        what the filters say of each pair, and the pairs that pass
OUT.shards/rows/          (build) the pairs to encode: clean, no duplicates, in all directions
OUT.shards/rows.json      there when all of them are; the shards before are then no longer needed
OUT.shards/ids/           (build) their ids

Workers do what concerns a pair alone; duplicates, limits and the sample that the tokenizer is
learnt from pass through this process, in the order of the files. All machines must see the same
paths.
"""

import hashlib
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import typer

from cutaway.cli.on_ray import Numbered, Run, Work, require_ray, run_on_ray
from cutaway.config import DataConfig
from cutaway.corpus.encoded import Long
from cutaway.corpus.files import STANDARD_INPUT
from cutaway.corpus.judging import Judge, JudgedShards, plan
from cutaway.corpus.opening import recipes
from cutaway.corpus.parts import Stream
from cutaway.corpus.spilling import IDS, Encoder, Spill, blocks, spilled
from cutaway.corpus.store import TARGET_TOKENIZER, TOKENIZER, Block
from cutaway.errors import InputError
from cutaway.system.shards import LINES, answer, beside, claim
from cutaway.text import Tokenizer
from cutaway.version import __version__

JUDGED = "judged"

Tokenizers = tuple[Tokenizer, Tokenizer | None]


class CorpusShards:
    """The shards of one call, in the folder beside its output; the same call finds them again."""

    def __init__(self, out: Path, data: DataConfig, settings: Sequence[Any], run: Run) -> None:
        """`settings`: what else decides the output, such as how the tokenizer is learnt."""
        self.place = beside(Path(out).resolve())
        self._data = data
        self._recipes = tuple(recipes(data))
        self._run = run
        self._shards = plan(self._recipes, LINES)
        about = {
            "version": __version__,
            "files": {name: _digest(name) for name in _files(data)},
            "data": asdict(data),
            "settings": list(settings),
            "lines": LINES,
        }
        claim(self.place, about)

    def origins(self) -> list[JudgedShards]:
        """Have the workers read and judge all pairs, unless later shards are there already."""
        folder = self.place / JUDGED
        if spilled(self.place) is None:
            folder.mkdir(exist_ok=True)
            work = Judge(self._recipes, str(folder), str(Path.cwd()))
            self._answer(work, folder, self._shards, "clean")
        return [
            JudgedShards(
                recipe,
                str(folder),
                tuple(shard.number for shard in self._shards if shard.source == source),
            )
            for source, recipe in enumerate(self._recipes)
        ]

    def tokenizers(
        self,
        parts: Sequence[Stream],
        known: Tokenizers | None,
        learn: Callable[[Sequence[Stream]], Tokenizers],
        notes: list[str],
    ) -> Tokenizers:
        """The tokenizers given, or what `learn` makes of all rows; these are written aside."""
        files = (self.place / TOKENIZER, self.place / TARGET_TOKENIZER)
        left = spilled(self.place)
        if left is None:
            spill = Spill(self.place, LINES)
            passing = spill.passing(parts)
            learnt = known or learn(passing)
            for part in passing if known else ():
                deque(part.rows, maxlen=0)  # nobody else reads them
            for tokenizer, file in zip(learnt, files, strict=True):
                if tokenizer is not None:
                    tokenizer.save(file)
            spill.finish(notes)
        else:
            notes[:] = left[1]
        shutil.rmtree(self.place / JUDGED, ignore_errors=True)
        target = Tokenizer.load(files[1]) if files[1].is_file() else None
        return Tokenizer.load(files[0]), target

    def encoded(
        self, parts: Sequence[Stream], source: Tokenizer, *, max_length: int, long: Long
    ) -> list[Iterable[Block]]:
        """Have the workers encode all rows; the ids of each part."""
        left = spilled(self.place)
        assert left is not None  # `tokenizers` comes first
        folder = self.place / IDS
        folder.mkdir(exist_ok=True)
        files = (self.place / TOKENIZER, self.place / TARGET_TOKENIZER)
        work = Encoder(
            str(self.place),
            tuple(str(file) for file in files if file.is_file()),
            tuple((part.target_tag(source), part.mark or None) for part in parts),
            max_length,
            long,
        )
        self._answer(work, folder, left[0], "encode")
        return [blocks(self.place, left[0], number) for number in range(len(parts))]

    def remove(self) -> None:
        """The output is in its place: the shards are no longer needed."""
        shutil.rmtree(self.place)

    def _answer(self, work: Work, folder: Path, shards: Sequence[Numbered], verb: str) -> None:
        missing = [shard for shard in shards if not answer(folder, shard.number).exists()]
        typer.echo(f"{len(shards)} shards, {len(missing)} to {verb}", err=True)
        self._run(work, missing)


def on_ray(address: str) -> Run:
    """Shards are answered on this cluster."""
    require_ray()
    return partial(run_on_ray, address=address)


def _files(data: DataConfig) -> list[str]:
    """All files that a corpus is read from, validation files included."""
    names = [data.source, data.target, data.data, data.val_source, data.val_target, data.val_data]
    for source in data.each_source():
        names += [source.path, source.target, source.val]
    if STANDARD_INPUT in names:
        raise InputError("--ray cannot cut standard input; give a file, or leave --ray out")
    return sorted({name for name in names if name})


def _digest(name: str) -> str:
    with open(name, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
