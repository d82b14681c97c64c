"""How processes meet: in a room of their own, whatever the dead have left in the house.

torchrun keeps one store of keys and values over its restarts. A process that is quick to start
would find there the address of one that was killed, and wait for it or be refused. So each process
says hello with a word nobody has used before, the first one invites by these very words, and only
who finds its own word in the invitation enters.
"""

import time
import uuid
from typing import TYPE_CHECKING

from cutaway.errors import TrainingError

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

PAUSE = 0.02  # seconds between two looks at the store


def meet(store: "Store", rank: int, world: int, patience: float) -> str:
    """The name of a room that all processes of this start enter, and none of an earlier one."""
    mine = uuid.uuid4().hex
    store.set(f"hello/{rank}", mine)
    end = time.monotonic() + patience
    room, invited = "", [""]
    while time.monotonic() < end:
        if rank == 0:
            hellos = [f"hello/{one}" for one in range(world)]
            words = [store.get(one).decode() for one in hellos] if store.check(hellos) else []
            if words and words != invited:  # someone new: whoever came before is gone
                room, invited = uuid.uuid4().hex, words
                store.set("invitation", " ".join([room, *invited]))
            elif room and store.check([f"{room}/here/{one}" for one in range(1, world)]):
                store.set(f"{room}/begin", "")
                return room
        elif store.check(["invitation"]):
            room, *invited = store.get("invitation").decode().split()
            if len(invited) == world and invited[rank] == mine:
                store.set(f"{room}/here/{rank}", "")
                if store.check([f"{room}/begin"]):
                    return room
        time.sleep(PAUSE)
    raise TrainingError(
        f"process {rank} of {world} did not meet the others in {patience / 60:.0f} minutes; see "
        f"whether all of them were started and reach the first machine"
    )
