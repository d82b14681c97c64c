"""Runs `cutaway` on a local Ray cluster of two workers, one of which dies if it is asked to."""

import json
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
sys.path.insert(0, SOURCE)
os.environ["PYTHONPATH"] = SOURCE  # the workers of the cluster inherit it
os.environ.update(RAY_worker_niceness="0")  # or they wait for everything else on a busy machine

from cutaway.cli import data_shards, main, translate_shards  # noqa: E402
from cutaway.cli.on_ray import run_on_ray  # noqa: E402

WORK: dict[str, tuple[Any, str]] = {
    "translate": (translate_shards, "ShardTranslator"),
    "clean": (data_shards, "Judge"),
    "encode": (data_shards, "Encoder"),
}


def slow_and_mortal(kind: type[Any], seconds: float, deadly: int, mark: str) -> type[Any]:
    """Work that takes its time, and once kills its own process when given a certain shard."""

    class Mortal(kind):  # type: ignore[misc]
        def __call__(self, shard: Any) -> Any:
            time.sleep(seconds)
            if shard.number == deadly and not os.path.exists(mark):
                Path(mark).write_text(str(os.getpid()), encoding="ascii")
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(shard)

    return Mortal


def run(request: dict[str, Any]) -> None:
    """The command of the request, with shards of its size and work of its kind."""
    for module in (data_shards, translate_shards):
        module.LINES = request["lines"]  # type: ignore[attr-defined]
        module.run_on_ray = partial(run_on_ray, workers=2)  # type: ignore[attr-defined]
    module, name = WORK[request["work"]]
    kind = getattr(module, name)
    setattr(
        module,
        name,
        slow_and_mortal(kind, request["seconds"], request["deadly"], request["mark"]),
    )
    sys.argv = ["cutaway", *request["arguments"]]
    main.main()


if __name__ == "__main__":
    run(json.load(sys.stdin))
