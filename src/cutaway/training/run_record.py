"""A run folder as `replay.py` reads it: saved states, log and speed."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cutaway.artifact.files import damage
from cutaway.artifact.places import run_folder
from cutaway.config import RunConfig
from cutaway.errors import ConfigError, InputError, ModelFolderError, TrainingError
from cutaway.training.checkpoint import saved, update_of
from cutaway.training.environment import choose_device
from cutaway.training.history import FILE, History, Leg, read_history
from cutaway.training.identity import changes
from cutaway.training.journal import log_lines

PATHS = ("source", "target", "data", "store", "val_source", "val_target", "val_data")
SOURCE_PATHS = ("path", "target", "val")
# Settings that decide what is kept and when the run stops, and no bit of a weight.
KEEPING = {"average", "validate_every", "stop_on", "validation_beam", "patience"}


@dataclass(frozen=True)
class Plan:
    """From which state an update is replayed."""

    update: int
    start: int  # the state after this update is there; 0: the beginning
    source: str  # "memory", "checkpoint", "state" or "beginning"
    path: Path | None  # of the checkpoint or state
    distance: int  # updates to replay before the one wanted
    seconds: float | None  # estimated from the run's speed, where that is known

    def __str__(self) -> str:
        where = {"beginning": "the beginning", "memory": f"update {self.start}, still in memory"}
        begins = where.get(self.source, f"the {self.source} after update {self.start}")
        if not self.distance:
            return f"update {self.update} follows {begins}"
        if self.seconds is None:
            time = ""
        elif self.seconds < 90:
            time = f", about {max(1, round(self.seconds))} s"
        else:
            time = f", about {round(self.seconds / 60)} min"
        noun = "update" if self.distance == 1 else "updates"
        return (
            f"update {self.update}: going on from {begins}, {self.distance:,} {noun} to make "
            f"again{time}"
        )


@dataclass
class RunRecord:
    """What one run left on disk."""

    work: Path
    history: History
    losses: dict[int, dict[str, Any]]  # lines of the log with a loss, by update
    damaged: set[Path] = field(default_factory=set)  # states that must not be used

    @classmethod
    def open(cls, path: Path) -> "RunRecord":
        """The run of a model folder, or the run folder itself."""
        path = Path(path)
        work = (
            path if (path / FILE).is_file() else run_folder(path if path.name else path.resolve())
        )
        if not work.is_dir():
            raise ModelFolderError(
                f"{path} has no run: {work.name} is not next to it; only a run whose folder is "
                f"still there can be replayed",
                zh=f"{path} 旁没有 {work.name}；训练文件夹还在的训练才能重演",
            )
        lines = log_lines(work / "log.jsonl")
        losses = {int(line["update"]): line for line in lines if "loss" in line}
        return cls(work, read_history(work), losses)

    @property
    def last(self) -> int:
        """The last update the run is known to have made."""
        return max([0, *self.losses, *(update_of(path) for path in self.kept())])

    def kept(self) -> list[Path]:
        """Checkpoints and states, by update."""
        found = {
            update_of(path): path
            for folder in ("states", "checkpoints")
            for path in saved(self.work / folder)
            if path not in self.damaged
        }
        return [found[update] for update in sorted(found)]

    def plan(self, update: int, here: int | None) -> Plan:
        """The nearest start before an update; `here`: where a trainer in memory is."""
        if not 1 <= update <= self.last:
            whole = f"1 to {self.last:,}" if self.last else "none yet"
            raise InputError(
                f"update {update:,} is not one of this run; it has made updates: {whole}",
                zh=f"此训练没有第 {update} 次更新；已做的更新：{whole}",
            )
        paths = [path for path in self.kept() if update_of(path) < update]
        path = paths[-1] if paths else None
        start, source = 0, "beginning"
        if path is not None:
            start = update_of(path)
            source = "state" if path.parent.name == "states" else "checkpoint"
        same_leg = here is not None and self.history.at(here) is self.history.at(start)
        if here is not None and start <= here < update and (here > start or same_leg):
            start, source, path = here, "memory", None
        distance = update - 1 - start
        speed = self._seconds_per_update()
        return Plan(update, start, source, path, distance, speed and distance * speed)

    def sound(self, plan: Plan) -> bool:
        """Whether the state a plan begins with is as it was written; a damaged one is noted."""
        if plan.path is None or not damage(plan.path):
            return True
        self.damaged.add(plan.path)
        return False

    def leg(self, plan: Plan) -> Leg:
        """The settings and data of all updates of a plan; refused where they changed on the way."""
        leg = self.history.at(plan.start)
        for other in self.history.legs:
            if not plan.start < other.update < plan.update:
                continue
            serious, _ = changes(leg.identity, other.identity)
            if leg.identity["batches_an_update"] != other.identity["batches_an_update"]:
                serious.append("batches_an_update")
            serious = [line for line in serious if not _irrelevant(line)]
            if serious:
                raise TrainingError(
                    f"cannot replay update {plan.update}: the run was changed after update "
                    f"{other.update} ({serious[0]}), and no state was kept after that"
                )
        return leg

    def _seconds_per_update(self) -> float | None:
        """The speed of the run, validations included, by the times of its saves."""
        path = self.work / "timing.jsonl"
        if not path.is_file():
            return None
        seconds, updates = 0.0, 0
        before: dict[str, Any] = {}
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            if "update" in line and "update" in before and line["event"] != "resumed":
                seconds += line["time"] - before["time"]
                updates += line["update"] - before["update"]
            before = line
        return seconds / updates if updates > 0 else None


def _irrelevant(line: str) -> bool:
    """Whether a change affects no update: validation settings, and what is saved."""
    name = line.partition(":")[0]
    return name.startswith("data.validation") or name.rpartition(".")[2] in KEEPING


def replayable(leg: Leg, directory: Path) -> RunConfig:
    """The settings of a run for one process of this machine."""
    config = RunConfig.from_tables(leg.identity["settings"])
    found: dict[str, Any] = {name: _placed(getattr(config.data, name), directory) for name in PATHS}
    found["sources"] = tuple(
        {
            name: _placed(value, directory) if name in SOURCE_PATHS else value
            for name, value in source.items()
        }
        for source in config.data.sources
    )
    settings = config.train
    device = settings.device
    try:
        choose_device(settings)
    except ConfigError:
        device = "cpu"
    shape = leg.identity["shape"]
    if settings.compile and (shape["dropout"] or shape["activation_dropout"]):
        raise TrainingError(
            "cannot replay: the run was compiled, and dropout drawn inside compiled code cannot "
            "be drawn again outside it; a run without --compile can be replayed"
        )
    train = replace(
        settings,
        parts=int(leg.identity["parts"]),
        accumulate=int(leg.identity["batches_an_update"]) // int(leg.identity["parts"]),
        start_from=_placed(settings.start_from, directory),
        device=device,
        compile=False,
        tensorboard=False,
    )
    return replace(config, data=replace(config.data, **found), train=train)


def _placed(path: str, directory: Path) -> str:
    """A path of the settings, seen from where the run was started."""
    if not path or Path(path).is_absolute() or not (directory / path).exists():
        return path
    return str(directory / path)
