"""The page beside a run: open from the first seconds, told what the log tells."""

import json
import re
import socket
import urllib.request
from pathlib import Path

from cutaway.cli.paging import page_beside
from cutaway.config import RunConfig
from cutaway.train.events import Event, Note, Validated
from cutaway.train.run import train
from tests.train.helpers import results, run_here, tables


def test_a_page_is_open_while_training_and_changes_nothing(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=12, validate_every=4, keep=4)
    run_here(values, tmp_path / "alone")
    seen: list[dict[str, object]] = []
    address = ""

    def watch(event: Event) -> None:
        nonlocal address
        if isinstance(event, Note) and (found := re.search(r"http://\S+", event.text)):
            address = found[0]
        if isinstance(event, Validated):
            assert address, "no page before the first validation"
            with urllib.request.urlopen(f"{address}api/learn", timeout=30) as answer:
                seen.append(json.load(answer))

    with page_beside(watch, tmp_path / "watched", 0, browser=False) as both:
        train(RunConfig.from_tables(values), tmp_path / "watched", watch=both, at_once=True)
    assert [entry["step"] for entry in seen] == [4, 8, 12]
    assert all(entry["running"] for entry in seen)
    assert results(tmp_path / "watched") == results(tmp_path / "alone")


def test_a_busy_port_does_not_stop_the_training(tmp_path: Path) -> None:
    told: list[str] = []
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]

        def watch(event: Event) -> None:
            if isinstance(event, Note):
                told.append(event.text)

        with page_beside(watch, tmp_path / "model", port, browser=False) as both:
            values = RunConfig.from_tables(tables(tmp_path, updates=2))
            train(values, tmp_path / "model", watch=both, at_once=True)
    assert any("the page cannot open" in text for text in told)
    assert (tmp_path / "model" / "config.json").is_file()
