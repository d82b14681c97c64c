"""Files that are whole or absent: written under another name, flushed, hashed, then renamed."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any

from cutaway.system.files import exchange, flush, usual_permissions

MANIFEST = "manifest.json"
EDITABLE = frozenset({"README.md", "generation.json"})  # the user's to change: not in a manifest
LARGEST_MANIFEST = 16 * 2**20  # bytes


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Plain values as JSON, two spaces deep, other scripts left readable."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_manifest(folder: Path) -> None:
    """List size and SHA-256 of every file of a folder, so that a flipped bit is found later."""
    files = {
        path.relative_to(folder).as_posix(): {"size": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {MANIFEST, *EDITABLE}
    }
    write_json(folder / MANIFEST, {"files": files, "sha256": _digest(files)})


def _digest(files: dict[str, Any]) -> str:
    """SHA-256 of a manifest's list, so that damage to the manifest itself is detected as such."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def damage(folder: Path) -> str | None:
    """What is wrong with a folder by its own manifest, or None if it is undamaged."""
    try:
        if (folder / MANIFEST).stat().st_size > LARGEST_MANIFEST:
            return f"{MANIFEST} is too large"
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = manifest["files"]
        if manifest["sha256"] != _digest(files):
            return f"{MANIFEST} is damaged"
        expected = {name: (entry["size"], entry["sha256"]) for name, entry in files.items()}
    except FileNotFoundError:
        return f"{MANIFEST} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{MANIFEST} is damaged"
    for name, (size, digest) in expected.items():
        if not inside(name):
            return f"{MANIFEST} names {name[:80]!r}, which is no file of this folder"
        path = folder / name
        if path.name in EDITABLE:
            continue
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes where its manifest says {size}"
        if sha256(path) != digest:
            return f"{name} differs from its SHA-256 in the manifest"
    return None


def inside(name: str) -> bool:
    """Whether a name from a manifest is that of a file in its folder: relative, without `..`."""
    parts = PurePosixPath(name)
    return bool(parts.parts) and not parts.is_absolute() and ".." not in parts.parts


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill, which replaces `path` in one step, with a manifest, or not at all.

    The old folder stays until the new one is on disk; a crash leaves one of the two, whole.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{path.name}.new-", dir=path.parent))
    try:
        yield staging
        for file in (staging, *staging.rglob("*")):  # safetensors and mkdtemp make things private
            usual_permissions(file)
        write_manifest(staging)
        for file in staging.rglob("*"):
            flush(file)
        flush(staging)
        exchange(staging, path)
        flush(path.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def sweep(path: Path) -> None:
    """Remove what a killed `whole_folder` left next to a path, if the path itself exists."""
    path = Path(os.path.realpath(path))
    if path.exists():
        for left in path.parent.glob(f".{escape(path.name)}.new-*"):
            shutil.rmtree(left, ignore_errors=True)
