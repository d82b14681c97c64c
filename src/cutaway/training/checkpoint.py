"""Checkpoints: one folder each, whole or not there, verified before they are trusted.

checkpoints/update-00001200/
    weights.safetensors    the parameters
    optimizer.safetensors  Adam's running means
    *.safetensors          the moving average, the best weights so far, weights to be averaged
    state.json             where in the data, what was best, settings, environment, log's length
    manifest.json          size and SHA-256 of the others

With train.keep_states, the folder `states/` next to `checkpoints/` holds further ones, without best
and averaged weights: an update is replayed from the nearest of all.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from cutaway.artifact.files import damage, whole_folder, write_json
from cutaway.errors import CheckpointError
from cutaway.system.files import exchange

FORMAT = 1
PREFIX = "update-"
KEPT = 2  # the last one, and the one before in case the last is damaged later


@dataclass
class Checkpoint:
    """A verified checkpoint in memory."""

    path: Path
    state: dict[str, Any]
    groups: dict[str, dict[str, Tensor]]


def save_checkpoint(
    folder: Path,
    update: int,
    state: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, Tensor]],
    *,
    last: int | None = KEPT,
) -> Path:
    """Write the checkpoint of one update, then remove all but the last so many; None: none."""
    path = folder / f"{PREFIX}{update:08d}"
    try:
        with whole_folder(path) as new:
            for group, tensors in groups.items():
                plain = {
                    name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()
                }
                save_file(plain, new / f"{group}.safetensors")
            write_json(new / "state.json", {"format": FORMAT, **state})
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CheckpointError(
            f"cannot write {path}: {reason}; the checkpoints before it are untouched: free space, "
            f"then run the same command again"
        ) from None
    if last is not None:
        _prune(folder, last)
    return path


def load_checkpoint(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is as it was written, and what is wrong with newer ones.

    None where there has never been one; when every one is damaged, a CheckpointError.
    """
    problems: list[str] = []
    for path in reversed(saved(folder)):
        problem = damage(path)
        if problem is None:
            return read_checkpoint(path), problems
        problems.append(f"{path.name}: {problem}")
    if problems:
        raise CheckpointError(
            f"no checkpoint in {folder} can be trusted ({'; '.join(problems)}); restore one from "
            f"a copy, or delete {folder} to begin again"
        )
    return None, problems


def set_aside(folder: Path, after: int) -> None:
    """Rename damaged checkpoints later than an update, so that none is loaded again."""
    for path in saved(folder):
        if update_of(path) > after:
            exchange(path, path.with_name(f"damaged-{path.name}"))


def saved(folder: Path) -> list[Path]:
    """The checkpoint folders, oldest first."""
    return sorted(path for path in folder.glob(f"{PREFIX}*") if path.is_dir())


def update_of(path: Path) -> int:
    """The update after which a checkpoint was written."""
    return int(path.name.removeprefix(PREFIX))


def forget_states(folder: Path, after: int) -> None:
    """Remove states later than an update: a resumed run will make them again."""
    for path in saved(folder):
        if update_of(path) > after:
            shutil.rmtree(path, ignore_errors=True)


def _prune(folder: Path, last: int) -> None:
    """Remove old checkpoints, damaged ones set aside, and what an interrupted save left behind."""
    for path in saved(folder)[:-last]:
        shutil.rmtree(path, ignore_errors=True)
    for pattern in (f".{PREFIX}*", "damaged-*"):
        for path in folder.glob(pattern):
            shutil.rmtree(path, ignore_errors=True)


def read_checkpoint(path: Path) -> Checkpoint:
    """A checkpoint that was found whole."""
    try:
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
        if state.get("format") != FORMAT:
            raise CheckpointError(
                f"{path} has format {state.get('format')!r}; this version reads {FORMAT}: use the "
                f"version that wrote it, or another --out"
            )
        groups = {file.stem: load_file(file) for file in sorted(path.glob("*.safetensors"))}
        return Checkpoint(path, state, groups)
    except (OSError, ValueError, SafetensorError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}); delete it to resume from the one before"
        ) from None
