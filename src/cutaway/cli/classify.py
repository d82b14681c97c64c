"""`cutaway classify`: the class of a text and the probability of every class."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.options import model_folder


def classify(
    folder: Annotated[Path, model_folder("Model folder with a classifier.")],
    text: Annotated[
        str | None, typer.Argument(help="Text; nothing or -: standard input, line by line.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Name the class of a text."""
    from cutaway.cli.inputs import texts_of
    from cutaway.decode import Classifier

    classifier = Classifier.load(folder)
    for line in texts_of(text):
        (found,) = classifier.classify([line])
        if as_json:
            shown = json.dumps(found.to_dict(), ensure_ascii=False)
        else:
            shown = "\t".join(f"{label} {p:.4f}" for label, p in found.probabilities.items())
        sys.stdout.write(shown + "\n")
        sys.stdout.flush()
