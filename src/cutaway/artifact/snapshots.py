"""Snapshots: the weights at moments through training, small enough to scrub through later.

snapshots/index.json           {"format": 1, "snapshots": [{"update", "epoch", "file", "sha256",
                               "loss", …}, …]}, in the order of updates
snapshots/update-00000120.safetensors   float16, names as in model.safetensors

A snapshot holds weights alone: shape and tokenizer are those of the model folder around it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from cutaway.artifact.files import sha256, write_json
from cutaway.errors import ModelFolderError
from cutaway.system.files import flush, replace, usual_permissions

INDEX = "index.json"


def snapshot_updates(updates: int, count: int) -> list[int]:
    """Which updates are kept: the first and the last, and denser early, where most is learnt.

    update_i = round(updates · (i / (count − 1))²)
    """
    if count <= 0:
        return []
    if count == 1:
        return [updates]
    return sorted({round(updates * (i / (count - 1)) ** 2) for i in range(count)})


def write_snapshot(
    folder: Path, update: int, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]
) -> Path:
    """Add one snapshot and its line in the index, each in one step; later ones are forgotten."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"update-{update:08d}.safetensors"
    staging = folder / f".{path.name}"
    half = {
        name: tensor.detach().to("cpu", torch.float16).contiguous()
        for name, tensor in tensors.items()
    }
    save_file(half, staging)
    usual_permissions(staging)
    flush(staging)
    replace(staging, path)
    entries = [entry for entry in read_index(folder) if entry["update"] < update]
    entries.append({"update": update, "file": path.name, "sha256": sha256(path), **facts})
    _write_index(folder, entries)
    return path


def forget_after(folder: Path, update: int) -> None:
    """Drop snapshots later than an update: a resumed run will make them again."""
    entries = read_index(folder)
    kept = [entry for entry in entries if entry["update"] <= update]
    if kept != entries:
        _write_index(folder, kept)


def read_index(folder: Path) -> list[dict[str, Any]]:
    """The snapshots of a `snapshots` folder, by update; none where there is no index."""
    try:
        entries = json.loads((folder / INDEX).read_text(encoding="utf-8"))["snapshots"]
        return [dict(entry) for entry in entries]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFolderError(f"{folder / INDEX} cannot be read ({error}); delete it") from None


def read_snapshot(folder: Path, update: int) -> dict[str, Tensor]:
    """The weights of one snapshot in float32, verified against the index."""
    for entry in read_index(folder):
        if entry["update"] == update:
            path = folder / str(entry["file"])
            try:
                if sha256(path) != entry["sha256"]:
                    raise ModelFolderError(
                        f"{path} differs from its SHA-256 in {INDEX}; it was altered: delete it"
                    )
                return {name: tensor.float() for name, tensor in load_file(path).items()}
            except (OSError, SafetensorError) as error:
                raise ModelFolderError(f"{path} cannot be read ({error})") from None
    known = ", ".join(str(entry["update"]) for entry in read_index(folder)) or "none"
    raise ModelFolderError(
        f"{folder} has no snapshot of update {update}; it has: {known}",
        zh=f"{folder} 没有第 {update} 次更新的快照；现有：{known}",
    )


def _write_index(folder: Path, entries: list[dict[str, Any]]) -> None:
    staging = folder / f".{INDEX}"
    write_json(staging, {"format": 1, "snapshots": entries})
    flush(staging)
    replace(staging, folder / INDEX)
