"""Write an export whole or not at all, and never over something that is no export."""

import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cutaway.artifact.files import MANIFEST, whole_folder
from cutaway.errors import ExportError
from cutaway.system.files import flush, replace, usual_permissions


@contextmanager
def export_folder(out: Path) -> Iterator[Path]:
    """A new folder to fill, which becomes `out` in one step; an earlier export is replaced."""
    refuse_folder(out)
    try:
        with whole_folder(out) as new:
            yield new
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror or error}") from None


def refuse_folder(out: Path) -> None:
    """Refuse a folder that is no earlier export; checked before any work."""
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise ExportError(f"{out} exists and holds no earlier export; choose another --out")
    if out.exists() and not out.is_dir():
        raise ExportError(f"{out} is a file; choose a folder for --out")
    if (out / "model.safetensors").is_file() and (out / "generation.json").is_file():
        raise ExportError(f"{out} is a model folder; choose another --out")


@contextmanager
def export_file(out: Path, *, ours: Callable[[Path], bool], force: bool = False) -> Iterator[Path]:
    """A scratch folder; the file made in it under the name of `out` takes its place in one step."""
    refuse_file(out, ours=ours, force=force)
    out = Path(os.path.realpath(out))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
        try:
            yield scratch
            made = scratch / out.name
            usual_permissions(made)
            flush(made)
            replace(made, out)
            flush(out.parent)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror or error}") from None


def refuse_file(out: Path, *, ours: Callable[[Path], bool], force: bool = False) -> None:
    """Refuse to write over what is no earlier export; checked before any work."""
    if out.is_dir():
        raise ExportError(f"{out} is a folder; choose a file name for --out")
    if out.exists() and not out.is_file():
        raise ExportError(f"{out} is no regular file; choose a file name for --out")
    if out.exists() and not force and not ours(out):
        raise ExportError(
            f"{out} exists and is no earlier export; choose another --out, or --force to replace it"
        )


def extra(module: str, name: str) -> Any:
    """An optional package, or one line that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ExportError(
            f"{module.partition('.')[0]} is not installed; run: pip install 'cutaway[{name}]'"
        ) from None
