"""`cutaway generate`: a language model goes on where the prompt stops."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def generate(
    folder: Annotated[Path, typer.Argument(help="Model folder of family 'decoder'.")],
    prompt: Annotated[
        str | None, typer.Argument(help="Beginning of the text; nothing or -: standard input.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="New tokens at most.")] = 100,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.")] = None,
    n_best: Annotated[int | None, typer.Option(help="Texts returned (--json).")] = None,
    no_repeat: Annotated[int | None, typer.Option(help="Forbid to repeat such n-grams.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of --sample.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Of --sample: the k likeliest only.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Of --sample: this much probability.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of --sample.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: tokens, log-probabilities.")
    ] = False,
) -> None:
    """Continue a text with a language model."""
    from cutaway.cli.reading import texts_of
    from cutaway.decode import Generator

    generator = Generator.load(folder)
    given: dict[str, Any] = {
        "beam": beam,
        "n_best": n_best,
        "no_repeat": no_repeat,
        "sample": sample or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    options = {name: value for name, value in given.items() if value is not None}
    for text in texts_of(prompt):
        (found,) = generator.generate([text], max_tokens=max_tokens, **options)
        for notice in found.warnings:
            typer.echo(f"warning: {notice.message}", err=True)
        line = json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found.text
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
