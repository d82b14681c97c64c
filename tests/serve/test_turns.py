"""Long work ends with its reader, and a queue of requests has an end."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import torch
from fastapi import HTTPException
from torch import nn

from cutaway import glass
from cutaway.glass import prove
from cutaway.serve import turns
from cutaway.serve.app import create_app
from tests.serve.conftest import Client, serving

PATIENCE = 60  # seconds, for a machine that is busy with other work


@contextmanager
def recorded() -> Iterator[Client]:
    """A server of one recorded run, under the key `run`."""
    model = nn.Linear(3, 2)
    with glass.record(model) as trace:
        model(torch.rand(5, 3))
    with serving(create_app(traces={"run": trace})) as client:
        yield client


def test_a_proof_ends_when_its_reader_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof here would never end: it waits in its first value until the reader has left."""
    begun, ended = threading.Event(), threading.Event()

    def endless(trace: object, pattern: str, check: turns.Check) -> None:
        begun.set()
        try:
            while True:
                check()
                threading.Event().wait(0.01)
        finally:
            ended.set()

    monkeypatch.setattr("cutaway.glass.api.recompute", endless)
    with recorded() as client:
        with pytest.raises(httpx.ReadTimeout):
            client.get("/glass/run/prove", timeout=0.5)
        assert begun.wait(PATIENCE)
        assert ended.wait(PATIENCE)
        assert client.get("/glass/run").status_code == 200


def test_a_proof_that_takes_too_long_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SECONDS", -1)
    with recorded() as client:
        answer = client.get("/glass/run/prove")
    assert answer.status_code == 503
    assert "ask for fewer values" in answer.json()["error"]


def test_the_check_is_made_before_every_value() -> None:
    model = nn.Linear(3, 2)
    with glass.record(model) as trace:
        model(torch.rand(5, 3))
    calls = []
    prove.prove(trace, check=lambda: calls.append(1))
    assert len(calls) == len(trace.values)


def test_a_full_queue_refuses_and_empties_again() -> None:
    async def run() -> None:
        gate = threading.Event()
        queue = turns.Turns(2, "test")
        waiting = [asyncio.create_task(queue(gate.wait)) for _ in range(queue.limit)]
        await asyncio.sleep(0)
        with pytest.raises(HTTPException, match="too many") as refused:
            await queue(gate.wait)
        assert refused.value.headers == {"Retry-After": "2"}
        gate.set()
        assert all(await asyncio.gather(*waiting))
        assert await queue(lambda: 7) == 7

    asyncio.run(run())
