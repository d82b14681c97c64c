"""The learning rate of each update, a pure function of its number."""

import math

import torch
from torch import Tensor

from cutaway.config import ModelConfig, TrainConfig


def learning_rate(settings: TrainConfig, update: int, *, peak: float, updates: int) -> float:
    """The rate of update 1, 2, … of a run; see `scheduled_rate`."""
    return float(scheduled_rate(settings, update, peak=peak, updates=updates))


def scheduled_rate(settings: TrainConfig, update: int, *, peak: float, updates: int) -> Tensor:
    """The rate as a number that a recorded update can show: a linear rise, then the schedule.

    noam, inverse-sqrt: peak · √(warmup / update); cosine: peak · ½ (1 + cos π t); constant: peak
    """
    warmup = warmup_of(settings, updates)
    number = torch.full((), update, dtype=torch.float64)
    if update <= warmup:
        return peak * (number / warmup)
    if settings.schedule == "constant":
        return torch.full((), peak, dtype=torch.float64)
    if settings.schedule in ("noam", "inverse-sqrt"):
        return peak * torch.sqrt(max(1, warmup) / number)
    progress = ((number - warmup) / max(1, updates - warmup)).clamp(max=1.0)
    return peak * (0.5 * (1 + torch.cos(math.pi * progress)))


def warmup_of(settings: TrainConfig, updates: int) -> int:
    """The updates of rise: as set (see `recipe.resolved`), but at most a tenth of the run."""
    return min(settings.warmup, updates // 10)


def peak_rate(settings: TrainConfig, model: ModelConfig, updates: int) -> float:
    """The highest rate: as given, or from the model's width.

    noam and post-norm: 1 / √(D · warmup), the paper's; pre-norm: 0.045 / √D · min(1, 128 / D)^¾,
    which is 4.0e-3 for `tiny`, 1.7e-3 for `small`, 7.0e-4 for `base` and 3.0e-4 for `big`;
    2.5 times as much for Muon with an inverse square root: 1.0e-2 for `tiny`
    """
    if settings.learning_rate:
        return settings.learning_rate
    if settings.schedule == "noam" or model.norm == "post":
        return 1 / math.sqrt(model.d_model * max(1, settings.warmup))
    steady = settings.optimizer == "muon" and settings.schedule == "inverse-sqrt"
    factor = 0.045 * (2.5 if steady else 1)
    return factor / math.sqrt(model.d_model) * math.pow(min(1.0, 128 / model.d_model), 0.75)
