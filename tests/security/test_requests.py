"""One request takes a bounded share of the server: budgets are checked before the work."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from cutaway import glass
from cutaway.artifact.folder import write_model_folder
from cutaway.errors import InputError, TraceError
from cutaway.glass.api import Served
from cutaway.lessons import LessonInputs
from cutaway.lessons.lesson import Control, LocalizedText, Step
from cutaway.serve.page_lessons import PageLessons
from cutaway.serve.session import Session
from tests.export.helpers import random_folder

CASES = int(os.environ.get("CUTAWAY_FUZZ", "250"))


@pytest.fixture(scope="module")
def served() -> Served:
    model = nn.Linear(7, 5)
    with glass.record(model) as trace:
        model(torch.rand(3, 7))
    return Served(trace)


@pytest.mark.parametrize(
    ("strides", "shape", "size"),
    [
        ((0, 0), (32768, 32768), (1, 1)),
        ((0, 0), (1, 2**31), (1, 1)),
        ((0, 0), (2**40, 2**40), (1, 1)),
        ((0, 1), (0, 0), (0, 0)),
        ((0, 1), (-1, 5), (1, 1)),
        ((-1, 1), (2, 2), (1, 1)),
    ],
)
def test_a_picture_of_more_cells_than_there_are_is_refused(
    served: Served, strides: tuple[int, int], shape: tuple[int, int], size: tuple[int, int]
) -> None:
    with pytest.raises(TraceError):
        served.picture(0, 0, strides, shape, size)


def test_a_picture_of_repeated_cells_is_pooled_a_part_at_a_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same points, whatever the parts."""
    whole = served.picture(0, 0, (0, 1), (640, 5), (3, 5))
    monkeypatch.setattr("cutaway.glass.api.AT_ONCE", 100)
    assert served.picture(0, 0, (0, 1), (640, 5), (3, 5)) == whole


class Lesson:
    """A lesson with every kind of control; it fails when told to, after it has recorded."""

    name, trained = "controls", False

    def summary(self) -> dict[str, Any]:
        return {"name": self.name}

    def steps(self, inputs: LessonInputs) -> Iterator[Step]:
        said = LocalizedText({"en": "x", "zh": "x"})
        controls = (
            Control("shift", said, "slider", 3, (0, 9, 1)),
            Control("layer", said, "option", 1, [1, 2]),
            Control("words", said, "order", ["a", "b"]),
            Control("sentence", said, "text", "the cat"),
        )
        model = nn.Linear(2, 2)
        with glass.record(model) as trace:
            model(torch.rand(1, 2))
        yield Step(said, said, controls=controls, trace=trace)
        if inputs.choice("sentence", "") == "fail":
            raise InputError("failed as asked")


@pytest.fixture
def page_lessons(monkeypatch: pytest.MonkeyPatch) -> PageLessons:
    monkeypatch.setattr("cutaway.serve.page_lessons.find", lambda name: Lesson())
    return PageLessons(Session(None, None, None), None)


