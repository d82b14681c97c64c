"""One process at a time in a run's folder; a second one gets an error that names the first.

The operating system holds the lock and drops it when the process ends, however it ends. The file
says who: host, process, since when. What it says while the lock is free is stale.
"""

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cutaway.errors import TrainingError
from cutaway.system.locks import lock
from cutaway.system.processes import alive

NAME = "lock"


@contextmanager
def held(folder: Path) -> Iterator[dict[str, Any] | None]:
    """Hold a folder, which is made if need be; yields who held it last and never let go, if any.

    A folder that holds nothing but the lock afterwards is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ours = False
    try:
        with (folder / NAME).open("a+", encoding="utf-8") as file:
            free = lock(file)
            file.seek(0)
            holder = _read(file.read(1000))
            if free is None:  # no locks on this file system: a living process of this host holds it
                free = not _alive(holder)
            if not free:
                raise TrainingError(
                    f"{folder} is in use: {in_words(holder)} trains there; wait for it, stop it, "
                    f"or choose another --out"
                )
            ours = True
            file.truncate(0)
            mine = {"host": platform.node(), "process": os.getpid(), "since": time.time()}
            file.write(json.dumps(mine))
            file.flush()
            try:
                yield holder
            finally:
                file.truncate(0)
    finally:
        if ours and os.listdir(folder) == [NAME]:
            with suppress(OSError):
                (folder / NAME).unlink()
                folder.rmdir()


def in_words(holder: dict[str, Any] | None) -> str:
    """Who holds a folder, in words."""
    if holder is None:
        return "another process"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder["since"]))
    return f"process {holder['process']} on {holder['host']}, since {since},"


def _read(text: str) -> dict[str, Any] | None:
    try:
        values = json.loads(text)
        return {
            "host": str(values["host"])[:100],
            "process": int(values["process"]),
            "since": float(values["since"]),
        }
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def _alive(holder: dict[str, Any] | None) -> bool:
    """Whether the holder is a living process of this host."""
    if holder is None or holder["host"] != platform.node():
        return False
    return bool(holder["process"] != os.getpid()) and alive(holder["process"])
