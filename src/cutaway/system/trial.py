"""A computation that may kill its process, tried in a child first, once per machine.

A processor may list instructions that its hypervisor forbids (AMX): the first bfloat16 product then
ends the process with SIGILL, which no `except` catches. So a child runs the same kernels first and
its outcome is kept in the user's cache folder, per machine, library and instruction settings.
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

from cutaway.system.files import replace
from cutaway.system.processes import processor_facts
from cutaway.system.signals import signal_name

WRONG = 3  # exit code of a child whose result is too far from float32
SECONDS = 300  # importing torch takes 3 s; a machine under heavy load takes longer
# Signals that mean the processor or a kernel failed; a kill from outside says nothing about either.
FAULTS = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP")
# Settings that choose other kernels, so that one outcome does not hold for the other.
SETTINGS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "CT2_FORCE_CPU_ISA")


def failure(kind: str, trial: Path, *facts: str, device: str = "cpu") -> str:
    """Why this machine cannot compute in `kind`; empty if it can.

    `trial` is run with `kind` and `device`; `facts` name what else decides, as a library's version.
    """
    outcome = _outcome(kind, device, trial, facts)
    return f"{kind} fails on this machine ({outcome})" if outcome != "passed" else ""


@cache
def _outcome(kind: str, device: str, trial: Path, facts: tuple[str, ...]) -> str:
    """ "passed", or what went wrong: remembered, or tried now."""
    key = _key(kind, device, facts)
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


def _key(kind: str, device: str, facts: tuple[str, ...]) -> str:
    """All that the outcome depends on, as a short hash."""
    everything = [
        kind,
        device,
        *facts,
        platform.node(),
        platform.release(),
        *processor_facts(),
        *(os.environ.get(name, "") for name in SETTINGS),
    ]
    return f"{kind}-{hashlib.sha256(json.dumps(everything).encode()).hexdigest()[:24]}"


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
