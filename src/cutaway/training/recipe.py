"""What was left to choose, chosen by model, corpus and device: optimizer, warm-up, length, …

Large means d_model ≥ 512 (`base`, `big`): such models need a long warm-up and updates of about
25,000 tokens, or they stay at the frequencies of the tokens (docs/decisions.md).
"""

import math
from dataclasses import replace
from typing import Literal

from cutaway.config import ModelConfig, TrainConfig
from cutaway.numbers import short

LARGE = 512  # d_model
SMALL, ENOUGH_PAIRS = 192, 10_000  # widest model and fewest pairs for a rate that stays high
FEW, MANY = 20_000, 100_000  # pairs of a corpus that is diversified unless told otherwise
WARMUP, LONG_WARMUP = 800, 4000
LARGE_UPDATE = 25_000  # tokens per side in one update of a large model
PARTS, LEAST_PART = 4, 512  # of a batch on a CPU, and the tokens of one
LEAST_UPDATES = 1000  # of a run whose length was left to choose
USUAL_EPOCHS = 50  # of published systems on up to a million pairs


def resolved(
    settings: TrainConfig, model: ModelConfig, processes: int = 1, pairs: int = 0
) -> TrainConfig:
    """The settings with values where 0 or "auto" stood for "choose"."""
    optimizer, schedule = chosen_rule(settings, model, pairs)
    large = model.d_model >= LARGE
    together = math.ceil(LARGE_UPDATE / (settings.tokens * processes)) if large else 1
    return replace(
        settings,
        optimizer=optimizer,
        schedule=schedule,
        warmup=settings.warmup or (LONG_WARMUP if large else WARMUP),
        accumulate=settings.accumulate or together,
        parts=settings.parts or chosen_parts(settings),
    )


def chosen_rule(
    settings: TrainConfig, model: ModelConfig, pairs: int
) -> tuple[Literal["adam", "adamw", "muon"], Literal["noam", "inverse-sqrt", "cosine", "constant"]]:
    """Optimizer and schedule.

    A small translator, not one that starts from another: Muon and a rate that stays high, whose
    noise the moving average of the weights removes; after 18 epochs of 29,000 pairs 1.3 BLEU
    over a cosine that ends there (docs/decisions.md). By the corpus, not by the length of the run,
    which may be extended.
    """
    steady = (
        settings.optimizer == "auto"
        and settings.schedule in ("auto", "inverse-sqrt")
        and settings.task == "translate"
        and not settings.start_from
        and settings.ema > 0
        and model.norm == "pre"
        and model.d_model <= SMALL
        and pairs >= ENOUGH_PAIRS
    )
    optimizer = settings.optimizer if settings.optimizer != "auto" else "adamw"
    schedule = settings.schedule if settings.schedule != "auto" else "cosine"
    return ("muon", "inverse-sqrt") if steady else (optimizer, schedule)


def chosen_parts(settings: TrainConfig) -> int:
    """Parts of a batch: not by the number of cores, so that all machines make the same batches."""
    from cutaway.training.environment import choose_device

    if choose_device(settings).type != "cpu":
        return 1
    return max(1, min(PARTS, settings.tokens // LEAST_PART))


def chosen_epochs(pairs: int, updates_per_epoch: int) -> int:
    """Passes when neither epochs nor updates are given.

    About 1.3 million rows seen, in 3 to 60 epochs, and at least `LEAST_UPDATES` updates.
    """
    by_rows = max(3, min(60, round(1_300_000 / max(1, pairs))))
    return max(by_rows, math.ceil(LEAST_UPDATES / updates_per_epoch))


def suits(pairs: int, directions: int) -> bool:
    """Whether a corpus is diversified unless told otherwise: sizes that were measured to gain."""
    return directions == 1 and FEW <= pairs < MANY


def teacher_epochs(pairs: int) -> int:
    """Passes of a teacher of `diversify`, whose translations need not be the best; 0: as usual.

    Two fifths of what the corpus would get, unless it is so small that updates decide.
    """
    return round(520_000 / pairs) if pairs >= FEW else 0


def last_epochs(pairs: int, rows: int) -> int:
    """Passes of the last model of `diversify` over the pairs and their translations; 0: as usual.

    About a million rows seen: on 29,000 pairs what came after that was 0.3 BLEU in a third of its
    time (docs/decisions.md).
    """
    return max(3, round(1_000_000 / rows)) if pairs >= FEW else 0


def described(epochs: int, updates: int, tokens: int) -> str:
    """What a length that was chosen means, and what is usual."""
    text = f"{epochs} epochs chosen: {updates:,} updates of up to {tokens:,} tokens per side"
    if epochs >= USUAL_EPOCHS:
        return text
    times = USUAL_EPOCHS / epochs
    return (
        f"{text}; {USUAL_EPOCHS} epochs are usual in the literature, "
        f"{short(times, 2)} times as long: give --epochs {USUAL_EPOCHS} if there is time"
    )
