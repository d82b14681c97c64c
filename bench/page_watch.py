"""What an open page costs a training run: the same run watched and unwatched, turn and turn about.

    python bench/page_watch.py [--rounds 4] [--updates 700] [--window 8]

Trains the demo as `cutaway demo` does, in a process of its own. A round is four runs: without a
page, with the page server and Chromium's learn view open from the first seconds, once more with,
once more without. The first ratio is of whole runs, first update to last: the page's process, its
start, its opening and its recordings are all in it.

In the watched runs the tab is in front in every second window of seconds, in the others behind
another one (the page then rests; snapshots made meanwhile are drawn when it is back). The second
ratio is of neighbouring windows: what the watching alone costs.

Both are as noisy as the machine. The third figure is not: how long the run's threads were ready and
had no core, as the kernel counts it, with a page and without; the page's part of a run's time is at
most the difference.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
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
CAUGHT_UP = """() => {
  const frames = [...document.querySelectorAll('.film figure')];
  return frames.length > 0 && frames.every((frame) => frame.querySelector('cut-heat'));
}"""
AWAY = "() => Object.defineProperty(document, 'hidden', { get: () => window.away === true })"
EDGE = 0.3  # seconds left out at the beginning of a window


def train_apart(place: Path, updates: int, *, paged: bool) -> None:
    """The child: train, note when which update ended, tell the page's address."""
    moments: list[tuple[float, int]] = []
    waits: list[float] = []

    def note(event: Event) -> None:
        if isinstance(event, Updated):
            moments.append((time.monotonic(), event.update))
            waits.append(waited())
        elif isinstance(event, Note) and "http" in event.text:
            (place / "url").write_text(event.text.split(" at ")[1])

    tables: dict[str, dict[str, Any]] = {**RECIPE, "data": {"embedded": "en-fr"}}
    tables["train"] = {
        **RECIPE["train"], "updates": updates, "threads": 2, "validate_every": updates,
    }  # fmt: skip
    config = RunConfig.from_tables(tables)
    with page_beside(note, place / "model", 0, browser=False) if paged else nullcontext(note) as w:
        train(config, place / "model", watch=w, at_once=True)
    told = {"moments": moments, "waited": waits[-1] - waits[0]}
    (place / "told").write_text(json.dumps(told))


def waited() -> float:
    """Seconds the threads of this process were ready to run and had no core so far."""
    files = Path("/proc/self/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[1]) for file in files) / 1e9


def processor_seconds(name: str) -> float:
    """Processor time of all processes of this name so far."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "stat").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        if f"({name}" in text:
            ticks += sum(map(int, text.rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """One training: seconds from the first update told to the last, and what was seen."""

    seconds: float
    waited: float  # seconds its threads had no core
    windows: list[tuple[bool, float]] = field(default_factory=list)  # watched?, ms an update
    opening: float = 0.0  # seconds until the page showed everything
    share: float = 0.0  # of a core that Chromium used while watching


def one_run(browser: Any, chosen: argparse.Namespace, *, paged: bool) -> Run:
    """Train once, watched from the first seconds or not at all."""
    with TemporaryDirectory() as text:
        place = Path(text)
        command = [sys.executable, __file__, "--train", text, "--updates", str(chosen.updates)]
        child = subprocess.Popen([*command, *(["--paged"] if paged else [])])
        run = watched_run(browser, child, place, chosen.window) if paged else None
        child.wait()
        told = json.loads((place / "told").read_text())
    moments = told["moments"]
    seconds = moments[-1][0] - moments[0][0]
    if run is None:
        return Run(seconds, told["waited"])
    windows, opening, share = run
    spent = [
        (watched, 1000 * (stop - start) / (reached(moments, stop) - reached(moments, start)))
        for watched, start, stop in windows
        if moments[0][0] <= start and stop <= moments[-1][0]
    ]
    return Run(seconds, told["waited"], spent, opening, share)


def watched_run(
    browser: Any, child: "subprocess.Popen[bytes]", place: Path, window: float
) -> tuple[list[tuple[bool, float, float]], float, float]:
    """Hold the page open until the child ends: its windows, seconds of opening, share of a core."""
    while not (place / "url").exists():
        time.sleep(0.1)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    began = time.monotonic()
    page.goto(f"{(place / 'url').read_text()}#/learn?lang=en&text={SENTENCE.replace(' ', '+')}")
    page.evaluate(AWAY)
    page.wait_for_function(CAUGHT_UP, timeout=60_000)
    opening = time.monotonic() - began
    windows: list[tuple[bool, float, float]] = []
    watched, used, seconds = random.random() < 0.5, 0.0, 0.0
    while child.poll() is None:
        page.evaluate("(away) => { window.away = away; }", not watched)
        start, spent = time.monotonic(), processor_seconds("chromium")
        time.sleep(window)
        windows.append((watched, start + EDGE, time.monotonic()))
        if watched:
            used += processor_seconds("chromium") - spent
            seconds += time.monotonic() - start
        watched = not watched
    page.close()
    return windows, opening, used / max(seconds, 1e-9)


def reached(moments: list[tuple[float, int]], when: float) -> float:
    """How many updates were done, on a straight line between those that were told."""
    after = next(place for place, (moment, _) in enumerate(moments) if moment >= when)
    (t0, u0), (t1, u1) = moments[max(0, after - 1)], moments[max(1, after)]
    return u0 + (u1 - u0) * (when - t0) / (t1 - t0)


def told(name: str, ratios: list[float], goal: float = 1.03) -> None:
    """Print a ratio and its spread."""
    low, _, high = statistics.quantiles(ratios, n=4)
    print(
        f"{name}: median {statistics.median(ratios):.3f} of {len(ratios)} pairs, "
        f"{min(ratios):.3f} to {max(ratios):.3f}, middle half {low:.3f} to {high:.3f}; "
        f"goal at most {goal}"
    )


def main() -> None:
    """Train, opening and closing the eyes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--updates", type=int, default=700)
    parser.add_argument("--window", type=float, default=8.0, help="seconds")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--paged", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.train:
        train_apart(chosen.train, chosen.updates, paged=chosen.paged)
        return
    chromium = shutil.which("chromium") or sys.exit("no chromium on this machine")
    whole: list[float] = []
    steady: list[float] = []
    extra: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for _ in range(chosen.rounds):
            runs = [one_run(browser, chosen, paged=paged) for paged in (False, True, True, False)]
            whole += [runs[1].seconds / runs[0].seconds, runs[2].seconds / runs[3].seconds]
            extra += [
                (runs[1].waited - runs[0].waited) / runs[0].seconds,
                (runs[2].waited - runs[3].waited) / runs[3].seconds,
            ]
            for run in runs[1:3]:
                steady += [
                    (one if first else two) / (two if first else one)
                    for (first, one), (_, two) in pairwise(run.windows)
                ]
            print(
                "seconds without, with, with, without: "
                + ", ".join(f"{run.seconds:.1f}" for run in runs)
                + f"; opened in {runs[1].opening:.1f} and {runs[2].opening:.1f} s, "
                f"Chromium used {runs[1].share:.3f} and {runs[2].share:.3f} of a core; "
                + "waited for a core "
                + ", ".join(f"{run.waited:.2f}" for run in runs),
                flush=True,
            )
        browser.close()
    told("whole runs, with the page against without", whole)
    told("windows, in front against behind", steady)
    told("time without a core, as a part of the run, more than without the page", extra, goal=0.03)


if __name__ == "__main__":
    main()
