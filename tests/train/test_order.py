"""Every sentence once an epoch, whatever stops the run and however many processes share it."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.config import RunConfig
from cutaway.train.interrupts import Interrupts
from cutaway.train.loop import Trainer
from cutaway.train.prepare import Prepared, prepare
from cutaway.train.processes import Processes
from tests.train.helpers import tables


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
    one.processes = Processes(rank=rank, world=world)  # only the order is asked for
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
    one = trainer(prepared, 0, 1)
    original, seen, cursor, share = one.settings, Counter[int](), 0, 0.0
    for world, accumulate, updates in [*stages, (3, 2, 10**9)]:
        if share == 1.0:
            break
        one.settings = replace(original, accumulate=accumulate)
        ends = set()
        for rank in range(world):
            one.processes = Processes(rank=rank, world=world)
            one.progress.cursor, one.progress.epoch = cursor, 0
            work = one.work()
            for number, (batches, after, share) in enumerate(work, start=1):
                seen.update(int(index) for batch in batches for index in batch.indices)
                one.progress.cursor = after
                if share == 1.0 or number == updates:
                    break
            work.close()
            ends.add(one.progress.cursor)
        (cursor,) = ends
    assert seen == Counter(dict.fromkeys(range(len(prepared[0].train)), 1))


def test_a_sampled_epoch_is_planned_by_its_own_lengths(
    prepared: tuple[Prepared, RunConfig],
) -> None:
    """BPE-dropout makes sentences longer: batches are full but never over the limit, and new."""
    one = trainer(prepared, 0, 1)
    limit, orders = prepared[1].train.tokens, []
    for epoch in range(2):
        plan, pairs = one._plan(epoch), one._pairs(epoch)
        assert not (pairs.lengths == prepared[0].train.lengths).all()
        for batch in plan.batches(pairs):
            assert max(batch.source.size, batch.target.size) <= limit
        assert plan.padding < 0.1
        orders.append([plan[number].tolist() for number in range(len(plan))])
    assert orders[0] != orders[1]
    again = trainer(prepared, 0, 1)
    assert [again._plan(1)[n].tolist() for n in range(len(orders[1]))] == orders[1]
