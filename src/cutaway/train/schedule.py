"""The learning rate of each update, a pure function of its number."""

import math

from cutaway.config import ModelConfig, TrainConfig


def learning_rate(settings: TrainConfig, update: int, *, peak: float, updates: int) -> float:
    """The rate of update 1, 2, …: a linear rise to the peak, then as the schedule says.

    noam, inverse-sqrt: peak · √(warmup / update); cosine: peak · ½ (1 + cos π t); constant: peak
    """
    warmup = warmup_of(settings, updates)
    if update <= warmup:
        return peak * update / warmup
    if settings.schedule == "constant":
        return peak
    if settings.schedule == "cosine":
        progress = min(1.0, (update - warmup) / max(1, updates - warmup))
        return peak * 0.5 * (1 + math.cos(math.pi * progress))
    return peak * math.sqrt(max(1, warmup) / update)


def warmup_of(settings: TrainConfig, updates: int) -> int:
    """The updates of rise: as set, but at most a tenth of the run."""
    return min(settings.warmup, updates // 10)


def peak_rate(settings: TrainConfig, model: ModelConfig, updates: int) -> float:
    """The highest rate: as given, or from the model's width.

    noam and post-norm: 1 / √(D · warmup), the paper's; pre-norm bears 0.045 / √D
    """
    if settings.learning_rate:
        return settings.learning_rate
    if settings.schedule == "noam" or model.norm == "post":
        return 1 / math.sqrt(model.d_model * max(1, settings.warmup))
    return 0.045 / math.sqrt(model.d_model)