@pytest.mark.parametrize(
    "choices",
    [
        {"shift": 3e8},
        {"shift": -1},
        {"shift": float("nan")},
        {"shift": float("inf")},
        {"shift": "3"},
        {"shift": True},
        {"layer": 3},
        {"layer": [1]},
        {"words": ["a"] * 65},
        {"words": "ab"},
        {"words": [["a"]]},
        {"sentence": "x" * 501},
        {"sentence": 7},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_choice_that_no_control_offers_is_refused(
    page_lessons: PageLessons, choices: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="choose"):
        page_lessons.steps("controls", choices)


def test_choices_that_are_offered_are_taken(page_lessons: PageLessons) -> None:
    for choices in ({"shift": 9}, {"layer": 2}, {"words": ["b", "a"]}, {"sentence": "a dog"}):
        assert page_lessons.steps("controls", choices)["steps"]


def test_a_lesson_that_fails_leaves_no_run_in_memory(page_lessons: PageLessons) -> None:
    page_lessons.steps("controls", {})
    before = dict(page_lessons.session.runs._held)
    with pytest.raises(InputError, match="failed as asked"):
        page_lessons.steps("controls", {"sentence": "fail"})
    assert page_lessons.session.runs._held == before


FUZZ = """
import asyncio, json, random, resource, sys, warnings
from pathlib import Path
import httpx, torch
from cutaway.decode import Translator
from cutaway.serve.app import create_app

warnings.simplefilter("ignore")
torch.set_num_threads(1)
draw = random.Random(11)
folder, cases = Path(sys.argv[1]), int(sys.argv[2])
app = create_app(Translator.load(folder), folder=folder)
NUMBERS = [0, 1, -1, 2, 7, 255, 65536, 2**31, 2**40, 2**63, 10**30, 0.5, 1e308]
WORDS = ["", "x", "the cat sees", "*", "../..", "[0:1:2:3]", "[0,0]", "x" * 5000, "\U0001f600",
         "encoder.layers.0.self_attention.scores", "silence:encoder.layers.0.self_attention:x",
         "shift:encoder.layers.0.self_attention:999", "order:1,0", "set:x[0]=nan", "0:99999999999"]


def value(depth=0):
    kind = draw.randrange(7 if depth < 3 else 4)
    if kind == 0: return draw.choice(NUMBERS)
    if kind == 1: return draw.choice(WORDS)
    if kind == 2: return None
    if kind == 3: return draw.random() < 0.5
    if kind < 6: return [value(depth + 1) for _ in range(draw.randrange(5))]
    return {draw.choice(WORDS)[:20]: value(depth + 1) for _ in range(draw.randrange(4))}


def word():
    return draw.choice([*WORDS, str(draw.choice(NUMBERS))])


def part():
    number = lambda: draw.choice([0, 1, 2, 5, 65536, 2**24, 2**40, -1])
    return draw.choice([
        {"buffer": number(), "start": number(), "stop": number()},
        {"buffer": number(), "cells": [number() for _ in range(3)]},
        {"buffer": number(), "offset": number(), "strides": [number(), number()],
         "shape": [number(), number()], "size": [number(), number()]},
        {"value": number()},
        value(),
    ])


async def main():
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        first = await client.post("/api/translate", json={"text": "the cat sees"})
        key = first.json()["key"]
        await client.get(f"/glass/{key}/prove")
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (3 << 29)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        counts, broken = {}, []
        for case in range(cases):
            key_ = key if draw.random() < 0.8 else word()[:50].replace("/", "") or "x"
            asked = {
                "POST": [
                    ("/api/translate", lambda: {
                        "text": word(), "beam": draw.choice([0, 1, 3, 99]), "change": word(),
                        "target": word(), "snapshot": word()[:20], "sample": value()}),
                    ("/api/translate", lambda: {"text": "the cat sees", "change": word()}),
                    ("/api/training", lambda: {"text": word(), "target": word(), "rate": value()}),
                    (f"/glass/{key_}/numbers",
                     lambda: {"parts": [part() for _ in range(draw.randrange(4))]}),
                    ("/api/lessons/positions",
                     lambda: {"choices": {"shift": value(), "x": value()}}),
                    ("/api/lessons/" + (word()[:20].replace("/", "") or "x"), lambda: value()),
                ],
                "GET": [(f"/glass/{key_}{rest}", dict) for rest in (
                    "", "/buffer/0", "/buffer/99", "/window", "/explain", "/prove", "/bundle",
                    f"/diff/{key_}", "/page.html")] + [("/api/learn", dict), ("/", dict)],
            }
            method = draw.choice(["POST", "GET"])
            path, body = draw.choice(asked[method])
            if method == "POST":
                text = json.dumps(body())
                answer = await client.post(path, content=text.encode("utf-8", "surrogatepass"),
                                           headers={"Content-Type": "application/json"})
            else:
                query = {"address": word(), "spans": word(), "terms": word(), "pattern": word(),
                         "start": word(), "stop": word(), "at": word()}
                query = {k: v for k, v in query.items() if draw.random() < 0.5}
                answer = await client.get(path, params=query)
            counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
            if answer.status_code >= 500:
                broken.append(f"{answer.status_code}: {method} {answer.request.url} "
                              f"{answer.request.content[:600]!r} {answer.text[:300]}")
        if broken:
            raise SystemExit("\\n".join(broken[:9]))
        print(json.dumps({str(k): v for k, v in counts.items()}))

asyncio.run(main())
"""


def test_no_question_breaks_the_server_or_fills_its_memory(tmp_path: Path) -> None:
    """All routes with odd arguments, in a process that may take 1.5 gigabytes more."""
    folder = tmp_path / "model"
    write_model_folder(folder, random_folder())
    result = subprocess.run(
        [sys.executable, "-c", FUZZ, str(folder), str(CASES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    counts = json.loads(result.stdout)
    assert counts["200"] > CASES / 10
    assert counts["422"] + counts["400"] > CASES / 10


def test_a_question_in_chunks_is_refused() -> None:
    """With both headers, the length would be checked and the chunks be read."""
    import httpx

    from cutaway.serve.app import create_app
    from cutaway.serve.listening import bound
    from cutaway.serve.server import Server

    def chunks() -> Iterator[bytes]:
        yield b'{"text": "x"}'

    with bound("127.0.0.1", 0) as listening:
        server = Server(create_app(), listening).start()
        headers = {"Content-Type": "application/json"}
        answer = httpx.post(f"{server.url}api/translate", content=chunks(), headers=headers)
        server.stop()
    assert answer.status_code == 411
