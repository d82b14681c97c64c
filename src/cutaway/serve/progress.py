"""What a training run has told so far: read from its log, never from the run itself."""

import json
import time
from pathlib import Path
from typing import Any

from cutaway.train.places import ended, run_folder
from cutaway.train.snapshots import read_index

QUIET = 600.0  # seconds without a new line after which a run is taken to have ended


class Progress:
    """The log of one run, read anew at every look; the training never notices.

    `under_way` says that a run of the folder is at work, though nothing may be on disk yet.
    """

    def __init__(self, folder: Path | None, *, under_way: bool = False) -> None:
        self.folder = folder
        self.run = run_folder(folder) if folder is not None else None
        self.under_way = under_way

    def exists(self) -> bool:
        """Whether there is anything to show, now or soon."""
        return self.under_way or self._log() is not None

    def running(self) -> bool:
        """Whether the run has not come to its end and, unless known, spoke not long ago."""
        if self.folder is None or self.run is None:
            return False
        if self.under_way:
            return not ((self.run / "timing.jsonl").is_file() and ended(self.folder))
        log = self._log()
        if log is None or ended(self.folder):
            return False
        return time.time() - log.stat().st_mtime < QUIET

    def read(self) -> dict[str, Any]:
        """Curves, samples and snapshots."""
        log = self._log()
        lines = _lines(log) if log is not None else []
        curves: dict[str, list[tuple[int, float]]] = {"train": [], "valid": [], "bleu": []}
        samples: list[dict[str, Any]] = []
        outputs: dict[str, str] = {}  # the last of each source
        step = 0
        for line in lines:
            step = int(line.get("update", step))
            for name, key in (("train", "loss"), ("valid", "valid_loss"), ("bleu", "valid_bleu")):
                if isinstance(line.get(key), (int, float)):
                    curves[name].append((step, line[key]))
            for source, reference, output in line.get("samples", ()):
                if outputs.get(source) != output:  # nothing new is nothing to show
                    samples.append(
                        {"step": step, "source": source, "reference": reference, "output": output}
                    )
                outputs[source] = output
        return {
            "running": self.running(),
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
