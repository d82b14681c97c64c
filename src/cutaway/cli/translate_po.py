"""A localizer's day: fill what a .po file leaves untranslated, and say what needs a look."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.errors import DataError

if TYPE_CHECKING:
    from cutaway.decode import Translator


def translate_po(
    translator: "Translator", path: Path, output: Path | None, settings: dict[str, Any]
) -> None:
    """Fill a catalogue in place (the old one stays beside it as NAME.po~) or into another file."""
    import typer

    from cutaway.decode.catalogue import fill

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 (byte {error.start}); convert it with msgconv -t UTF-8"
        ) from None
    settings = {name: value for name, value in settings.items() if name != "prefix"}
    filled = fill(text, lambda texts: translator.translate(texts, **settings), name=str(path))
    target = output if output is not None else path
    fresh = target.with_name(target.name + ".partial")
    fresh.write_text(filled.text, encoding="utf-8", newline="")
    if output is None:
        shutil.copy2(path, path.with_name(path.name + "~"))
    os.replace(fresh, target)
    for problem in filled.problems:
        typer.echo(f"{path}:{problem.line}: {problem.message}", err=True)
    typer.echo(
        f"{target}: {filled.translated} filled and marked fuzzy, {filled.kept} already translated, "
        f"{filled.left} left open",
        err=True,
    )
