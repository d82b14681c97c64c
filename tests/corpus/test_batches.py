"""Every pair exactly once per epoch, for any sizes, budgets and number of processes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cutaway.corpus import (
    Batch,
    BatchPlan,
    collate,
    encode_pairs,
    read_pairs,
    to_tensors,
)
from cutaway.errors import InputError
from cutaway.text import Tokenizer
from tests.corpus.conftest import PAIRS

LENGTHS = st.lists(st.tuples(st.integers(0, 61), st.integers(1, 61)), max_size=131).map(
    lambda rows: np.array(rows, np.int32).reshape(-1, 2)
)
Lengths = NDArray[np.int32]


def some_lengths(count: int = 1009) -> Lengths:
    return np.random.default_rng(7).integers(2, 53, (count, 2)).astype(np.int32)


@settings(max_examples=150, deadline=None)
@given(
    lengths=LENGTHS,
    tokens=st.integers(1, 307),
    seed=st.integers(0, 2**40),
    epoch=st.integers(0, 1000),
    world=st.integers(1, 7),
    sentences=st.none() | st.integers(1, 17),
    data=st.data(),
)
def test_every_pair_exactly_once(
    lengths: Lengths,
    tokens: int,
    seed: int,
    epoch: int,
    world: int,
    sentences: int | None,
    data: st.DataObject,
) -> None:
    plans = [
        BatchPlan(
            lengths, tokens, seed=seed, epoch=epoch, rank=rank, world=world, sentences=sentences
        )
        for rank in range(world)
    ]
    cursor = data.draw(st.integers(0, len(plans[0])))
    done = [plans[0][number] for number in range(cursor)]  # before the run was resumed
    steps = [list(plan.mine(cursor)) for plan in plans]
    assert {len(step) for step in steps} == {plans[0].steps(cursor)}
    rest = [indices for step in steps for _, indices in step]
    seen = np.concatenate([*done, *rest, np.empty(0, np.int64)])
    assert sorted(seen.tolist()) == list(range(len(lengths)))
    for indices in (*done, *rest):
        rows = len(indices)
        assert rows <= 1 or rows * lengths[indices].max() <= tokens
        assert sentences is None or rows <= sentences
    assert all(len(indices) for step in steps for number, indices in step if number < len(plans[0]))


def test_the_order_is_the_same_for_any_number_of_processes() -> None:
    lengths = some_lengths()
    one = dict(BatchPlan(lengths, 401, seed=3, epoch=2).mine())
    for world in (2, 3, 5):
        found: dict[int, list[int]] = {}
        for rank in range(world):
            plan = BatchPlan(lengths, 401, seed=3, epoch=2, rank=rank, world=world)
            found.update({n: i.tolist() for n, i in plan.mine() if len(i)})
        assert found == {number: indices.tolist() for number, indices in one.items()}


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    lengths = some_lengths()

    def order(seed: int, epoch: int) -> list[list[int]]:
        plan = BatchPlan(lengths, 401, seed=seed, epoch=epoch)
        return [plan[number].tolist() for number in range(len(plan))]

    first = order(1, 0)
    assert order(1, 0) == first
    together = {frozenset(batch) for batch in first}
    for seed, epoch in ((1, 1), (2, 0)):
        other = order(seed, epoch)
        shared = together & {frozenset(batch) for batch in other}
        assert len(shared) < len(first) / 2  # not the same batches in another order either
        assert sorted(map(len, other)) != [0]


FROZEN = [[0, 2], [4], [1], [3]]


def test_the_order_will_not_change_with_the_next_release() -> None:
    # Frozen: resuming a run must find the order it left.
    plan = BatchPlan(np.array([[2, 3], [5, 3], [2, 4], [7, 7], [5, 2]], np.int32), 12, seed=11)
    assert [plan[number].tolist() for number in range(len(plan))] == FROZEN


def test_short_and_long_are_not_mixed() -> None:
    plan = BatchPlan(some_lengths(10_007), 4096)
    shuffled = np.random.default_rng(1).permutation(10_007)
    lengths = some_lengths(10_007)[shuffled]
    cells = sum(len(part) * part.max(axis=0).sum() for part in np.array_split(lengths, len(plan)))
    assert plan.padding < 0.12
    assert 1 - lengths.sum() / cells > 0.4  # what batches in the order of the file would waste


def test_padding_counts_the_cells_of_the_batches(tokenizer: Tokenizer) -> None:
    encoded, _ = encode_pairs(PAIRS, tokenizer)
    plan = BatchPlan(encoded.lengths, 53, seed=5)
    cells = pads = 0
    for batch in plan.batches(encoded):
        for side in (batch.source, batch.target):
            cells += side.size
            pads += int((side == tokenizer.pad).sum())
    assert plan.padding == pytest.approx(pads / cells)
    assert 0 < plan.padding < 0.5


def test_a_batch_holds_its_pairs(tokenizer: Tokenizer) -> None:
    encoded, _ = encode_pairs(PAIRS, tokenizer)
    plan = BatchPlan(encoded.lengths, 97, seed=1)
    assert len(plan) > 1
    for batch in plan.batches(encoded):
        source, target = to_tensors(batch)
        assert source.dtype == target.dtype == torch.int64
        for row, index in enumerate(batch.indices):
            assert tokenizer.decode(source[row].tolist()) == PAIRS[index][0]
            assert tokenizer.decode(target[row].tolist()) == PAIRS[index][1]
            assert target[row, 0] == tokenizer.start
        assert batch.tokens == int((target[:, 1:] != tokenizer.pad).sum())


def test_an_empty_step_is_a_batch_of_no_rows(tokenizer: Tokenizer) -> None:
    encoded, _ = encode_pairs(PAIRS[:1], tokenizer)
    last = list(BatchPlan(encoded.lengths, rank=1, world=2).batches(encoded))
    assert [batch.source.shape for batch in last] == [(0, 0)]
    assert last[0].tokens == 0
    assert isinstance(collate(encoded, np.empty(0, np.int64)), Batch)


def test_resuming_at_a_cursor_gives_the_rest(tokenizer: Tokenizer) -> None:
    encoded, _ = encode_pairs(PAIRS * 5, tokenizer)
    plan = BatchPlan(encoded.lengths, 61, seed=2, epoch=3)
    whole = [batch.indices.tolist() for batch in plan.batches(encoded)]
    for cursor in (0, 1, len(plan) - 1, len(plan)):
        assert [b.indices.tolist() for b in plan.batches(encoded, cursor)] == whole[cursor:]


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": 0},
        {"sentences": 0},
        {"seed": -1},
        {"epoch": -1},
        {"rank": 2, "world": 2},
        {"rank": -1},
        {"world": 0},
    ],
)
def test_impossible_plans_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        BatchPlan(some_lengths(3), **wrong)


def test_plans_and_pairs_must_fit(tokenizer: Tokenizer) -> None:
    encoded, _ = encode_pairs(PAIRS, tokenizer)
    with pytest.raises(InputError, match="7 pairs for a plan of 3"):
        list(BatchPlan(some_lengths(3)).batches(encoded))
    with pytest.raises(InputError, match="cursor 2: the epoch has 1"):
        BatchPlan(some_lengths(3)).steps(2)
    with pytest.raises(InputError, match="expected \\(pairs, 2\\)"):
        BatchPlan(np.zeros(3, np.int32))


def test_multi30k_wastes_at_most_five_percent(shared_data: Path) -> None:
    folder = shared_data / "multi30k"
    pairs = read_pairs((folder / "train.en.gz", folder / "train.de.gz"))
    tokenizer = Tokenizer.train(
        (text for pair in pairs for text in pair), vocabulary=8000, lowercase=True
    )
    encoded, _ = encode_pairs(pairs, tokenizer)
    for epoch in range(3):
        plan = BatchPlan(encoded.lengths, 4096, seed=1, epoch=epoch)
        assert plan.padding <= 0.05
        assert np.mean([len(plan[k]) for k in range(len(plan))]) > 200
