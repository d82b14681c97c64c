"""Processes, and what the machine says of itself: memory and processors."""

import contextlib
import ctypes
import os
import platform
import sys
from pathlib import Path
from typing import Any, cast

WINDOWS = sys.platform == "win32"


def alive(process: int) -> bool:
    """Whether a process of this machine runs."""
    if WINDOWS:  # os.kill would end it
        kernel: Any = cast(Any, ctypes).windll.kernel32
        query, still_active = 0x1000, 259
        handle = kernel.OpenProcess(query, False, process)
        if not handle:
            return False
        code = ctypes.c_ulong()
        found = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
        kernel.CloseHandle(handle)
        return bool(found) and code.value == still_active
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def processors() -> int:
    """Processors this process may use: at most OMP_NUM_THREADS, which Ray and torchrun set."""
    affinity: Any = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    there = len(affinity(0)) if affinity else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # "2,1": nested
    return min(there, int(asked)) if asked.isdecimal() and int(asked) else there


def maker() -> str:
    """Who made the processor, as "AuthenticAMD"; empty where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "vendor_id":
                return value.strip()
    return ""


def lower_priority(steps: int) -> None:
    """Let other processes go first; Windows does so when the process is started."""
    if hasattr(os, "nice"):
        os.nice(steps)


def resident_bytes() -> int:
    """Bytes of this process in memory: at present, or the peak where the system gives only that."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def available_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


def processor_name() -> str:
    """The processor's name, or an empty string where the system does not give it."""
    for line in _cpuinfo():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def processor_facts() -> list[str]:
    """Name and flags of the first processor, where the system gives them."""
    wanted = ("model name", "flags", "Features", "CPU ")
    found = [line for line in _cpuinfo() if line.startswith(wanted)]
    return found or [platform.machine(), platform.processor()]


def _cpuinfo() -> list[str]:
    """What Linux says of the first processor; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.partition("\n\n")[0].splitlines()
