"""The mean of the weights of several model folders, or of snapshots of one, as one model."""

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path

import torch
from torch import Tensor

from cutaway.artifact.folder import ModelFolder, read_model_folder
from cutaway.artifact.snapshots import read_index, read_snapshot
from cutaway.errors import InputError


def average_folders(paths: Sequence[Path]) -> ModelFolder:
    """The model of the first folder with the mean of all folders' weights."""
    if len(paths) < 2:
        raise InputError("one folder has nothing to be averaged with; give several, or --last N")
    folders = [read_model_folder(path) for path in paths]
    for path, folder in zip(paths, folders, strict=True):
        _check(paths[0], folders[0], path, folder)
    return _with(folders[0], mean([folder.model.state_dict() for folder in folders]))


def average_snapshots(path: Path, last: int) -> ModelFolder:
    """The model of a folder with the mean of its last snapshots' weights."""
    folder = read_model_folder(path)
    index = read_index(path / "snapshots")
    if not 2 <= last <= len(index):
        raise InputError(
            f"--last is {last}; {path} has {len(index)} snapshots: expected 2 to {len(index)} "
            f"(train with --keep N to have N)"
        )
    states = [read_snapshot(path / "snapshots", entry["update"]) for entry in index[-last:]]
    return _with(folder, mean(states))


def mean(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each tensor, added up in float64, in float32."""
    return {
        name: torch.stack([state[name].double() for state in states]).mean(0).float()
        for name in states[0]
    }


def _with(folder: ModelFolder, weights: Mapping[str, Tensor]) -> ModelFolder:
    folder.model.load_state_dict({**folder.model.state_dict(), **weights})
    averaged = copy(folder)
    averaged.metrics, averaged.card = {}, ""  # those were of other weights
    return averaged


def _check(first: Path, ours: ModelFolder, path: Path, theirs: ModelFolder) -> None:
    """Refuse weights that do not belong to the same numbers."""
    shape, other = (folder.config.to_dict() for folder in (ours, theirs))
    free = {"dropout", "attention_dropout", "activation_dropout"}
    for name in shape.keys() - free:
        if shape[name] != other[name]:
            raise InputError(
                f"{path} has {name} {other[name]!r} and {first} {shape[name]!r}; expected models "
                f"of one shape: weights are averaged cell by cell"
            )
    for side in ("tokenizer", "target_tokenizer"):
        one, two = (getattr(folder, side) for folder in (ours, theirs))
        if (one and one.fingerprint) != (two and two.fingerprint):
            raise InputError(f"{path} has another {side} than {first}; expected the same one")
