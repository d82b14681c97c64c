"""Batches: every pair exactly once per epoch, in an order that seed and epoch alone decide."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cutaway.corpus.encoded import Pairs
from cutaway.errors import InputError

if TYPE_CHECKING:
    import torch

Indices = NDArray[np.int64]

SEARCHED = (
    200_000  # pairs; above this, neighbours have so similar lengths that the first order will do
)


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class Batch:
    """One batch, padded on the right with `<pad>` = 0.

    `number` is its place in the epoch's order over all processes: when it is done, the cursor of
    a single process is `number + 1`.
    """

    source: NDArray[np.int64]  # (B, S)
    target: NDArray[np.int64]  # (B, T)
    indices: Indices  # (B,)
    number: int

    @property
    def tokens(self) -> int:
        """Target ids to predict: all but the first of each row, padding left out."""
        return int(np.count_nonzero(self.target[:, 1:]))


class BatchPlan:
    """The order of one epoch: which pairs form batch k, for every k.

    The global order depends on (lengths, tokens, sentences, seed, epoch) alone. Of `world`
    processes, step s of process r takes batch `cursor + s · world + r`. All processes have the
    same number of steps; when batches do not divide evenly, the last step of some is an empty
    batch (B = 0), so that every pair is still seen exactly once and no process waits forever.
    """

    def __init__(
        self,
        lengths: NDArray[np.int32],
        tokens: int = 4096,
        *,
        seed: int = 0,
        epoch: int = 0,
        rank: int = 0,
        world: int = 1,
        sentences: int | None = None,
    ) -> None:
        """Plan one epoch.

        `tokens` bounds rows × max(longest source, longest target); a single pair over
        the budget forms a batch of its own. `sentences` bounds the rows.
        """
        if lengths.ndim != 2 or lengths.shape[1] != 2:
            raise InputError(f"lengths of shape {lengths.shape}: expected (pairs, 2)")
        if tokens < 1 or (sentences is not None and sentences < 1):
            raise InputError(f"tokens {tokens}, sentences {sentences}: expected at least 1")
        if seed < 0 or epoch < 0:
            raise InputError(f"seed {seed}, epoch {epoch}: expected numbers from 0")
        if not 0 <= rank < world:
            raise InputError(f"rank {rank} of {world} processes: expected 0 to {world - 1}")
        self.rank, self.world = rank, world
        self._order, self._bounds = _plan(lengths, tokens, sentences, seed, epoch)
        self._shuffle = _permutation(len(self), seed, epoch, 1)
        self._cells = _cells(lengths[self._order], self._bounds)
        self._ids = int(lengths.sum(dtype=np.int64))

    def __len__(self) -> int:
        """Batches in the epoch, over all processes."""
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> Indices:
        """Indices of the pairs in batch `number`, whichever process it belongs to."""
        if not 0 <= number < len(self):
            raise IndexError(
                f"batch {number} does not exist; there are {len(self)}, counted from 0"
            )
        place = self._shuffle[number]
        return self._order[self._bounds[place] : self._bounds[place + 1]]

    @property
    def padding(self) -> float:
        """Share of cells, source and target, that hold padding: 1 − ids / cells."""
        return 1 - self._ids / self._cells if self._cells else 0.0

    def steps(self, cursor: int = 0) -> int:
        """Steps each process still has to take when `cursor` batches of the epoch are done."""
        if not 0 <= cursor <= len(self):
            raise InputError(f"cursor {cursor}: the epoch has {len(self)} batches")
        return -(-(len(self) - cursor) // self.world)

    def mine(self, cursor: int = 0) -> Iterator[tuple[int, Indices]]:
        """This process's (number, indices) from `cursor` on; no indices: an empty step."""
        for step in range(self.steps(cursor)):
            number = cursor + step * self.world + self.rank
            yield number, self[number] if number < len(self) else np.empty(0, np.int64)

    def batches(self, pairs: Pairs, cursor: int = 0) -> Iterator[Batch]:
        """This process's batches from `cursor` on."""
        if len(pairs) != len(self._order):
            raise InputError(
                f"{len(pairs)} pairs for a plan of {len(self._order)}; give the plan's own pairs"
            )
        for number, indices in self.mine(cursor):
            yield collate(pairs, indices, number)


