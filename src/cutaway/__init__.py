"""Cutaway: a Transformer you can train, translate with, and see through."""

from pathlib import Path
from typing import TYPE_CHECKING

from cutaway.version import __version__

if TYPE_CHECKING:
    from cutaway.decode import Translator

__all__ = ["__version__", "load"]


def load(folder: str | Path, *, device: str = "cpu") -> "Translator":
    """The translator of a model folder: `load(folder).translate(["…"], beam=5)`."""
    from cutaway.decode import Translator

    return Translator.load(folder, device=device)
