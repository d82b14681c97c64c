"""A lock on an open file that the system drops when the process ends, however it ends."""

import importlib
import sys
from typing import IO, Any

BEYOND = 2**30  # Windows locks bytes and then nobody else can read them: one beyond the text


def lock(file: IO[str]) -> bool | None:
    """Take the lock: True; False if another process has it; None where there are no locks."""
    try:
        if sys.platform == "win32":
            _windows(file)
        else:
            fcntl: Any = importlib.import_module("fcntl")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError):  # a file system without locks
        return None
    return True


def _windows(file: IO[str]) -> None:
    """A PermissionError if another process has it."""
    msvcrt: Any = importlib.import_module("msvcrt")
    place = file.tell()
    file.seek(BEYOND)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    finally:
        file.seek(place)
