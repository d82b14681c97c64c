"""The page of a run in progress: open from the first seconds, showing what the log says."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from cutaway.artifact.snapshots import read_index
from cutaway.config import RunConfig
from cutaway.config.dump import dumped
from cutaway.evaluation.validation import validator
from cutaway.serve.progress import Progress
from cutaway.serve.run_page import run_page
from cutaway.training.events import Event, Note, Sampled, Validated
from cutaway.training.run import train
from tests.training.helpers import results, run_here, tables

PATIENCE = 300  # seconds; the page's process yields to all others, on a busy machine for long


def part(address: str, path: str) -> str:
    """Another path of a printed address, with its token."""
    base, _, token = address.partition("?")
    return f"{base}{path}?{token}"


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
            with urllib.request.urlopen(part(address, "api/learn"), timeout=PATIENCE) as answer:
                seen.append(json.load(answer))

    with run_page(watch, tmp_path / "watched", 0, browser=False) as both:
        train(RunConfig.from_tables(values), tmp_path / "watched", watch=both, at_once=True)
    assert [entry["step"] for entry in seen] == [4, 8, 12]
    assert all(entry["running"] for entry in seen)
    assert results(tmp_path / "watched") == results(tmp_path / "alone")
    assert page_process(tmp_path / "watched") is None


def test_the_page_answers_before_there_is_a_model(tmp_path: Path) -> None:
    messages: list[str] = []
    opened: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Note):
            messages.append(event.text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("webbrowser.open", opened.append)
        patch.setattr("cutaway.serve.run_page.HESITATION", 0.01)
        with run_page(watch, tmp_path / "model", 0, browser=True):
            (address,) = (re.findall(r"http://\S+", text)[0] for text in messages)
            with urllib.request.urlopen(part(address, "api/learn"), timeout=PATIENCE) as answer:
                learnt = json.load(answer)
            with urllib.request.urlopen(part(address, "api/info"), timeout=PATIENCE) as answer:
                assert json.load(answer)["start"] == {"view": "learn"}
    assert opened == [address]
    assert (learnt["running"], learnt["translates"], learnt["step"]) == (True, False, 0)
    assert learnt["snapshots"] == learnt["samples"] == []


def test_no_browser_opens_for_a_run_that_cannot_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("cutaway.serve.run_page.HESITATION", 0.5)
    with (
        pytest.raises(ZeroDivisionError),
        run_page(lambda event: None, tmp_path / "model", 0, browser=True),
    ):
        _ = 1 / 0
    time.sleep(1)
    assert opened == []


def test_sentences_are_seen_getting_better_from_the_start(tmp_path: Path) -> None:
    """Translated at every snapshot; each is sent to the page only when it has changed."""
    values = tables(tmp_path, updates=40, validate_every=40, keep=5)
    events = run_here(values, tmp_path / "model", validate=validator(1))
    sampled = [event for event in events if isinstance(event, Sampled)]
    moments = [entry["update"] for entry in read_index(tmp_path / "model.run" / "snapshots")]
    assert [event.update for event in sampled] == moments[:-1]
    rows = [tuple(line.split("\t")) for line in validation_lines(tmp_path)[:3]]
    assert all([sample[:2] for sample in event.samples] == rows for event in sampled)
    (validated,) = (event for event in events if isinstance(event, Validated))
    every = [*((event.update, event.samples) for event in sampled), (40, validated.samples)]
    samples = Progress(tmp_path / "model").read()["samples"]
    for source, reference in rows:
        outputs = [(update, s[2]) for update, samples in every for s in samples if s[0] == source]
        changed = [one for n, one in enumerate(outputs) if n == 0 or outputs[n - 1][1] != one[1]]
        seen = [sample for sample in samples if sample["source"] == source]
        assert [(sample["step"], sample["output"]) for sample in seen] == changed
        assert all(sample["reference"] == reference for sample in seen)


def validation_lines(folder: Path) -> list[str]:
    return (folder / "validation.tsv").read_text(encoding="utf-8").splitlines()


def page_process(out: Path) -> int | None:
    """The process that serves a folder beside its run."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if b"cutaway.serve.run_page_process" in words and str(out).encode() in words:
                return int(entry.name)
    return None


def test_a_page_that_dies_does_not_stop_the_training(tmp_path: Path) -> None:
    messages: list[str] = []
    killed: list[int] = []
    out = tmp_path / "model"

    def watch(event: Event) -> None:
        if isinstance(event, Note):
            messages.append(event.text)
        if isinstance(event, Validated) and not killed:
            found = page_process(out)
            assert found is not None
            killed.append(found)
            os.kill(found, signal.SIGKILL)
            while page_process(out) is not None:
                time.sleep(0.01)

    with run_page(watch, out, 0, browser=False) as both:
        values = tables(tmp_path, updates=12, validate_every=4)
        train(RunConfig.from_tables(values), out, watch=both, at_once=True)
    assert [text for text in messages if "the page has closed" in text] == [
        "the page has closed (status -9); training continues"
    ]
    assert (out / "config.json").is_file()


RUN = """
import sys, time
from pathlib import Path
from cutaway.serve.run_page import run_page
from cutaway.config import RunConfig, read_toml
from cutaway.training.events import Note
from cutaway.training.run import train

def watch(event):
    if isinstance(event, Note) and "http" in event.text:
        print(event.text, flush=True)

out = Path(sys.argv[2])
with run_page(watch, out, 0, browser=False) as both:
    train(RunConfig.from_tables(read_toml(Path(sys.argv[1]))), out, watch=both, at_once=True)
"""


def test_the_page_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    out, settings = tmp_path / "model", tmp_path / "run.toml"
    config = RunConfig.from_tables(tables(tmp_path, updates=100_000))
    settings.write_text(dumped(config), encoding="utf-8")
    command = [sys.executable, "-c", RUN, str(settings), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout is not None
            assert "watch it learn at" in run.stdout.readline()
            wait_until(lambda: page_process(out) is not None, "no page beside the run")
        finally:
            run.kill()
    wait_until(lambda: page_process(out) is None, "the page outlives its run")


def wait_until(holds: Callable[[], bool], otherwise: str) -> None:
    """Look again and again."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, otherwise
        time.sleep(0.05)


def test_a_busy_port_does_not_stop_the_training(tmp_path: Path) -> None:
    messages: list[str] = []
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]

        def watch(event: Event) -> None:
            if isinstance(event, Note):
                messages.append(event.text)

        with run_page(watch, tmp_path / "model", port, browser=False) as both:
            values = RunConfig.from_tables(tables(tmp_path, updates=2))
            train(values, tmp_path / "model", watch=both, at_once=True)
    assert any("the page cannot open" in text for text in messages)
    assert (tmp_path / "model" / "config.json").is_file()
