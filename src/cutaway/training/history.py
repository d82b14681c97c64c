"""run.json: the settings a run started with, and what changed when it was resumed.

{"format": 1, "directory": …, "legs": [{"update": 0, "updates": …, "identity": …,
"environment": …, "start": …}, …]}

A leg holds for the updates after `update`, until the next leg. `directory` is where relative paths
of the settings begin; `start` is the SHA-256 of the weights of the model started from.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cutaway.artifact.files import sha256, write_json
from cutaway.errors import CheckpointError

FILE, FORMAT = "run.json", 1


@dataclass(frozen=True)
class Leg:
    """A stretch of a run with the same settings, data and machine."""

    update: int  # the stretch begins after this update
    updates: int  # the run's length
    identity: dict[str, Any]
    environment: dict[str, Any]
    start: str = ""  # SHA-256 of the weights of the model started from


@dataclass(frozen=True)
class History:
    """All stretches of a run, in order."""

    directory: str
    legs: list[Leg]

    def at(self, update: int) -> Leg:
        """The stretch in which the update after `update` is made."""
        return next(leg for leg in reversed(self.legs) if leg.update <= update)


def begin_history(work: Path, leg: Leg) -> None:
    """Write down what a run starts with."""
    _write(work, History(str(Path.cwd()), [leg]))


def continue_history(work: Path, leg: Leg) -> None:
    """Add a leg where a run is resumed, if anything has changed."""
    history = read_history(work)
    kept = [old for old in history.legs if old.update <= leg.update]
    last = kept[-1]
    same = (last.identity, last.environment, last.updates) == _plain(
        (leg.identity, leg.environment, leg.updates)
    )
    if not same:
        kept = [*(old for old in kept if old.update < leg.update), leg]
    _write(work, History(history.directory, kept))


def read_history(work: Path) -> History:
    """The history of a run folder."""
    try:
        values = json.loads((work / FILE).read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise CheckpointError(f"{work / FILE} has format {values['format']!r}; expected 1")
        return History(values["directory"], [Leg(**leg) for leg in values["legs"]])
    except FileNotFoundError:
        raise CheckpointError(
            f"{work} has no {FILE}, which says what the run started with; give the folder of a "
            f"run that this version of cutaway made"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{work / FILE} cannot be read ({error})") from None


def start_hash(start_from: str) -> str:
    """SHA-256 of the weights that a run starts from; empty if it starts from none."""
    return sha256(Path(start_from) / "model.safetensors") if start_from else ""


def _plain(values: Any) -> Any:
    """Values as they come back from JSON."""
    return tuple(json.loads(json.dumps(values)))


def _write(work: Path, history: History) -> None:
    write_json(work / FILE, {"format": FORMAT, **asdict(history)})
