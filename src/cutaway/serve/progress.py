"""The state of a training run, read from its log and never from the run itself."""

import time
from pathlib import Path
from typing import Any

from cutaway.artifact.places import ended, run_folder, snapshot_folder, teachers_folder
from cutaway.artifact.snapshots import read_index
from cutaway.training.journal import log_lines

QUIET = 600.0  # seconds without a new line after which a run is taken to have ended


class Progress:
    """The log of one run, read again at every request; the training is not disturbed.

    `under_way` says that a run of the folder is in progress, though nothing may be on disk yet.
    """

    def __init__(self, folder: Path | None, *, under_way: bool = False) -> None:
        self.folder = folder
        self.run = run_folder(folder) if folder is not None else None
        self.under_way = under_way

    def exists(self) -> bool:
        """Whether there is a log, or a run that will write one."""
        return self.under_way or self._log() is not None

    def running(self) -> bool:
        """Whether the run has not ended and, unless known, has logged a line recently."""
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
        lines = log_lines(log) if log is not None else []
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
                if outputs.get(source) != output:  # unchanged: leave it out
                    samples.append(
                        {"step": step, "source": source, "reference": reference, "output": output}
                    )
                outputs[source] = output
        return {
            "running": self.running(),
            "teacher": self._teacher(),
            "step": step,
            "curves": {name: points for name, points in curves.items() if points},
            "samples": samples,
            "snapshots": snapshots(self.folder),
        }

    def _log(self) -> Path | None:
        """The run's log, before it begins the latest teacher's; without a run the folder's own."""
        for place in (self.run, *self._teachers(), self.folder):
            if place is not None and (place / "log.jsonl").is_file():
                return place / "log.jsonl"
        return None

    def _teachers(self) -> list[Path]:
        """Runs of the models that teach this one, the latest first; none once it learns itself."""
        if self.folder is None or self.run is None or (self.run / "run.json").is_file():
            return []
        logs = teachers_folder(self.folder).glob("*.run/log.jsonl")
        return [log.parent for log in sorted(logs, key=lambda log: -log.stat().st_mtime)]

    def _teacher(self) -> str:
        """The name of the teacher whose log is read, empty if it is the run's own."""
        teachers = self._teachers()
        return teachers[0].stem if teachers else ""


def snapshots(folder: Path | None) -> list[dict[str, Any]]:
    """The snapshots of a model folder, oldest first, as the page names them."""
    place = snapshot_folder(folder)
    entries = read_index(place) if place is not None else []
    return [{"name": str(entry["update"]), "step": entry["update"]} for entry in entries]
