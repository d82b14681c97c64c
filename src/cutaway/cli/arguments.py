"""Positional arguments that may begin with a model folder or leave it out.

`cutaway translate FOLDER "…"`, `cutaway translate "…"`, `cutaway translate FOLDER < file`: without
a folder the package's everyday model translates.
"""

import os
import stat
import sys
from pathlib import Path

from cutaway.data import NAMES, located, model_for
from cutaway.errors import InputError


def names_model(argument: str) -> bool:
    """Whether an argument names a model: of the package, or a folder that exists."""
    return argument in NAMES or os.path.isdir(argument)


def model_and_text(
    first: str | None, second: str | None, to: str | None
) -> tuple[Path, str | None, str | None]:
    """(model folder, text or None for standard input, language the model is still to be told)."""
    if second is not None and first is not None:
        return located(first), second, to
    if first is not None and names_model(first):
        return located(first), None, to
    if first is not None and not any(letter.isspace() for letter in first) and _is_piped():
        raise InputError(
            f"no model folder {first!r}, and a text comes from standard input; for this word alone "
            f"write: cutaway translate en-fr {first}"
        )
    return model_for(to), first, None


def _is_piped() -> bool:
    """Whether standard input is a file or a pipe, so that it may hold the text."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # closed, or replaced by an object without a descriptor
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
