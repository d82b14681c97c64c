"""Events of a training run, passed to its `watch` function as they happen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cutaway.artifact.folder import ModelFolder


@dataclass(frozen=True)
class Scores:
    """What validation by decoding found: metrics by name, their signatures, and the outputs."""

    metrics: dict[str, float]  # "bleu", "chrf", "exact", …
    outputs: Sequence[str] = ()
    signatures: dict[str, str] = field(default_factory=dict)


class Validate(Protocol):
    """Decodes the sources with a model and scores them, exactly as `evaluate` does."""

    def __call__(
        self, folder: ModelFolder, sources: Sequence[str], targets: Sequence[str]
    ) -> Scores: ...


@dataclass(frozen=True)
class Note:
    """A message for the user."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Started:
    """The run begins, or goes on after `update` updates."""

    update: int
    updates: int
    epochs: float
    parameters: dict[str, int]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Updated:
    """Some updates are done."""

    update: int
    epoch: int
    share: float  # of the epoch that is done
    loss: float  # per token, over the updates since the last event
    rate: float
    norm: float
    tokens_per_second: float
    seconds_left: float


@dataclass(frozen=True)
class Validated:
    """The weights have been scored on the validation data."""

    update: int
    metrics: dict[str, float]
    best: bool
    samples: Sequence[tuple[str, str, str]]  # source, reference, output


@dataclass(frozen=True)
class Sampled:
    """A few validation sentences have been translated, between two validations."""

    update: int
    samples: Sequence[tuple[str, str, str]]  # source, reference, output


@dataclass(frozen=True)
class Saved:
    """A checkpoint or a snapshot is on disk."""

    update: int
    kind: str  # "checkpoint", "snapshot" or "model"
    path: str


Event = Note | Started | Updated | Validated | Sampled | Saved
Watch = Callable[[Event], None]
