"""Translate a file of any size on Ray Data, in shards of lines, each written whole or not at all.

OUT.shards/about.json     the arguments of the call; another call is refused
OUT.shards/00000017       the translations of shard 17

The workers read the source and the model folder and write the shards, so all machines must see the
same paths.
"""

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from cutaway.cli.on_ray import require_ray, run_on_ray
from cutaway.cli.translate import line_of
from cutaway.cli.translate_file import examined
from cutaway.decode.batch_translator import BatchTranslator
from cutaway.errors import InputError
from cutaway.system.shards import LINES, answer, beside, claim, cuts, join, write_whole


@dataclass(frozen=True)
class Shard:
    """A stretch of the source, from one line's first byte to another's."""

    number: int
    start: int
    end: int


def plan(source: Path, lines: int) -> Iterator[Shard]:
    """The file cut after every `lines` lines."""
    for number, cut in enumerate(cuts(source, lines)):
        yield Shard(number, cut.start, cut.end)


@dataclass(frozen=True)
class ShardTranslator:
    """Shard → its translated file; one that is there already is left alone."""

    translator: BatchTranslator
    source: str
    place: str
    as_json: bool = False

    def __call__(self, shard: Shard) -> int:
        """Write one shard; how many of its lines have warnings."""
        target = answer(self.place, shard.number)
        if target.exists():
            return 0
        with open(self.source, "rb") as stream:
            stream.seek(shard.start)
            data = stream.read(shard.end - shard.start)
        lines = data.decode("utf-8-sig" if shard.start == 0 else "utf-8").removesuffix("\n")
        found = self.translator.translator.translate(lines.split("\n"), **self.translator.options)
        text = "".join(line_of(translation, as_json=self.as_json) for translation in found)
        write_whole(target, [text.encode()])
        return sum(any(n.kind != "unchanged" for n in each.warnings) for each in found)


def translate_on_ray(
    folder: Path,
    source: Path,
    output: Path,
    settings: dict[str, Any],
    *,
    address: str,  # of a cluster; "local": processes of this machine
    engine: str = "auto",
    as_json: bool = False,
) -> None:
    """Translate every line of a file on a cluster; the same call resumes what broke off."""
    require_ray()
    if output.exists() and output.samefile(source):
        raise InputError(f"output is the source file {source} itself; give another name")
    total, digest = examined(source)
    about = {
        "source": digest,
        "model": hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest(),
        "settings": {**settings, "engine": engine, "json": as_json},
        "lines": LINES,
    }
    place = beside(output)
    claim(place, about)
    shards = list(plan(source, LINES))
    missing = [shard for shard in shards if not answer(place, shard.number).exists()]
    typer.echo(f"{total} lines in {len(shards)} shards, {len(missing)} to translate", err=True)
    translator = BatchTranslator(folder.resolve(), engine=engine, **settings)
    work = ShardTranslator(translator, str(source.resolve()), str(place.resolve()), as_json)
    warned = run_on_ray(work, missing, address=address)
    if warned:
        typer.echo(
            f"warning: {warned} lines may be wrong; translate them alone to see why", err=True
        )
    join(place, (shard.number for shard in shards), output)
    shutil.rmtree(place)
