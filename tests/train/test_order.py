"""Every sentence once an epoch, whatever stops the run and however many processes share it."""

from collections import Counter

import pytest
import torch

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
