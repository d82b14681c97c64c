"""`--engine`: the same translator on this package's model or on another runtime."""

from pathlib import Path
from typing import TYPE_CHECKING

from cutaway.errors import InputError

if TYPE_CHECKING:
    from cutaway.decode import Translator

ENGINES = ("torch", "ctranslate2")


def open_translator(folder: Path, engine: str = "torch") -> "Translator":
    """The translator of a model folder on the engine asked for."""
    if engine not in ENGINES:
        raise InputError(f"engine is {engine!r}; expected one of {', '.join(ENGINES)}")
    from cutaway.decode import Translator
    from cutaway.train.folder import read_model_folder

    contents = read_model_folder(folder)
    if engine == "ctranslate2":
        from cutaway.export.engine import CTranslate2Engine

        return Translator(contents, CTranslate2Engine(contents))
    return Translator(contents)
