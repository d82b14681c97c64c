"""Training speed: target tokens per second of the `tiny` size, and what each measure brings.

    python bench/train_speed.py [--source F --target F] [--threads 2] [--updates 12]

Without files the embedded corpus is used. Variants take turns, update by update, so that a busy
machine slows all alike; the ratio is what to read. The matrix product of this machine stands
above the table: a machine half as fast trains half as fast.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway.config import RunConfig
from cutaway.corpus import Batch, collate
from cutaway.system.allocator import keep_freed_memory
from cutaway.training import objective as objective_module
from cutaway.training.interrupts import Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.loss import smoothed_cross_entropy
from cutaway.training.prepare import Prepared, prepare
from cutaway.training.processes import Processes
from side_by_side import gemm

SHARED = "threads share each operation"
MKL = "products by MKL"  # differs where oneDNN is the quicker one
ROUNDED = "operands of products in bfloat16"


def whole_loss(
    states: Tensor, table: Tensor, bias: Tensor | None, gold: Tensor, smoothing: float
) -> Tensor:
    """All logits at once."""
    return smoothed_cross_entropy(F.linear(states, table, bias), gold, smoothing).sum()


def torch_dropout(self: Any, states: Tensor) -> Tensor:
    """One draw a cell."""
    return F.dropout(states, self.p, self.training)


@contextmanager
def changed(variant: str) -> Iterator[None]:
    """Within this block the trainer lacks one of its measures."""
    if variant == "all logits at once":
        with mock.patch.object(objective_module, "projected_loss", whole_loss):
            yield
    elif variant == "torch's dropout":
        with mock.patch("cutaway.model.dropout.Dropout.forward", torch_dropout):
            yield
    elif variant == MKL:
        with mock.patch("cutaway.training.products.is_quicker", return_value=False):
            yield
    else:
        yield


def random_batches(prepared: Prepared, tokens: int) -> Iterator[Batch]:
    """Batches of the same budget in random order: rows · longest ≤ tokens, no bucketing."""
    lengths = prepared.train.lengths.max(axis=1)
    order = np.random.Generator(np.random.PCG64(1)).permutation(len(lengths))
    rows: list[int] = []
    longest = 0
    for index in order:
        if max(longest, lengths[index]) * (len(rows) + 1) > tokens:
            yield collate(prepared.train, np.asarray(rows))
            rows, longest = [], 0
        rows.append(int(index))
        longest = max(longest, int(lengths[index]))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", default="")
    parser.add_argument("--target", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=12)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    files = {"source": arguments.source, "target": arguments.target}
    config = RunConfig.from_tables(
        {
            "data": files if arguments.source else {"embedded": "en-fr"},
            "tokenizer": {"lowercase": True, "vocabulary": 6000},
            "model": {"preset": "tiny"},
        }
    )
    prepared = prepare(config)
    print(f"matrix product: {gemm():.0f} GFLOP/s with {arguments.threads} threads\n")
    variants = [
        "as it is",
        ROUNDED,
        SHARED,
        MKL,
        "all logits at once",
        "torch's dropout",
        "no bucketing",
    ]
    steps: dict[str, Callable[[], tuple[float, float]]] = {}
    for variant in variants:
        steps[variant] = stepper(prepared, config, variant)
    speeds: dict[str, list[float]] = {variant: [] for variant in variants}
    for _ in range(arguments.updates):
        for variant in variants:
            with changed(variant):
                tokens, seconds = steps[variant]()
            speeds[variant].append(tokens / seconds)
    base = statistics.median(speeds["as it is"])
    print("| trainer | target tokens/s | slower by |\n| --- | ---: | ---: |")
    for variant in variants:
        speed = statistics.median(speeds[variant])
        print(f"| {variant} | {speed:,.0f} | {base / speed:.2f}× |")


def stepper(
    prepared: Prepared, config: RunConfig, variant: str
) -> Callable[[], tuple[float, float]]:
    """A function that does one update and tells its target tokens and seconds."""
    if variant == SHARED:
        config = replace(config, train=replace(config.train, parts=1))
    if variant == ROUNDED:
        config = replace(config, train=replace(config.train, precision="bfloat16"))
    trainer = Trainer(
        prepared,
        config,
        processes=Processes(),
        device=torch.device("cpu"),
        watch=lambda event: None,
        interrupts=Interrupts(),
    )
    if variant == "no bucketing":
        parts = trainer.settings.parts
        made = random_batches(prepared, config.train.tokens // parts)
        source: Iterator[list[Batch]] = iter(lambda: list(islice(made, parts)), [])
    else:
        source = (batches for batches, _, _ in trainer.work())

    def step() -> tuple[float, float]:
        batches = next(source)
        begun = time.perf_counter()
        trainer.update(batches, 0)
        return float(sum(batch.tokens for batch in batches)), time.perf_counter() - begun

    with changed(variant):
        step()
    return step


if __name__ == "__main__":
    main()
