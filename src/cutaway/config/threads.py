"""How the threads of one computation wait for each other."""

import os
import sys

OWN = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")  # what a user may have set


def sleep_while_waiting() -> None:
    """Let threads sleep while they wait for each other, unless the user has chosen otherwise.

    By default they spin, at every operation. Next to one busy process, training on two cores fell
    from 5,641 to 1,151 target tokens per second with spinning threads and to 3,532 with sleeping
    ones; idle, sleeping gave 5,301 (one measurement on one machine; bench/busy_speed.py repeats
    it). The library of threads reads this once, when torch is loaded.
    """
    if "torch" not in sys.modules and not any(name in os.environ for name in OWN):
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
