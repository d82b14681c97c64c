"""Files whole or absent, on every system: renaming, exchanging, flushing, permissions."""

import ctypes
import os
import shutil
import sys
import time
from pathlib import Path

WINDOWS = sys.platform == "win32"
PATIENCE = 2.0  # seconds that Windows is given to let go of a file, as of a virus scanner


def flush(path: Path) -> None:
    """Write a file or folder through to the disk, as far as the system can."""
    if WINDOWS and path.is_dir():
        return  # a folder cannot be opened there
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(new: Path, path: Path) -> None:
    """Give a file the name of another in one step; a symbolic link's own file is replaced."""
    target = os.path.realpath(path)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            os.replace(new, target)
            return
        except PermissionError:  # Windows: somebody has the old file open
            if not WINDOWS or time.monotonic() > end:
                raise
            time.sleep(0.05)


def exchange(new: Path, path: Path) -> None:
    """Put a folder at `path`; afterwards `new` is gone, or holds what was there before."""
    if not path.exists():
        os.rename(new, path)
    elif not _swap(new, path):  # no atomic swap on this system: two renames, a moment apart
        aside = new.with_name(new.name + "-old")
        os.rename(path, aside)
        os.rename(new, path)
        shutil.rmtree(aside, ignore_errors=True)


def usual_permissions(path: Path) -> None:
    """Permissions as of a file or folder made by hand: temporary ones are private."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


def _swap(one: Path, other: Path) -> bool:
    """Exchange two names in one step where the kernel can (Linux renameat2), else say False."""
    if sys.platform != "linux":
        return False
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), swap) == 0)
