"""What an open page costs a training run: the same run watched and unwatched, turn and turn about.

    python bench/page_watch.py [--rounds 3] [--updates 1400]

Trains the demo as `cutaway demo` does, in a process of its own. A round is four runs: without a
page, with the page server and Chromium's learn view in front from the first seconds to the end,
once more with, once more without. The first ratio is of whole runs, preparation and all, as a
person waits for them; the second of the training alone, first update told to last. The page's
process, its opening and its recordings are in both as they fall.

Both are as noisy as the machine. Two figures are less so: how long the run's threads were ready and
had no core, as the kernel counts it, more than without a page; and the processor time that page and
Chromium used while the run trained. Each is an upper bound of what watching costs.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

from cutaway.cli.demo import RECIPE, SENTENCE
from cutaway.cli.paging import page_beside
from cutaway.config import RunConfig
from cutaway.train.events import Event, Note, Updated
from cutaway.train.run import train

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
SHOWN = """() => document.querySelector('svg.curve path.line')
  ? document.querySelectorAll('.film figure cut-heat').length : 0"""
LOOK = 0.5  # seconds between looks at the processes
FRAMES = 6  # heads that must have been drawn for the run to count as watched


def train_apart(place: Path, updates: int, *, paged: bool) -> None:
    """The child: train, note when which update ended, tell the page's address."""
    moments: list[float] = []
    waits: list[float] = []

    def note(event: Event) -> None:
        if isinstance(event, Updated):
            moments.append(time.monotonic())
            waits.append(waited())
        elif isinstance(event, Note) and "http" in event.text:
            (place / "url").write_text(event.text.split(" at ")[1])

    tables: dict[str, dict[str, Any]] = {**RECIPE, "data": {"embedded": "en-fr"}}
    tables["train"] = {
        **RECIPE["train"], "updates": updates, "threads": 2, "validate_every": updates,
    }  # fmt: skip
    config = RunConfig.from_tables(tables)
    began = time.monotonic()
    with page_beside(note, place / "model", 0, browser=False) if paged else nullcontext(note) as w:
        train(config, place / "model", watch=w, at_once=True)
    told = {
        "began": began,
        "first": moments[0],
        "last": moments[-1],
        "waited": waits[-1] - waits[0],
    }
    (place / "told").write_text(json.dumps(told))


def waited() -> float:
    """Seconds the threads of this process were ready to run and had no core so far."""
    files = Path("/proc/self/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[1]) for file in files) / 1e9


def watching_seconds() -> float:
    """Processor time of Chromium and of the page beside a run so far."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if b"chromium" in words.split(b"\0")[0] or b"cutaway.cli.beside" in words:
                ticks += sum(
                    map(int, (entry / "stat").read_text().rsplit(")", 1)[1].split()[11:13])
                )
        except OSError:  # it has ended
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """One training and what watching it took."""

    whole: float  # seconds from its beginning to its last update
    seconds: float  # from the first update told to the last
    waited: float  # seconds its threads had no core in that time
    used: float = 0.0  # processor seconds of page and Chromium in that time


def one_run(browser: Any, updates: int, *, paged: bool) -> Run:
    """Train once, watched from the first seconds or not at all."""
    with TemporaryDirectory() as text:
        place = Path(text)
        command = [sys.executable, __file__, "--train", text, "--updates", str(updates)]
        child = subprocess.Popen([*command, *(["--paged"] if paged else [])])
        spent = watched_until(browser, child, place) if paged else []
        if child.wait():
            sys.exit("the training failed")
        told = json.loads((place / "told").read_text())
    during = [used for moment, used in spent if told["first"] <= moment <= told["last"]]
    return Run(
        told["last"] - told["began"],
        told["last"] - told["first"],
        told["waited"],
        during[-1] - during[0] if during else 0.0,
    )


def watched_until(
    browser: Any, child: "subprocess.Popen[bytes]", place: Path
) -> list[tuple[float, float]]:
    """Hold the page open until the child ends: processor seconds used, moment by moment."""
    while not (place / "url").exists():
        time.sleep(LOOK)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{(place / 'url').read_text()}#/learn?lang=en&text={SENTENCE.replace(' ', '+')}")
    spent: list[tuple[float, float]] = []
    while child.poll() is None:
        spent.append((time.monotonic(), watching_seconds()))
        time.sleep(LOOK)
    shown = page.evaluate(SHOWN)
    page.close()
    if shown < FRAMES:
        sys.exit(f"the page showed {shown} heads of the run; expected {FRAMES}: nothing measured")
    return spent


def told(name: str, values: list[float], goal: float) -> None:
    """Print a figure and its spread."""
    print(
        f"{name}: median {statistics.median(values):.3f} of {len(values)}, mean "
        f"{statistics.mean(values):.3f}, {min(values):.3f} to {max(values):.3f}; goal {goal}"
    )


def main() -> None:
    """Train, with eyes open and closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=1400)
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--paged", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.train:
        train_apart(chosen.train, chosen.updates, paged=chosen.paged)
        return
    chromium = shutil.which("chromium") or sys.exit("no chromium on this machine")
    pairs: list[tuple[Run, Run]] = []  # without, with
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for _ in range(chosen.rounds):
            runs = [
                one_run(browser, chosen.updates, paged=paged)
                for paged in (False, True, True, False)
            ]
            pairs += [(runs[0], runs[1]), (runs[3], runs[2])]
            print(
                "seconds without, with, with, without: "
                + ", ".join(f"{run.whole:.1f} ({run.seconds:.1f})" for run in runs)
                + "; waited for a core "
                + ", ".join(f"{run.waited:.1f}" for run in runs)
                + f"; page and Chromium used {runs[1].used:.1f} and {runs[2].used:.1f}",
                flush=True,
            )
        browser.close()
    told("whole runs, with against without", [w.whole / o.whole for o, w in pairs], 1.03)
    told("training alone, with against without", [w.seconds / o.seconds for o, w in pairs], 1.03)
    told("waited more, part of a run", [(w.waited - o.waited) / o.seconds for o, w in pairs], 0.03)
    told("page and Chromium, part of a core", [w.used / w.seconds for _, w in pairs], 0.03)


if __name__ == "__main__":
    main()
