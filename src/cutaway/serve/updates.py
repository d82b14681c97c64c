"""Updates of a model folder's run, replayed for the page; one is held at a time.

A replayed update can take gigabytes, so the previous one is dropped first.
"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.artifact.places import run_folder
from cutaway.errors import CutawayError, InputError
from cutaway.serve.runs import Recorded, Runs, key_of

if TYPE_CHECKING:
    from cutaway.training.replay import Replay

KIND = "update"


class Updates:
    """The updates of one run, replayed on demand."""

    def __init__(self, folder: Path | None, runs: Runs) -> None:
        self.folder = folder
        self.runs = runs
        self._replay: Replay | None = None

    def last(self) -> int:
        """The last update that can be shown; 0 where there is no run."""
        if self.folder is None or not (run_folder(self.folder) / "run.json").is_file():
            return 0
        from cutaway.training.run_record import RunRecord

        try:
            return RunRecord.open(self.folder).last
        except CutawayError:
            return 0

    def plan(self, update: int) -> dict[str, Any]:
        """How an update is reached: from which state, by how many updates, in how many seconds."""
        plan = asdict(self._opened().plan(update))
        del plan["path"]  # of this machine
        if self.runs.known(key_of(KIND, 0, {"update": update})):
            plan |= {"source": "recorded", "distance": 0}
        return plan

    def record(self, update: int) -> dict[str, Any]:
        """Replay an update and record it; the same one is answered from memory."""
        key = key_of(KIND, 0, {"update": update})
        run = self.runs.known(key) or self._made(key, update)
        return {**run.answer, "key": key}

    def _made(self, key: str, update: int) -> Recorded:
        self.runs.drop(KIND)
        found = self._opened().record(update)
        agreement = {**asdict(found.agreement), "exact": found.agreement.exact}
        answer = {
            **found.facts,
            "agreement": agreement,
            "drift": asdict(found.drift),
            "environment": found.environment,
            "bytes": found.bytes,
        }
        found.trace.meta["training"] = answer
        return self.runs.keep(key, KIND, found.trace, answer)

    def _opened(self) -> "Replay":
        """The run's present files: a run in progress has made further updates since."""
        if self.folder is None:
            raise InputError(
                "this page shows recorded runs; serve a model folder to see its updates",
                zh="本页显示记录好的运行；要看训练的更新，请打开一个模型文件夹",
            )
        from cutaway.training.replay import Replay
        from cutaway.training.run_record import RunRecord

        if self._replay is None:
            self._replay = Replay(self.folder)
        else:
            self._replay.run = RunRecord.open(self.folder)
        return self._replay
