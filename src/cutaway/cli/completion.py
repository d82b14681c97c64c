"""What the shell offers when Tab is pressed: model folders, choices, lessons."""

import os
from collections.abc import Callable
from pathlib import Path

from cutaway.data import NAMES

MODEL = "manifest.json"  # the file by which a model folder is known


def choices(*words: str) -> Callable[[str], list[str]]:
    """A completion that offers some of these words."""

    def matching(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return matching


def model_folders(incomplete: str) -> list[str]:
    """Model folders, the models of the package, and folders that may hold some (with a slash)."""
    parent, start = os.path.split(incomplete)
    found = [] if parent else choices(*NAMES)(incomplete)
    try:
        entries = sorted(os.scandir(parent or "."), key=lambda entry: entry.name)
    except OSError:
        return found
    for entry in entries:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if entry.name.startswith(start) and not hidden and entry.is_dir():
            path = os.path.join(parent, entry.name)
            found.append(path if os.path.isfile(os.path.join(path, MODEL)) else path + os.sep)
    return found


def lesson_names(incomplete: str) -> list[str]:
    """The lessons, by the files of their words: the lessons themselves import torch."""
    return choices(*sorted({name for name, _ in _words()} - {"terminal"}))(incomplete)


def lesson_languages(incomplete: str) -> list[str]:
    """The languages the lessons are written in."""
    return choices(*sorted({language for _, language in _words()}))(incomplete)


def _words() -> list[tuple[str, str]]:
    """(lesson, language) of every file of words."""
    files = (Path(__file__).parent.parent / "lessons" / "text").glob("*.*.md")
    return [(name, language) for name, language, _ in (file.name.split(".") for file in files)]
