"""`cutaway generate`: a language model continues a text."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.options import (
    Beam,
    NBest,
    NoRepeat,
    Sample,
    Seed,
    Temperature,
    TopK,
    TopP,
    given,
    model_folder,
)


def generate(
    folder: Annotated[Path, model_folder("Model folder of family 'decoder'.")],
    prompt: Annotated[
        str | None, typer.Argument(help="Beginning of the text; nothing or -: standard input.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="New tokens at most.")] = 100,
    beam: Beam = None,
    n_best: NBest = None,
    no_repeat: NoRepeat = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line: tokens, log-probabilities.")
    ] = False,
) -> None:
    """Continue a text with a language model."""
    from cutaway.cli.inputs import texts_of
    from cutaway.decode import Generator

    generator = Generator.load(folder)
    options = given(
        beam=beam,
        n_best=n_best,
        no_repeat=no_repeat,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    for text in texts_of(prompt):
        (found,) = generator.generate([text], max_tokens=max_tokens, **options)
        for notice in found.warnings:
            typer.echo(f"warning: {notice.message}", err=True)
        line = json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found.text
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
