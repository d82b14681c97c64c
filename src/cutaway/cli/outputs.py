"""Where a command writes: checked before any work; whole files; nothing replaced that is not ours.

A file that exists is refused unless `--force` is given or it is a report of this package. Symbolic
links are followed. A device, a pipe or a terminal is written through.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from cutaway.errors import InputError
from cutaway.system.files import flush, replace

Force = Annotated[bool, typer.Option("--force", help="Replace a file that already exists.")]


def check_file(
    path: Path,
    option: str,
    *,
    force: bool = False,
    ours: Callable[[Path], bool] = lambda path: False,
) -> None:
    """Refuse an output file that cannot be written, or that would replace somebody's file."""
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file")
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {parent}; make it first")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise InputError(f"{option} {path} cannot be written; give another name")
        if path.is_file() and path.stat().st_size and not force and not ours(path):
            raise InputError(
                f"{option} {path} already exists; give another name, or --force to replace it"
            )
    elif not os.access(parent, os.W_OK):
        raise InputError(f"{option} {path}: the folder {parent} cannot be written; give another")


def check_folder(path: Path, option: str, *, ours: Callable[[Path], bool]) -> None:
    """Refuse an output folder that is a file, or that holds something else than ours."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{option} {path} is a file; give a folder")
    if path.is_dir() and any(path.iterdir()) and not ours(path):
        raise InputError(f"{option} {path} holds other files; give a new folder")


def is_report(path: Path) -> bool:
    """Whether a file is an HTML page that this package wrote."""
    from cutaway.report import GENERATOR

    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(1024)


def is_stream(path: Path) -> bool:
    """Whether a path is a device, pipe or terminal, which can only be written through."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A file to write: it gets its name when it is whole; what is no regular file is opened."""
    try:
        if is_stream(path):
            with path.open("wb") as file:
                yield file
            return
        place = Path(os.path.realpath(path))
        fresh = place.with_name(place.name + ".partial")
        try:
            with fresh.open("wb") as file:
                yield file
            if place.exists():
                fresh.chmod(place.stat().st_mode & 0o777)
            flush(fresh)
            replace(fresh, place)
        finally:
            with suppress(OSError):
                fresh.unlink()
    except OSError as error:
        if error.filename is None:  # a full disk does not say which
            error.filename = str(path)
        raise


def backup(path: Path) -> Path:
    """Copy a file to NAME~, NAME~2, … and return the copy; an earlier one is never replaced."""
    number = 1
    data = path.read_bytes()
    while True:
        copy = path.with_name(f"{path.name}~{number if number > 1 else ''}")
        if not copy.exists():
            copy.write_bytes(data)
            copy.chmod(path.stat().st_mode & 0o777)
            return copy
        if copy.is_file() and copy.read_bytes() == data:
            return copy
        number += 1
