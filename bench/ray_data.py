"""Cleaning, encoding and translating in one process and on local Ray clusters of 1 and 2 workers.

    python bench/ray_data.py --data PAIRS.tsv [--pairs 100000] [--rounds 3] [--only translate]

Needs `pip install 'cutaway[ray]'`. The commands run one after the other, in turn, each in a process
of its own; every result is compared with that of one process. Times are of the whole command, start
of Ray included, which is also given alone: of a corpus of any size it is the same few seconds.
"""

import argparse
import contextlib
import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from cutaway.corpus.reading import iterate_pairs
from cutaway.corpus.writing import write_tsv

COMMANDS = {"clean": "out.tsv", "build": "out.store", "translate": "out.txt"}
VARIANTS = ("plain", "1 worker", "2 workers")


def once(folder: Path, command: str, workers: int) -> dict[str, float]:
    """One command in this process; seconds of it, and of them those that Ray took to start."""
    import cutaway.training.prepare  # noqa: F401 - imported before the clock starts
    from cutaway.cli import data_shards, main, translate_shards
    from cutaway.cli.on_ray import run_on_ray

    out = str(folder / f"{workers}-{COMMANDS[command]}")
    arguments = ["data", command, str(folder / "pairs.tsv"), "--out", out]
    if command == "translate":
        arguments = [command, "en-fr", str(folder / "sources.txt"), "--output", out]
    starting = [0.0]
    if workers:
        import ray  # type: ignore[import-not-found,unused-ignore]

        begin = ray.init

        def init(*given: Any, **named: Any) -> None:
            since = time.perf_counter()
            begin(*given, **named)
            starting[0] += time.perf_counter() - since

        ray.init = init
        for module in (data_shards, translate_shards):
            module.run_on_ray = partial(run_on_ray, workers=workers)  # type: ignore[attr-defined]
        arguments += ["--ray", "local"]
    since = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        main.app(arguments, standalone_mode=False)
    return {"seconds": time.perf_counter() - since, "starting": starting[0]}


def same(folder: Path, command: str) -> bool:
    """Whether all variants have written the same bytes."""
    made = [folder / f"{workers}-{COMMANDS[command]}" for workers in range(len(VARIANTS))]
    read = [
        {file.name: file.read_bytes() for file in path.iterdir()}
        if path.is_dir()
        else {"": path.read_bytes()}
        for path in made
    ]
    return all(one == read[0] for one in read)


def main() -> None:
    """Make the file, run all variants in turn, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", help="a file of pairs")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=COMMANDS, default=[*COMMANDS])
    parser.add_argument("--once", nargs=3, metavar=("FOLDER", "COMMAND", "WORKERS"))
    arguments = parser.parse_args()
    if arguments.once:
        place, command, workers = arguments.once
        print(json.dumps(once(Path(place), command, int(workers))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pairs = write_tsv(
            folder / "pairs.tsv", islice(iterate_pairs(arguments.data), arguments.pairs)
        )
        with (folder / "sources.txt").open("w", encoding="utf-8") as file:
            file.writelines(f"{source}\n" for source, _ in iterate_pairs(folder / "pairs.tsv"))
        print(f"{pairs:,} pairs; median of {arguments.rounds} rounds (least to most)\n")
        print("| command | where | s | of them Ray's start | pairs/s | times plain | the same |")
        print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
        for command in arguments.only:
            name = COMMANDS[command]
            found: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
            for _ in range(arguments.rounds):
                for workers, variant in enumerate(VARIANTS):
                    out = folder / f"{workers}-{name}"
                    if out.is_file():
                        out.unlink()
                    call = [sys.executable, __file__, "--once", str(folder), command, str(workers)]
                    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
                    found[variant].append(json.loads(done.stdout.splitlines()[-1]))
            equal = "yes" if same(folder, command) else "NO"
            plain = [each["seconds"] for each in found["plain"]]
            for variant, facts in found.items():
                seconds = [each["seconds"] for each in facts]
                starting = statistics.median(each["starting"] for each in facts)
                ratios = [one / other for one, other in zip(plain, seconds, strict=True)]
                middle = statistics.median(seconds)
                print(
                    f"| {command} | {variant} | {middle:.1f} | {starting:.1f} | "
                    f"{pairs / middle:,.0f} | {statistics.median(ratios):.2f} "
                    f"({min(ratios):.2f} to {max(ratios):.2f}) | {equal} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
