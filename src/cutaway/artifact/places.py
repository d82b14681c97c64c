"""Where a run keeps its files, and whether `--out` may be written."""

import json
from pathlib import Path

from cutaway.artifact.files import damage
from cutaway.errors import ModelFolderError


def run_folder(out: Path) -> Path:
    """The folder next to a model folder where its run keeps checkpoints and log."""
    return out.with_name(out.name + ".run")


def teachers_folder(out: Path) -> Path:
    """The folder in it where data diversification keeps its teachers and their translations."""
    return run_folder(out) / "diversify"


def snapshot_folder(out: Path | None) -> Path | None:
    """Where a model's snapshots are: its run has them first, its folder from the next validation.

    None where there are none.
    """
    places = () if out is None else (run_folder(out) / "snapshots", out / "snapshots")
    return next((place for place in places if (place / "index.json").is_file()), None)


def finished(out: Path) -> bool:
    """Whether this model folder is undamaged and its run has ended."""
    return (out / "config.json").is_file() and ended(out) and not damage(out)


def ended(out: Path) -> bool:
    """Whether the run of a model folder has ended, or its folder is gone."""
    timing = run_folder(out) / "timing.jsonl"
    if not timing.is_file():
        return True  # a model that came without its run
    lines = timing.read_text(encoding="utf-8").splitlines()
    return bool(lines) and json.loads(lines[-1]).get("event") == "finished"


def refuse_foreign(out: Path, work: Path) -> None:
    """Never write over a folder that is not ours, nor over a model whose run is gone."""
    if not out.name:
        raise ModelFolderError(f"--out is {str(out)!r}; give a folder of its own for the model")
    if out.exists() and not out.is_dir():
        raise ModelFolderError(f"{out} is a file; choose another --out")
    if out.is_dir() and any(out.iterdir()):
        if not (out / "config.json").is_file() or not (out / "manifest.json").is_file():
            raise ModelFolderError(
                f"{out} holds files that are no model; choose a new folder for --out"
            )
        if not work.is_dir():
            raise ModelFolderError(
                f"{out} already holds a model, and {work.name} with its run is gone; choose "
                f"another --out, or use --from {out} to train it further"
            )
