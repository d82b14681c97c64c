"""What every contestant does: answer "run" with one JSON line, whatever is measured."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def serve(work: Callable[[], float], facts: Callable[[], dict[str, Any]] = dict) -> None:
    """Do `work`, which returns its amount, whenever asked."""
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        amount = work()
        seconds = time.perf_counter() - begun
        print(json.dumps({"amount": amount, "seconds": seconds, **facts()}), flush=True)
