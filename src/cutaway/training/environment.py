"""Where a run happens, and the device it happens on: exactness holds for one environment only."""

import os
import platform
from typing import Any

import torch

from cutaway.config import TrainConfig
from cutaway.errors import ConfigError
from cutaway.system.processes import processor_name
from cutaway.version import __version__


def describe(device: torch.device, processes: int, parallel: str) -> dict[str, Any]:
    """All that may change the last bits of a result."""
    return {
        "cutaway": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cpu": processor_name(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "processes": processes,
        "parallel": parallel if processes > 1 else "none",
    }


def differences(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """What changed between two sets of plain values, one `name: old → new` each."""
    found: list[str] = []
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{prefix}{name}.")
        elif (list(old) if isinstance(old, tuple) else old) != (
            list(new) if isinstance(new, tuple) else new
        ):
            found.append(f"{prefix}{name}: {old!r} → {new!r}")
    return found


def choose_device(settings: TrainConfig, local_rank: int = 0) -> torch.device:
    """The device asked for, or the fastest there is."""
    wanted = settings.device
    if wanted == "auto":
        if torch.cuda.is_available():
            wanted = "cuda"
        elif torch.backends.mps.is_available():
            wanted = "mps"
        else:
            wanted = "cpu"
    if wanted.split(":")[0] not in ("cpu", "cuda", "mps"):
        raise ConfigError(f"train.device is {wanted!r}; expected auto, cpu, cuda, cuda:N or mps")
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise ConfigError("train.device is 'cuda', which this machine lacks; use auto or cpu")
    if wanted == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("train.device is 'mps', which this machine lacks; use auto or cpu")
    if wanted == "cuda":
        return torch.device("cuda", local_rank)
    return torch.device(wanted)


def claim_device(settings: TrainConfig) -> torch.device:
    """The device of this process, made torch's current one: NCCL and FSDP use that, not ours."""
    place = int(os.environ.get("LOCAL_RANK", "0"))
    device = choose_device(settings, place)
    if device.type == "cuda":
        there = torch.cuda.device_count()
        if (device.index or 0) >= there:
            raise ConfigError(
                f"process {place} of this machine would use {device}, which has {there} CUDA "
                f"device(s); start at most as many processes per machine, or use --device cpu"
            )
        torch.cuda.set_device(device)
    return device
