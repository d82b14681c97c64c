"""What an open page costs a training run: the same run watched and unwatched, turn and turn about.

    python bench/page_watch.py [--updates 1400] [--block 100] [--threads 2]

Trains the demo's recipe. During every second block of updates the learn view is open in Chromium on
the same machine, beside it an empty page; opening and closing happen between the blocks and are not
counted. Printed: milliseconds an update of each block, and the ratio of neighbours.
"""

import argparse
import shutil
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

from cutaway.cli.demo import RECIPE, SENTENCE
from cutaway.cli.paging import serve_beside
from cutaway.config import RunConfig
from cutaway.train.events import Event, Saved, Updated
from cutaway.train.run import train

CAUGHT_UP = """() => {
  const frames = [...document.querySelectorAll('.film figure')];
  return frames.length > 0 && frames.every((frame) => frame.querySelector('cut-heat'));
}"""
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]


class Blocks:
    """Opens the page for every second block of updates and times each."""

    def __init__(self, page: Any, out: Path, size: int) -> None:
        self.page, self.out, self.size = page, out, size
        self.server: Any = None
        self.times: list[tuple[bool, float]] = []  # watched?, milliseconds an update
        self.watched = False
        self.began: tuple[int, float] | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Saved) and event.kind == "model" and self.server is None:
            self.server = serve_beside(self.out, 0)
        if not isinstance(event, Updated) or self.server is None or event.update % self.size:
            return
        if self.began is not None:
            update, moment = self.began
            spent = 1000 * (time.perf_counter() - moment) / (event.update - update)
            self.times.append((self.watched, spent))
        self.watched = not self.watched
        text = SENTENCE.replace(" ", "+")
        learn = f"{self.server.url}#/learn?lang=en&text={text}"
        self.page.goto(learn if self.watched else "about:blank")
        if self.watched:  # opening the page is not watching it: let it catch up first
            self.page.wait_for_function(CAUGHT_UP, timeout=60_000)
        self.began = (event.update, time.perf_counter())


def main() -> None:
    """Train, opening and closing the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=1400)
    parser.add_argument("--block", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    tables: dict[str, dict[str, Any]] = {**RECIPE, "data": {"embedded": "en-fr"}}
    tables["train"] = {
        **RECIPE["train"],
        "updates": chosen.updates,
        "threads": chosen.threads,
        "validate_every": chosen.updates,
    }
    chromium = shutil.which("chromium") or sys.exit("no chromium on this machine")
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        blocks = Blocks(browser.new_page(), Path(place) / "model", chosen.block)
        train(RunConfig.from_tables(tables), blocks.out, watch=blocks, at_once=True)
        browser.close()
        blocks.server.stop()
    for watched, spent in blocks.times:
        print(f"{'watched ' if watched else 'alone   '} {spent:7.1f} ms an update")
    ratios = [
        (one if first else two) / (two if first else one)
        for (first, one), (_, two) in zip(blocks.times, blocks.times[1:], strict=False)
    ]
    print(f"watched against alone: median {statistics.median(ratios):.3f}, "
          f"{min(ratios):.3f} to {max(ratios):.3f} in {len(ratios)} pairs")  # fmt: skip


if __name__ == "__main__":
    main()
