"""Batches: every pair exactly once per epoch, in an order that seed and epoch alone decide."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cutaway.corpus.encoded import Pairs

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Batch:
    """One batch, padded on the right with `<pad>` = 0.

    `number` is its place in the epoch's order over all processes: a resumed run starts at
    `number + 1`.
    """

    source: NDArray[np.int64]  # (B, S)
    target: NDArray[np.int64]  # (B, T)
    indices: NDArray[np.int64]  # (B,)
    number: int

    @property
    def tokens(self) -> int:
        """Target ids to predict: all but the first of each row, padding left out."""
        raise NotImplementedError


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
        raise NotImplementedError

    def __len__(self) -> int:
        """Batches in the epoch, over all processes."""
        raise NotImplementedError

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        """Indices of the pairs in batch `number`, whichever process it belongs to."""
        raise NotImplementedError

    @property
    def padding(self) -> float:
        """Share of cells, source and target, that hold padding."""
        raise NotImplementedError

    def steps(self, cursor: int = 0) -> int:
        """Steps each process still has to take when `cursor` batches of the epoch are done."""
        raise NotImplementedError

    def mine(self, cursor: int = 0) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """This process's (number, indices) from `cursor` on; no indices: an empty step."""
        raise NotImplementedError

    def batches(self, pairs: Pairs, cursor: int = 0) -> Iterator[Batch]:
        """This process's batches from `cursor` on."""
        raise NotImplementedError


def collate(pairs: Pairs, indices: NDArray[np.int64], number: int = 0) -> Batch:
    """The pairs with these indices as one padded batch."""
    raise NotImplementedError


def to_tensors(
    batch: Batch, device: "torch.device | str" = "cpu"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Source (B, S) and target (B, T) as LongTensors on a device."""
    raise NotImplementedError
