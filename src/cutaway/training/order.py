"""The order of a run: how many updates it has, and which batches each of them takes."""

import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial

from cutaway.config import RunConfig
from cutaway.corpus import Batch, BatchPlan, Pairs, SampledPairs
from cutaway.corpus.parts import WeightedPairs
from cutaway.training.prefetch import Later, Prefetcher
from cutaway.training.prepare import Prepared
from cutaway.training.processes import Processes
from cutaway.training.recipe import chosen_epochs, resolved


@dataclass
class Progress:
    """The state of a run as plain values; part of every checkpoint."""

    update: int = 0
    epoch: int = 0
    cursor: int = 0  # batches of the epoch that are done, over all processes
    validated: int = -1  # the last update that was validated
    kept: int = -1  # the last update that was kept as a snapshot
    best: list[float] | None = None  # the best scores so far, by weight, higher is better
    best_update: int = 0
    metrics: dict[str, float] = field(default_factory=dict)  # of the best
    stale: int = 0  # validations since the best
    stopped: bool = False  # early, by patience
    loss_sum: float = 0.0  # since the last line of the log
    asked_sum: float = 0.0
    skipped: int = 0  # updates left out because loss or gradient was not finite
    averaged: list[int] = field(default_factory=list)  # updates whose weights may be averaged


class Order:
    """Batches of every update: a function of the data, the seed and the epoch."""

    def __init__(self, prepared: Prepared, config: RunConfig, processes: Processes) -> None:
        self.prepared = prepared
        self.settings = resolved(config.train, prepared.model, processes.world, len(prepared.train))
        self.sample = config.tokenizer.sample
        self.processes = processes
        self.mine = self.settings.accumulate * self.settings.parts  # of an update, in this process
        self.together = self.mine * processes.world  # batches of one update
        self._first: tuple[BatchPlan, Pairs] | None = self._planned(0)  # until it has begun
        self.updates_per_epoch = math.ceil(len(self._first[0]) / self.together)
        if self.settings.updates:
            self.updates = self.settings.updates
        else:
            epochs = self.settings.epochs or chosen_epochs(
                len(prepared.train), self.updates_per_epoch
            )
            self.updates = epochs * self.updates_per_epoch

    def plan(self, epoch: int) -> BatchPlan:
        """How an epoch is cut into batches."""
        return self._planned(epoch)[0]

    def _planned(self, epoch: int) -> tuple[BatchPlan, Pairs]:
        """The plan of an epoch and its pairs."""
        pairs = self.pairs(epoch)
        plan = BatchPlan(
            pairs.lengths,
            max(1, self.settings.tokens // self.settings.parts),
            seed=self.settings.seed,
            epoch=epoch,
            rank=self.processes.rank,
            world=self.processes.world,
        )
        return plan, pairs

    def pairs(self, epoch: int) -> Pairs:
        """The pairs as this epoch segments them: a function of seed and epoch."""
        if not self.sample or self.prepared.task != "translate":
            return self._weighted(self.prepared.train, epoch)
        sampled = SampledPairs(
            self.prepared.train,
            self.prepared.tokenizer,
            self.prepared.target_tokenizer,
            sample=self.sample,
            seed=self.settings.seed,
            epoch=epoch,
        )
        return self._weighted(sampled, epoch)

    def _weighted(self, pairs: Pairs, epoch: int) -> Pairs:
        """The pairs by the weights of their sources, where these have any."""
        weights = self.prepared.weights
        if not weights:
            return pairs
        return WeightedPairs(pairs, weights, seed=self.settings.seed, epoch=epoch)

    def work(self, progress: Progress) -> Generator[tuple[list[Batch], int, float]]:
        """This process's batches of each update, the cursor after it, and the epoch's share done.

        Begins where the run is. An update never spans two epochs; the caller moves the cursor. The
        plan of the next epoch is made in a thread of its own while this one is trained on.
        """
        first, self._first = self._first, None
        following: Later[tuple[BatchPlan, Pairs]] | None = None
        while True:
            epoch = progress.epoch
            if following is not None:
                plan, pairs = following.result()
            else:
                plan, pairs = first if first and epoch == 0 else self._planned(epoch)
            first = None
            made = plan.batches(pairs, progress.cursor)
            if isinstance(pairs, WeightedPairs):
                made = pairs.by_pair(made)
            with Prefetcher(made) as batches:
                another = (epoch + 1) * self.updates_per_epoch < self.updates
                following = Later(partial(self._planned, epoch + 1)) if another else None
                while progress.cursor < len(plan):
                    mine = list(itertools.islice(batches, self.mine))
                    after = min(len(plan), progress.cursor + self.together)
                    yield mine, after, after / len(plan)
            progress.epoch += 1
            progress.cursor = 0
