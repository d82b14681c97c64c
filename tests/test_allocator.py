"""Freed memory stays with the process, in a thread as in the main one."""

import subprocess
import sys

from cutaway.system.allocator import keep_freed_memory

ALLOCATE = """
import resource, sys, threading
import torch
from cutaway.system.allocator import keep_freed_memory

known = keep_freed_memory() if sys.argv[1] == "keep" else True
counted = []  # page faults of this thread so far, after each round

def work():
    for _ in range(8):  # as in an update: much is alive, and then nothing is
        counted.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt)
        alive = [torch.ones(1031, 257) for _ in range(101)]  # 107 MB
        del alive
    counted.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt)

torch.set_num_threads(1)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(known, counted[1] - counted[0], counted[8] - counted[1])
"""


def test_memory_that_is_freed_is_not_asked_for_again() -> None:
    def faults(how: str) -> tuple[int, int]:
        """Page faults of the first round of a thread, and of its seven after it."""
        done = subprocess.run(
            [sys.executable, "-c", ALLOCATE, how], capture_output=True, text=True, check=True
        )
        known, first, later = done.stdout.split()
        assert known == "True"
        return int(first), int(later)

    if not sys.platform.startswith("linux"):
        assert keep_freed_memory() is False
        return
    first, kept = faults("keep")
    given_back = faults("as it is")[1]
    assert first > 1_000  # 107 MB, of which the kernel may give several pages per fault
    assert 5 * kept < given_back
