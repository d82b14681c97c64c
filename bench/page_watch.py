"""What an open page costs a training run.

    python bench/page_watch.py [--rounds 3] [--updates 1400]

Trains the demo as `cutaway demo` does, in a process of its own. A round is four runs: without a
page, with the page server and Chromium's learn view in front from the first seconds to the end,
once more with, once more without.

Three figures, the steadiest first:

1. The page looks at the run every few seconds and rests in between. How much longer did the updates
   during its looks take than their neighbours just before and after? Their sum is the cost, and
   the slow moods of a shared machine are not in it. Runs without a page are treated alike, as if
   somebody had looked: what comes out there is the error of the method.
2. Processor time that page and Chromium used while the run trained: as part of one core.
3. Whole runs with a page against those without, preparation and all, as a person waits for them,
   and the training alone. As noisy as the machine.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright
from torch.optim.optimizer import register_optimizer_step_post_hook

from cutaway.cli.demo import RECIPE, SENTENCE
from cutaway.config import RunConfig
from cutaway.evaluation.validation import validator
from cutaway.serve.run_page import run_page
from cutaway.training.events import Event, Note
from cutaway.training.run import train

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
SHOWN = """() => document.querySelector('svg.curve path.line')
  ? document.querySelectorAll('.film figure cut-heat').length : 0"""
REQUESTS = """() => performance.getEntriesByType('resource').map((entry) =>
  [performance.timeOrigin + entry.startTime, performance.timeOrigin + entry.responseEnd])"""
FRAMES = 6  # heads that must have been drawn for the run to count as watched
BEFORE, AFTER = 0.05, 0.5  # seconds around a look's requests that belong to it: drawing comes after
AROUND = 2.5  # seconds on both sides whose updates are the measure
PRETENDED = (5.0, 0.3)  # where nobody looks: a look every so often, of so many seconds

Span = tuple[float, float]


def train_apart(place: Path, updates: int, *, paged: bool) -> None:
    """The child: train, note when each update ended, tell the page's address."""
    moments: list[float] = []

    def ended(*_: Any) -> None:
        moments.append(time.monotonic())
        if len(moments) in (1, updates):
            (place / ("first" if len(moments) == 1 else "last")).touch()

    def note(event: Event) -> None:
        if isinstance(event, Note) and "http" in event.text:
            (place / "url").write_text(event.text.split(" at ")[1])

    tables: dict[str, dict[str, Any]] = {**RECIPE, "data": {"embedded": "en-fr"}}
    tables["train"] = {
        **RECIPE["train"], "updates": updates, "threads": 2, "validate_every": updates,
    }  # fmt: skip
    config = RunConfig.from_tables(tables)
    register_optimizer_step_post_hook(ended)
    began = time.monotonic()
    with run_page(note, place / "model", 0, browser=False) if paged else nullcontext(note) as w:
        train(config, place / "model", validate=validator(1), watch=w, at_once=True)
    (place / "timing").write_text(json.dumps({"began": began, "moments": moments}))


