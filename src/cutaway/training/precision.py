"""Which precision a run computes in; a reduced one is tried in a child process first."""

from pathlib import Path

import torch
from torch import nn

from cutaway.config import TrainConfig
from cutaway.errors import ConfigError
from cutaway.system import trial
from cutaway.training.events import Note, Watch
from cutaway.training.processes import Processes

REDUCED = {torch.bfloat16: "bfloat16", torch.float16: "float16"}
TRIAL = Path(__file__).with_name("precision_trial.py")


def choose_precision(
    settings: TrainConfig, device: torch.device, watch: Watch, processes: Processes
) -> torch.dtype:
    """bfloat16 where a CUDA device computes in it, float32 elsewhere, unless one is asked for.

    T4 and V100 emulate bfloat16, slower than float32: `auto` does not take it there.

    bfloat16 that fails its trial is refused where it was asked for, and replaced where it was not.
    """
    asked = settings.precision == "bfloat16"
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    if not asked and not (settings.precision == "auto" and fast):
        return torch.float32
    reason = failure("bfloat16", device.type)
    if reason and asked:
        raise ConfigError(
            f"train.precision is bfloat16, but {reason}; set train.precision to float32"
        )
    (failed,) = processes.totals((float(bool(reason)),), device)
    if failed:  # in any process: all of them compute alike
        problem = reason or "bfloat16 failed its trial in another process"
        watch(Note(f"{problem}: training in float32", warning=True))
        return torch.float32
    return torch.bfloat16


def require(model: nn.Module) -> None:
    """Refuse a model of a reduced precision that this machine cannot compute in."""
    parameter = next(model.parameters())
    kind = REDUCED.get(parameter.dtype)
    if kind is not None and (reason := failure(kind, parameter.device.type)):
        raise ConfigError(f"the model is in {kind}, but {reason}; convert it with model.float()")


def failure(kind: str, device: str = "cpu") -> str:
    """Why this machine cannot compute in `kind`; empty if it can."""
    cuda = torch.cuda.get_device_name() if device == "cuda" else ""
    build = torch.version.git_version or ""
    return trial.failure(kind, TRIAL, cuda, torch.__version__, build, device=device)
