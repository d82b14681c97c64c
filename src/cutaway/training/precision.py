"""Test a reduced precision in a child process before it is used, once per machine.

A processor may list instructions that its hypervisor forbids (AMX): the first bfloat16 product then
kills the process with SIGILL, which no `except` catches. So a child runs the same kernels first and
its outcome is kept in the user's cache folder, per machine, torch build and instruction settings.
"""

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import torch
from torch import nn

from cutaway.config import TrainConfig
from cutaway.errors import ConfigError
from cutaway.system.files import replace
from cutaway.system.processes import processor_facts
from cutaway.system.signals import signal_name
from cutaway.training.events import Note, Watch
from cutaway.training.processes import Processes

REDUCED = {torch.bfloat16: "bfloat16", torch.float16: "float16"}
TRIAL = Path(__file__).with_name("precision_trial.py")
WRONG = 3  # exit code of a child whose result is too far from float32
SECONDS = 300  # importing torch takes 3 s; a machine under heavy load takes longer
# Signals that mean the processor or a kernel failed; a kill from outside says nothing about either.
FAULTS = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP")
# Settings that choose other kernels, so that one outcome does not hold for the other.
SETTINGS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "CT2_FORCE_CPU_ISA")


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


def failure(kind: str, device: str = "cpu", trial: Path | None = None) -> str:
    """Why this machine cannot compute in `kind`; empty if it can."""
    outcome = _outcome(kind, device, trial or TRIAL)
    return f"{kind} fails on this machine ({outcome})" if outcome != "passed" else ""


@cache
def _outcome(kind: str, device: str, trial: Path) -> str:
    """ "passed", or what went wrong: remembered, or tried now."""
    key = _key(kind, device)
    remembered = _read()
    if key in remembered:
        return remembered[key]
    outcome, lasting = _try(kind, device, trial)
    if lasting:
        _write({**_read(), key: outcome})
    return outcome


def _try(kind: str, device: str, trial: Path) -> tuple[str, bool]:
    """The outcome of a child that computes in `kind`, and whether to expect the same next time."""
    # -P: a torch.py in the working folder must not be imported.
    command = [sys.executable, "-P", str(trial), kind, device]
    try:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"its trial did not end within {SECONDS} s", False
    except OSError as error:
        return f"its trial could not be started: {error.strerror}", False
    if result.returncode == 0:
        return "passed", True
    if result.returncode < 0:
        name = signal_name(-result.returncode)
        return f"its trial was killed by {name}", name in FAULTS
    last = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
    return last[:200], result.returncode == WRONG


def _key(kind: str, device: str) -> str:
    """All that the outcome depends on, as a short hash."""
    cuda = torch.cuda.get_device_name() if device == "cuda" else ""
    facts = [
        kind,
        device,
        cuda,
        platform.node(),
        platform.release(),
        *processor_facts(),
        torch.__version__,
        torch.version.git_version or "",
        *(os.environ.get(name, "") for name in SETTINGS),
    ]
    return f"{kind}-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]}"


def _file() -> Path | None:
    """Where outcomes are kept; None: this user has no folder for it."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: a relative path is ignored
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return Path(base) / "cutaway" / "precision.json"


def _read() -> dict[str, str]:
    """What is remembered; nothing where the file is missing or not as we write it."""
    file = _file()
    if file is None:
        return {}
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {key: value for key, value in values.items() if isinstance(value, str)}


def _write(outcomes: dict[str, str]) -> None:
    """Keep the outcomes; a folder that cannot be written only costs another trial next time."""
    file = _file()
    if file is None:
        return
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix="precision-")
        with open(handle, "w", encoding="utf-8") as new:
            json.dump(outcomes, new, indent=1, sort_keys=True)
        replace(Path(name), file)
