"""Fill the untranslated entries of a .po file, and list those a person should check."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.errors import DataError, InputError

if TYPE_CHECKING:
    from cutaway.decode import Translator


def translate_po(
    translator: "Translator", path: Path, output: Path | None, settings: dict[str, Any]
) -> None:
    """Fill a .po file in place (the old one is kept as NAME.po~) or write another file."""
    import typer

    from cutaway.cli.outputs import backup, written
    from cutaway.decode.po_filling import fill, language_of

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 (byte {error.start}); convert it with msgconv -t UTF-8"
        ) from None
    wanted, languages = language_of(text, str(path)), translator.folder.languages
    made = settings.get("language") or (languages[1] if languages else "")
    if wanted and made and wanted != made.lower().replace("_", "-").partition("-")[0]:
        raise InputError(
            f"{path} is a translation into {wanted} by its header, and this model translates into "
            f"{made}; give a model of that language, or correct the header"
        )
    settings = {name: value for name, value in settings.items() if name != "prefix"}
    filled = fill(text, lambda texts: translator.translate(texts, **settings), name=str(path))
    target = output if output is not None else path
    if output is None and filled.translated:
        backup(path)
    with written(target) as file:
        file.write(filled.text.encode())
    for problem in filled.problems:
        typer.echo(f"{path}:{problem.line}: {problem.message}", err=True)
    typer.echo(
        f"{target}: {filled.translated} filled and marked fuzzy, {filled.kept} already translated, "
        f"{filled.left} left open",
        err=True,
    )
