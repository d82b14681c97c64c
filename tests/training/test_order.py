"""Every sentence once an epoch, whatever stops the run and however many processes share it."""

import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.config import RunConfig
from cutaway.training.interrupts import Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.order import Order, Progress
from cutaway.training.prepare import Prepared, prepare
from cutaway.training.processes import Processes
from tests.training.helpers import tables

ALONE = Processes()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Prepared, RunConfig]:
    values = tables(tmp_path_factory.mktemp("order"), tokens=90, accumulate=3)
    config = RunConfig.from_tables(values)
    return prepare(config), config


def trainer(prepared: tuple[Prepared, RunConfig], rank: int, world: int) -> Trainer:
    one = Trainer(
        prepared[0],
        prepared[1],
        processes=Processes(),
        device=torch.device("cpu"),
        watch=lambda event: None,
        interrupts=Interrupts(),
    )
    one.order = Order(one.prepared, prepared[1], Processes(rank=rank, world=world))
    return one


def epoch(prepared: tuple[Prepared, RunConfig], world: int, *, stop: int | None) -> Counter[int]:
    """How often each sentence of epoch 0 is seen, with a stop after so many updates."""
    seen: Counter[int] = Counter()
    cursor = 0
    for _ in range(2):
        ends = set()
        for rank in range(world):
            one = trainer(prepared, rank, world)
            one.progress.cursor = cursor
            work = one.work()
            for number, (batches, after, share) in enumerate(work, start=1):
                for batch in batches:
                    seen.update(int(index) for index in batch.indices)
                one.progress.cursor = after
                if share == 1.0 or number == stop:
                    break
            work.close()
            ends.add(one.progress.cursor)
        assert len(ends) == 1  # all processes are at the same place
        cursor = ends.pop()
        if share == 1.0:
            return seen
        stop = None  # go on from the cursor to the end
    raise AssertionError("the epoch did not end")


@pytest.mark.parametrize("world", [1, 2, 3, 4])
@pytest.mark.parametrize("stop", [None, 1, 2])
def test_each_sentence_is_seen_once(
    prepared: tuple[Prepared, RunConfig], world: int, stop: int | None
) -> None:
    seen = epoch(prepared, world, stop=stop)
    assert seen == Counter(dict.fromkeys(range(len(prepared[0].train)), 1))


def test_the_draw_of_a_batch_depends_on_its_place_alone(
    prepared: tuple[Prepared, RunConfig],
) -> None:
    """Dropout is the same whichever process takes the batch: so resuming needs no random state."""
    first = trainer(prepared, 0, 1)
    alone: dict[int, int] = {}
    work = first.work()
    for _ in range(2):
        batches, after, _ = next(work)
        alone.update({batch.number: first._draw(batch) for batch in batches})
        first.progress.cursor = after
    work.close()
    second = trainer(prepared, 1, 2)
    work = second.work()
    batches, _, _ = next(work)
    work.close()
    assert {batch.number: second._draw(batch) for batch in batches}.items() <= alone.items()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    stages=st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=6
    )
)
def test_no_change_of_processes_loses_or_repeats_a_sentence(
    prepared: tuple[Prepared, RunConfig], stages: list[tuple[int, int, int]]
) -> None:
    """Stages of (processes, accumulate, updates until the next stop), then to the epoch's end."""
    data, config = prepared
    seen, cursor, share = Counter[int](), 0, 0.0
    for world, accumulate, updates in [*stages, (3, 2, 10**9)]:
        if share == 1.0:
            break
        now = replace(config, train=replace(config.train, accumulate=accumulate))
        ends = set()
        for rank in range(world):
            progress = Progress(cursor=cursor)
            work = Order(data, now, Processes(rank=rank, world=world)).work(progress)
            for number, (batches, after, share) in enumerate(work, start=1):
                seen.update(int(index) for batch in batches for index in batch.indices)
                progress.cursor = after
                if share == 1.0 or number == updates:
                    break
            work.close()
            ends.add(progress.cursor)
        (cursor,) = ends
    assert seen == Counter(dict.fromkeys(range(len(prepared[0].train)), 1))


def test_the_next_epoch_is_planned_beside_this_one(
    prepared: tuple[Prepared, RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another thread, once per epoch, none after the last; and it is the plan of that epoch."""
    data, config = prepared
    order = Order(data, replace(config, train=replace(config.train, updates=0, epochs=3)), ALONE)
    made: list[tuple[int, bool]] = []
    planned = Order._planned

    def noting(self: Order, epoch: int) -> Any:
        made.append((epoch, threading.current_thread() is threading.main_thread()))
        return planned(self, epoch)

    monkeypatch.setattr(Order, "_planned", noting)
    progress = Progress()
    work = order.work(progress)
    seen: list[list[int]] = [[], [], []]
    for _ in range(order.updates):
        batches, progress.cursor, _ = next(work)
        seen[progress.epoch] += [int(index) for batch in batches for index in batch.indices]
    work.close()
    assert made == [(1, False), (2, False)]
    for epoch, indices in enumerate(seen):
        plan = planned(order, epoch)[0]
        assert indices == [int(index) for number in range(len(plan)) for index in plan[number]]


def test_a_sampled_epoch_is_planned_by_its_own_lengths(
    prepared: tuple[Prepared, RunConfig],
) -> None:
    """BPE-dropout makes sentences longer: batches are full but never over the limit, and new."""
    one = trainer(prepared, 0, 1)
    limit, orders = prepared[1].train.tokens, []
    for epoch in range(2):
        plan, pairs = one.order.plan(epoch), one.order.pairs(epoch)
        assert not (pairs.lengths == prepared[0].train.lengths).all()
        for batch in plan.batches(pairs):
            assert max(batch.source.size, batch.target.size) <= limit
        assert plan.padding < 0.1
        orders.append([plan[number].tolist() for number in range(len(plan))])
    assert orders[0] != orders[1]
    again = trainer(prepared, 0, 1)
    assert [again.order.plan(1)[n].tolist() for n in range(len(orders[1]))] == orders[1]
