"""What an open page costs a training run: processor time of the page beside that of the training.

    python bench/page_watch.py [UPDATES]

Trains the demo's recipe with the learn view open in Chromium, and compares the processor time of
the training's thread with that of all other threads of its process (the server, and the runs it
records for the page). Processor time, because a busy machine makes clocks useless.
"""

import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from playwright.sync_api import sync_playwright

from cutaway.cli.demo import RECIPE, SENTENCE
from cutaway.cli.paging import serve_beside
from cutaway.config import RunConfig
from cutaway.train.events import Event, Saved
from cutaway.train.run import train

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]


def main() -> None:
    """Train with the page open."""
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    torch.set_num_threads(1)
    tables: dict[str, dict[str, Any]] = {**RECIPE, "data": {"embedded": "en-fr"}}
    tables["train"] = {**RECIPE["train"], "updates": updates, "threads": 1}
    chromium = shutil.which("chromium") or sys.exit("no chromium on this machine")
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        out = Path(place) / "model"
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        begun: list[tuple[float, float]] = []
        servers: list[Any] = []

        def watch(event: Event) -> None:
            if isinstance(event, Saved) and event.kind == "model" and not servers:
                servers.append(serve_beside(out, 0))
                text = SENTENCE.replace(" ", "+")
                browser.new_page().goto(f"{servers[0].url}#/learn?lang=en&text={text}")
                begun.append((time.thread_time(), time.process_time()))

        train(RunConfig.from_tables(tables), out, watch=watch, at_once=True)
        own = time.thread_time() - begun[0][0]
        everything = time.process_time() - begun[0][1]
        browser.close()
        for server in servers:
            server.stop()
    print(f"training {own:.1f} s, page {everything - own:.1f} s of processor time "
          f"in {updates} updates: {100 * (everything - own) / own:.1f} %")  # fmt: skip


if __name__ == "__main__":
    main()
