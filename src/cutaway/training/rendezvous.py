"""Rendezvous under a fresh store prefix, so that keys of a crashed attempt are not read.

torchrun keeps one key-value store over its restarts. A process that starts quickly would find there
the address of one that was killed, and wait for it or be refused. So each process writes a new
random id under its rank; rank 0 publishes a new prefix together with the ids it has read, and a
process uses the prefix only if its own id is among them.
"""

import time
import uuid
from typing import TYPE_CHECKING

from cutaway.errors import TrainingError

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

PAUSE = 0.02  # seconds between two reads of the store


def agree_on_prefix(store: "Store", rank: int, world: int, patience: float) -> str:
    """A store prefix that all processes of this start agree on, and none of an earlier start."""
    mine = uuid.uuid4().hex
    store.set(f"id/{rank}", mine)
    end = time.monotonic() + patience
    prefix, published = "", [""]
    while time.monotonic() < end:
        if rank == 0:
            keys = [f"id/{one}" for one in range(world)]
            ids = [store.get(key).decode() for key in keys] if store.check(keys) else []
            if ids and ids != published:  # a process was restarted: the earlier prefix is void
                prefix, published = uuid.uuid4().hex, ids
                store.set("prefix", " ".join([prefix, *published]))
            elif prefix and store.check([f"{prefix}/ready/{one}" for one in range(1, world)]):
                store.set(f"{prefix}/begin", "")
                return prefix
        elif store.check(["prefix"]):
            prefix, *published = store.get("prefix").decode().split()
            if len(published) == world and published[rank] == mine:
                store.set(f"{prefix}/ready/{rank}", "")
                if store.check([f"{prefix}/begin"]):
                    return prefix
        time.sleep(PAUSE)
    raise TrainingError(
        f"process {rank} of {world} did not find the others within {patience / 60:.0f} minutes; "
        f"check that all of them were started and reach the first machine"
    )
