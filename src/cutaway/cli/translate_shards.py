"""Translate a file of any size on Ray Data, in shards of lines, each written whole or not at all.

OUT.shards/about.json     the arguments of the call; another call is refused
OUT.shards/00000017       the translations of shard 17, renamed into place when they are on disk

Who writes a shard does not matter, nor how often it is tried: a worker that dies leaves nothing,
and Ray starts its shard again elsewhere. The same command resumes, with the shards that are
missing. The workers read the source and the model folder and write the shards, so all machines must
see the same paths. Scheduling, retries and placement are Ray's.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from cutaway.cli.translate import line_of
from cutaway.cli.translate_file import examined
from cutaway.decode.batch_translator import BatchTranslator
from cutaway.errors import InputError
from cutaway.system.files import replace

LINES = 10_000  # of a shard: some seconds of work, so that little is lost with a worker


@dataclass(frozen=True)
class Shard:
    """A stretch of the source, from one line's first byte to another's."""

    number: int
    start: int
    end: int


def plan(source: Path, lines: int = LINES) -> Iterator[Shard]:
    """The file cut after every `lines` lines."""
    number = start = end = 0
    with source.open("rb") as stream:
        for count, line in enumerate(stream, start=1):
            end += len(line)
            if count % lines == 0:
                yield Shard(number, start, end)
                number, start = number + 1, end
    if end > start:
        yield Shard(number, start, end)


class ShardTranslator:
    """Rows of `Shard` → translated files; a shard that is there already is left alone."""

    def __init__(
        self, translator: BatchTranslator, source: str, place: str, *, as_json: bool = False
    ) -> None:
        self.translator = translator
        self.source = source
        self.place = place
        self.as_json = as_json

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[int]]:
        """Columns number, start and end in; columns number and warnings out."""
        columns = (batch["number"], batch["start"], batch["end"])
        shards = [Shard(*map(int, row)) for row in zip(*columns, strict=True)]
        warnings = [self._translated(shard) for shard in shards]
        return {"number": [shard.number for shard in shards], "warnings": warnings}

    def _translated(self, shard: Shard) -> int:
        """Write one shard; how many of its lines have warnings."""
        target = Path(self.place) / f"{shard.number:08}"
        if target.exists():
            return 0
        with open(self.source, "rb") as stream:
            stream.seek(shard.start)
            data = stream.read(shard.end - shard.start)
        lines = data.decode("utf-8-sig" if shard.start == 0 else "utf-8").removesuffix("\n")
        found = self.translator.translator.translate(lines.split("\n"), **self.translator.options)
        descriptor, name = tempfile.mkstemp(prefix=".", dir=self.place)
        with os.fdopen(descriptor, "wb") as stream:
            text = "".join(line_of(translation, as_json=self.as_json) for translation in found)
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        replace(Path(name), target)
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
    workers: int | None = None,  # None: one per processor of the cluster
    lines: int = LINES,
) -> None:
    """Translate every line of a file on a cluster; the same call resumes what broke off."""
    try:
        import ray  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise InputError("ray is not installed; run: pip install 'cutaway[ray]'") from None
    if output.exists() and output.samefile(source):
        raise InputError(f"output is the source file {source} itself; give another name")
    total, digest = examined(source)
    about = {
        "source": digest,
        "model": hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest(),
        "settings": {**settings, "engine": engine, "json": as_json},
        "lines": lines,
    }
    place = output.with_name(output.name + ".shards")
    shards = list(plan(source, lines))
    missing = _missing(place, about, shards)
    typer.echo(f"{total} lines in {len(shards)} shards, {len(missing)} to translate", err=True)
    if missing:
        ray.init(
            address=None if address == "local" else address,
            log_to_driver=False,
            configure_logging=False,
            include_dashboard=False if address == "local" else None,
        )
        try:
            count = workers or int(ray.cluster_resources().get("CPU", 1))
            translator = BatchTranslator(folder.resolve(), engine=engine, **settings)
            work = ray.data.from_items(
                [asdict(shard) for shard in missing], override_num_blocks=len(missing)
            ).map_batches(
                ShardTranslator,
                fn_constructor_args=(translator, str(source.resolve()), str(place.resolve())),
                fn_constructor_kwargs={"as_json": as_json},
                batch_size=1,
                num_cpus=1,
                compute=ray.data.ActorPoolStrategy(min_size=1, max_size=count),
            )
            done = sum(row["warnings"] for row in work.iter_rows())
        finally:
            ray.shutdown()
        if done:
            typer.echo(
                f"warning: {done} lines may be wrong; translate them alone to see why", err=True
            )
    _join(place, shards, output)


def _missing(place: Path, about: dict[str, Any], shards: list[Shard]) -> list[Shard]:
    """Shards that no earlier run of the very same call has left."""
    place.mkdir(parents=True, exist_ok=True)
    record = place / "about.json"
    wanted = json.dumps(about, sort_keys=True)
    if record.is_file() and record.read_text(encoding="utf-8") != wanted:
        raise InputError(
            f"{place} belongs to another call (other text, model or options); "
            f"remove it, or repeat that call to finish it"
        )
    record.write_text(wanted, encoding="utf-8")
    return [shard for shard in shards if not (place / f"{shard.number:08}").exists()]


def _join(place: Path, shards: list[Shard], output: Path) -> None:
    """All shards one after the other, as OUT, which is whole or absent."""
    partial = output.with_name(output.name + ".partial")
    with partial.open("wb") as stream:
        for shard in shards:
            with (place / f"{shard.number:08}").open("rb") as part:
                shutil.copyfileobj(part, stream, 1 << 20)
        stream.flush()
        os.fsync(stream.fileno())
    replace(partial, output)
    shutil.rmtree(place)