def collate(pairs: Pairs, indices: Indices, number: int = 0) -> Batch:
    """The pairs with these indices as one padded batch."""
    rows = [pairs[int(index)] for index in indices]
    sides = []
    for side in (0, 1):
        longest = max((len(row[side]) for row in rows), default=0)
        padded = np.zeros((len(rows), longest), np.int64)
        for at, row in enumerate(rows):
            padded[at, : len(row[side])] = row[side]
        sides.append(padded)
    return Batch(sides[0], sides[1], np.asarray(indices, np.int64), number)


def to_tensors(
    batch: Batch, device: "torch.device | str" = "cpu"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Source (B, S) and target (B, T) as LongTensors on a device."""
    return on_device(batch.source, device), on_device(batch.target, device)


def on_device(ids: NDArray[np.int64], device: "torch.device | str") -> "torch.Tensor":
    """Ids on a device; to a GPU from pinned memory, so that it computes while they are copied."""
    import torch

    tensor = torch.from_numpy(ids)
    if torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def _plan(
    lengths: NDArray[np.int32], tokens: int, sentences: int | None, seed: int, epoch: int
) -> tuple[Indices, Indices]:
    """Pairs in an order where neighbours are alike, and where each batch begins."""
    chance = _permutation(len(lengths), seed, epoch, 0)
    if not len(lengths):
        return chance, np.zeros(1, np.int64)
    # The first batch gets a random share of the budget, and bands and their directions begin
    # anywhere, so that batches are composed differently in each epoch.
    share, phase = (int(number % np.uint64(1000)) for number in _raw(2, seed, epoch, 2))
    best: tuple[int, Indices, Indices] | None = None
    tries = [(1, 1), (0, 1), (1, 2), (0, 2), (1, 3), (0, 3)]
    for major, width in tries if len(lengths) <= SEARCHED else tries[:1]:
        order = chance[_snake(lengths[chance], major, width, phase)]
        ordered = lengths[order]
        bounds = _cut(ordered, tokens, sentences, max(1, tokens - tokens * share // 2000))
        cells = _cells(ordered, bounds)
        if best is None or cells < best[0]:
            best = cells, order, bounds
    assert best is not None
    return best[1], best[2]


def _snake(lengths: NDArray[np.int32], major: int, width: int, phase: int) -> Indices:
    """Sort by one side's length in bands, and by the other's up and down in turn.

    Then neither length jumps where one band ends and the next begins. Ties keep their random order.
    """
    band = (lengths[:, major] + phase) // width
    minor = lengths[:, 1 - major]
    return np.lexsort((np.where(band % 2, -minor, minor), band))


def _cut(ordered: NDArray[np.int32], tokens: int, sentences: int | None, budget: int) -> Indices:
    """Fill each batch until one more row would pass the budget: rows · max(S, T) ≤ tokens.

    The first batch has a budget of its own.
    """
    bounds = [0]
    longest = np.maximum(ordered.max(axis=1), 1).astype(np.int64)
    most = sentences or len(ordered)
    while (at := bounds[-1]) < len(ordered):
        reach = min(most, max(1, budget // int(longest[at])))  # a later row may be shorter,
        while True:  # so look further as long as the window was filled
            window = np.maximum.accumulate(longest[at : at + reach])
            cost = window * np.arange(1, len(window) + 1)
            rows = max(1, int(np.searchsorted(cost, budget, "right")))
            if rows < reach or reach >= most or at + reach >= len(ordered):
                break
            reach = min(most, reach * 2)
        bounds.append(at + rows)
        budget = tokens
    return np.asarray(bounds, np.int64)


def _cells(ordered: NDArray[np.int32], bounds: Indices) -> int:
    """Cells of all padded batches: Σ rows · (longest source + longest target)."""
    if len(bounds) < 2:
        return 0
    longest = np.maximum.reduceat(ordered, bounds[:-1], axis=0).astype(np.int64)
    return int((np.diff(bounds) * longest.sum(axis=1)).sum())


def _permutation(count: int, seed: int, epoch: int, purpose: int) -> Indices:
    """A permutation by sorting raw random numbers, a stream NumPy promises never to change."""
    return np.argsort(_raw(count, seed, epoch, purpose), kind="stable")


def _raw(count: int, seed: int, epoch: int, purpose: int) -> NDArray[np.uint64]:
    bits = np.random.PCG64(np.random.SeedSequence((seed, epoch, purpose)))
    return np.asarray(bits.random_raw(count), np.uint64)