def watching_seconds() -> float:
    """Processor time of Chromium and of a run's page so far."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if b"chromium" in words.split(b"\0")[0] or b"cutaway.serve.run_page_process" in words:
                figures = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                ticks += int(figures[11]) + int(figures[12])
        except OSError:  # it has ended
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """One training and what watching it took."""

    whole: float  # seconds from its beginning to its last update
    seconds: float  # from the first update to the last
    looks: int
    lost: float  # seconds by which the updates during the looks were longer than their neighbours
    used: float  # processor seconds of page and Chromium


def one_run(browser: Any, updates: int, *, paged: bool) -> Run:
    """Train once, watched from the first seconds or not at all."""
    with TemporaryDirectory() as text:
        place = Path(text)
        command = [sys.executable, __file__, "--train", text, "--updates", str(updates)]
        child = subprocess.Popen([*command, *(["--paged"] if paged else [])])
        requests, used = watched_until(browser, child, place) if paged else ([], 0.0)
        if child.wait():
            sys.exit("the training failed")
        timing = json.loads((place / "timing").read_text())
    moments: list[float] = timing["moments"]
    looks = together(requests) if paged else pretended(moments)
    looks = [look for look in looks if moments[0] < look[0] and look[1] < moments[-1]]
    lost = sum(longer(moments, look, looks) for look in looks)
    whole = moments[-1] - timing["began"]
    return Run(whole, moments[-1] - moments[0], len(looks), lost, used)


def watched_until(
    browser: Any, child: "subprocess.Popen[bytes]", place: Path
) -> tuple[list[Span], float]:
    """Hold the page open until the child ends: its requests, and processor seconds in training."""

    def appeared(name: str) -> None:
        while child.poll() is None and not (place / name).exists():
            time.sleep(0.2)

    appeared("url")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{(place / 'url').read_text()}#/learn?lang=en&text={SENTENCE.replace(' ', '+')}")
    appeared("first")
    before = watching_seconds()
    appeared("last")
    used = watching_seconds() - before
    child.wait()
    shown = page.evaluate(SHOWN)
    ahead = time.time() - time.monotonic()
    requests = [
        (start / 1000 - ahead, stop / 1000 - ahead) for start, stop in page.evaluate(REQUESTS)
    ]
    page.close()
    if shown < FRAMES:
        sys.exit(f"the page showed {shown} heads of the run; expected {FRAMES}: nothing measured")
    return requests, used


def together(requests: Sequence[Span]) -> list[Span]:
    """Requests that follow one another at once are one look, drawing included."""
    looks: list[Span] = []
    for start, stop in sorted((start - BEFORE, stop + AFTER) for start, stop in requests):
        if looks and start <= looks[-1][1]:
            looks[-1] = (looks[-1][0], max(stop, looks[-1][1]))
        else:
            looks.append((start, stop))
    return looks


def pretended(moments: Sequence[float]) -> list[Span]:
    """The looks of nobody."""
    every, seconds = PRETENDED
    count = int((moments[-1] - moments[0]) / every)
    starts = [moments[0] + every * (n + 0.5) for n in range(count)]
    return [(start - BEFORE, start + seconds + AFTER) for start in starts]


def longer(moments: Sequence[float], look: Span, looks: Sequence[Span]) -> float:
    """Seconds by which the updates of a look took longer than those around it."""

    def touching(update: Span, span: Span) -> bool:
        return update[0] < span[1] and span[0] < update[1]

    wide = (look[0] - AROUND, look[1] + AROUND)
    near = [update for update in pairwise(moments) if touching(update, wide)]
    during = [stop - start for start, stop in near if touching((start, stop), look)]
    usual = [
        stop - start
        for start, stop in near
        if not any(touching((start, stop), other) for other in looks)
    ]
    return sum(during) - len(during) * statistics.mean(usual)


def report(name: str, values: Sequence[float], goal: str = "") -> None:
    """Print a figure and its spread."""
    print(
        f"{name}: mean {statistics.mean(values):.3f} of {len(values)}, "
        f"{min(values):.3f} to {max(values):.3f}{goal}"
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
            for name, run in zip(("without", "with", "with", "without"), runs, strict=True):
                print(
                    f"{name:>7}: {run.whole:6.1f} s, training {run.seconds:6.1f} s; "
                    f"{run.looks} looks lost {run.lost:+.2f} s, page and Chromium used "
                    f"{run.used:.2f} s",
                    flush=True,
                )
        browser.close()
    goal = "; goal below 0.030"
    report("lost in looks, part of the training", [w.lost / w.seconds for _, w in pairs], goal)
    report("  the same where nobody looked", [o.lost / o.seconds for o, _ in pairs])
    report("page and Chromium, part of a core", [w.used / w.seconds for _, w in pairs])
    report("whole runs, with against without", [w.whole / o.whole for o, w in pairs])
    report("training alone, with against without", [w.seconds / o.seconds for o, w in pairs])


if __name__ == "__main__":
    main()
