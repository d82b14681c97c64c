"""What a training run has told so far: read from its log, never from the run itself."""

import json
import time
from pathlib import Path
from typing import Any

from cutaway.train.run import ended
from cutaway.train.snapshots import read_index

QUIET = 120.0  # seconds without a new line after which a run is taken to have ended


class Progress:
    """The log of one run, read anew at every look; the training never notices."""

    def __init__(self, folder: Path | None, run: Path | None = None) -> None:
        self.folder = folder
        self.run = run or (Path(f"{folder}.run") if folder is not None else None)

    def exists(self) -> bool:
        """Whether there is anything to show."""
        return self._log() is not None

    def read(self) -> dict[str, Any]:
        """Curves, samples and snapshots."""
        log = self._log()
        lines = _lines(log) if log is not None else []
        curves: dict[str, list[tuple[int, float]]] = {"train": [], "valid": []}
        samples: list[dict[str, Any]] = []
        step = 0
        for line in lines:
            step = int(line.get("update", step))
            if isinstance(line.get("loss"), (int, float)):
                curves["train"].append((step, line["loss"]))
            scores = line.get("metrics", line)
            if isinstance(scores.get("valid_loss", scores.get("val_loss")), (int, float)):
                curves["valid"].append((step, scores.get("valid_loss", scores.get("val_loss"))))
            for sample in line.get("samples", ()):
                source, reference, output = sample
                samples.append(
                    {"step": step, "source": source, "reference": reference, "output": output}
                )
        quiet = time.time() - log.stat().st_mtime if log is not None else QUIET
        done = self.folder is not None and ended(self.folder)
        return {
            "running": not done and quiet < QUIET,
            "step": step,
            "curves": {name: points for name, points in curves.items() if points},
            "samples": samples,
            "snapshots": self._snapshots(),
        }

    def _log(self) -> Path | None:
        for place in (self.run, self.folder):
            if place is not None and (place / "log.jsonl").is_file():
                return place / "log.jsonl"
        return None

    def _snapshots(self) -> list[dict[str, Any]]:
        for place in (self.run, self.folder):
            if place is not None and (entries := read_index(place / "snapshots")):
                return [
                    {"name": str(entry["update"]), "step": entry["update"]} for entry in entries
                ]
        return []


def _named(entry: dict[str, Any]) -> dict[str, Any]:
    return {"name": str(entry["update"]), "step": entry["update"]}


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log that may be growing."""
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
