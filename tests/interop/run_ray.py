"""Translates a file on a local Ray cluster, with a worker that kills itself in the middle."""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
sys.path.insert(0, SOURCE)
os.environ["PYTHONPATH"] = SOURCE  # the workers of the cluster inherit it

from cutaway.cli import translate_shards  # noqa: E402


def main() -> None:
    """Answer with the output and what a second, resumed run had to do."""
    request = json.load(sys.stdin)
    source, output, mark = Path(request["source"]), Path(request["output"]), request["mark"]

    class Mortal(translate_shards.ShardTranslator):
        """Dies once, after it has begun the shard named in the request."""

        def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[int]]:
            if request["deadly"] in list(map(int, batch["number"])) and not os.path.exists(mark):
                with open(mark, "w") as file:
                    file.write(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    translate_shards.ShardTranslator = Mortal  # type: ignore[misc]
    folder = Path(request["folder"])
    settings = {"beam": 1, "costs": False}
    common: dict[str, Any] = {"address": "local", "workers": 2, "lines": request["lines"]}
    translate_shards.translate_on_ray(folder, source, output, settings, **common)
    answer = {
        "text": output.read_text(encoding="utf-8"),
        "died": os.path.exists(mark),
        "left": sorted(path.name for path in output.parent.iterdir()),
    }
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
