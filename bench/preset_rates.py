"""Does a preset leave the unigram plateau? Norm orders and peak rates side by side.

    python bench/preset_rates.py --data PAIRS.tsv --preset base \\
        --variant post:1.56e-3 --variant pre:7e-4 [--tokens 1024] [--updates 1000] [--minutes 60]

The variants begin with the same seed, take turns update by update and see the same batches. Every
tenth round prints the mean loss per token of each; the plateau is the loss of a model that knows
the frequencies of the tokens and nothing else: the entropy of (1 − ε) · frequency + ε / V.
"""

import argparse
import time
from collections import deque

import numpy as np
import torch

from cutaway.config import RunConfig
from cutaway.training.interrupts import Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.prepare import Prepared, prepare
from cutaway.training.processes import Processes

SHOWN = 10  # rounds between two lines of the table, and of its mean


def plateau(prepared: Prepared, smoothing: float) -> float:
    """The least smoothed loss that token frequencies alone can reach."""
    train = prepared.train
    counts = np.bincount(train.target_tokens, minlength=prepared.model.output_vocabulary)
    counts[prepared.tokenizer.start] = 0  # never predicted
    wanted = (1 - smoothing) * counts / counts.sum() + smoothing / len(counts)
    return float(-(wanted * np.log(wanted)).sum())


def main() -> None:
    """Train and print a table that grows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="TSV of pairs")
    parser.add_argument("--preset", default="base")
    parser.add_argument("--variant", action="append", help="norm:peak rate", required=True)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--updates", type=int, default=1000, help="length of the schedule")
    parser.add_argument("--warmup", type=int, default=800)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    def config_of(variant: str) -> RunConfig:
        norm, _, rate = variant.partition(":")
        return RunConfig.from_tables(
            {
                "data": {"data": arguments.data, "max_length": 64},
                "model": {"preset": arguments.preset, "norm": norm},
                "train": {
                    "tokens": arguments.tokens,
                    "updates": arguments.updates,
                    "warmup": arguments.warmup,
                    "learning_rate": float(rate),
                    "ema": 0.0,
                    "log_every": arguments.updates + 1,  # the sums are read here instead
                },
            }
        )

    configs = {variant: config_of(variant) for variant in arguments.variant}
    first = prepare(next(iter(configs.values())))
    kept = (first.tokenizer, first.target_tokenizer)
    trainers = {
        variant: Trainer(
            prepare(config, kept),
            config,
            processes=Processes(),
            device=torch.device("cpu"),
            watch=lambda event: None,
            interrupts=Interrupts(),
        )
        for variant, config in configs.items()
    }
    print(f"{arguments.preset}, {len(first.train):,} pairs, batches of {arguments.tokens} tokens")
    print(f"unigram plateau: {plateau(first, 0.1):.3f} nats per token", flush=True)
    print(f"| update | {' | '.join(configs)} |\n| ---: |{' ---: |' * len(configs)}", flush=True)
    works = {variant: trainer.work() for variant, trainer in trainers.items()}
    losses: dict[str, deque[float]] = {variant: deque(maxlen=SHOWN) for variant in configs}
    ended = time.monotonic() + 60 * arguments.minutes
    for update in range(1, arguments.updates):
        for variant, trainer in trainers.items():
            batches, cursor, _ = next(works[variant])
            trainer.progress.loss_sum = trainer.progress.asked_sum = 0.0
            trainer.update(batches, cursor)
            losses[variant].append(trainer.progress.loss_sum / trainer.progress.asked_sum)
        if update % SHOWN == 0:
            means = (sum(seen) / len(seen) for seen in losses.values())
            print(f"| {update} | {' | '.join(f'{mean:.3f}' for mean in means)} |", flush=True)
        if time.monotonic() > ended:
            return


if __name__ == "__main__":
    main()
