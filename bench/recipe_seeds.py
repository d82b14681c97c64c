"""One recipe with several seeds, trained and scored by the command line, as a person would.

    python bench/recipe_seeds.py --corpus FOLDER --pair en-de --seeds 1 2 3 --epochs 40

Prints every command, then a table of time and scores with mean and spread. FOLDER holds train, val
and the test file, each as NAME.LANGUAGE.gz; the test file is scored, and nothing is chosen by it. A
run that was stopped goes on, and a finished one is not trained again: give the same --out. Words
after `--` go to `cutaway train`.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Train, score and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--pair", default="en-de")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--test", default="test_2016_flickr")
    parser.add_argument("--epochs", type=int, default=0, help="0: as many as the program chooses")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/recipe"))
    parser.add_argument("more", nargs="*", help="after --: further options of cutaway train")
    arguments = parser.parse_args()
    rows = []
    for seed in arguments.seeds:
        rows.append(row(arguments, seed))
        print(table(rows), flush=True)


def row(arguments: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Train one seed, or go on with it, and score it."""
    source, target = arguments.pair.split("-")
    out = arguments.out.with_name(f"{arguments.out.name}-{arguments.pair}-{seed}")

    def file(part: str, language: str) -> str:
        return str(arguments.corpus / f"{part}.{language}.gz")

    train = ["train", "--source", file("train", source), "--target", file("train", target)]
    train += ["--val-source", file("val", source), "--val-target", file("val", target)]
    train += ["--languages", arguments.pair, "--preset", "tiny", "--lowercase"]
    train += ["--threads", str(arguments.threads), "--seed", str(seed), "--out", str(out)]
    train += ["--epochs", str(arguments.epochs)] if arguments.epochs else []
    run([*train, *arguments.more])
    scores = {}
    for part in ("val", arguments.test):
        words = ["evaluate", str(out), "--source", file(part, source)]
        words += ["--target", file(part, target), "--lowercase", "--bootstrap", "0"]
        words += ["--json", "--force", "--html", str(out.with_suffix(f".{part}.html"))]
        scores[part] = json.loads(run(words))["systems"][str(out)]
    updates, minutes = spent(out)
    return {
        "seed": seed,
        "updates": updates,
        "minutes": minutes,
        "val BLEU": scores["val"]["bleu"]["score"],
        "BLEU": scores[arguments.test]["bleu"]["score"],
        "chrF2": scores[arguments.test]["chrf"]["score"],
        "TER": scores[arguments.test]["ter"]["score"],
    }


def run(words: list[str]) -> str:
    """A command of the program, shown as it is typed; what it prints is returned, or shown."""
    print(f"$ {shlex.join(['cutaway', *words])}", flush=True)
    asked = "--json" in words
    result = subprocess.run(
        [sys.executable, "-m", "cutaway", *words],
        stdout=subprocess.PIPE if asked else None,
        text=True,
        check=True,
    )
    return result.stdout or ""


def spent(out: Path) -> tuple[int, float]:
    """Updates of the run, and the minutes that it and its teachers took, translating included."""
    run = out.with_name(f"{out.name}.run")
    updates, seconds = trained(run)
    teachers = run / "diversify"
    seconds += sum(trained(file.parent)[1] for file in teachers.glob("*.run/timing.jsonl"))
    if (teachers / "timing.jsonl").is_file():
        seconds += sum(line["seconds"] for line in lines(teachers / "timing.jsonl"))
    return updates, seconds / 60


def trained(run: Path) -> tuple[int, float]:
    """Updates of one run, and seconds from each start of it to the last event before the next."""
    seconds, begun, last, updates = 0.0, 0.0, 0.0, 0
    for line in lines(run / "timing.jsonl"):
        if line["event"] in ("started", "resumed"):
            seconds += last - begun
            begun = line["time"]
        last, updates = line["time"], line.get("update", updates)
    return updates, seconds + last - begun


def lines(file: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def table(rows: list[dict[str, Any]]) -> str:
    """The rows, and their mean with the standard deviation of a seed."""
    measured = [name for name in rows[0] if name not in ("seed", "updates")]
    lines = [f"| {' | '.join(rows[0])} |", "|" + " ---: |" * len(rows[0])]
    for one in rows:
        scores = " | ".join(f"{one[name]:.2f}" for name in measured)
        lines.append(f"| {one['seed']} | {one['updates']:,} | {scores} |")
    if len(rows) > 1:
        columns = [[one[name] for one in rows] for name in measured]
        means = [f"{statistics.mean(each):.2f} ± {statistics.stdev(each):.2f}" for each in columns]
        lines.append(f"| mean | | {' | '.join(means)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
