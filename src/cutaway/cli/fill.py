"""`cutaway fill`: guess the words hidden behind blanks."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.options import model_folder


def fill(
    folder: Annotated[Path, model_folder("Model folder of family 'encoder'.")],
    text: Annotated[
        str | None,
        typer.Argument(help="Text with blanks (___ or <mask>); nothing or -: standard input."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Guesses shown for each blank.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Fill the blanks of a text."""
    from cutaway.cli.inputs import texts_of
    from cutaway.decode import Filler

    filler = Filler.load(folder)
    for line in texts_of(text):
        (found,) = filler.fill([line], top=top)
        if as_json:
            sys.stdout.write(json.dumps(found.to_dict(), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(found.text + "\n")
            for guesses in found.blanks:
                shown = ", ".join(f"{guess.piece} {guess.probability:.3f}" for guess in guesses)
                sys.stdout.write(f"  {shown}\n")
        sys.stdout.flush()
