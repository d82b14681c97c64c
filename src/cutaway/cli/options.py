"""Command line options whose help text is the description of their setting."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cutaway.config import Config, DecodeOptions, help_of


def under(panel: str, help: str, *names: str) -> Any:
    """An option under a heading of the help page."""
    return typer.Option(*names, help=help, rich_help_panel=panel)


def sets(settings: type[Config], name: str, *names: str, panel: str | None = None) -> Any:
    """An option for one setting, with the setting's description as help."""
    text = help_of(settings, name)
    return typer.Option(*names, help=f"{text[0].upper()}{text[1:]}.", rich_help_panel=panel)


def given(**values: Any) -> dict[str, Any]:
    """The options that were given, without those that are None, empty, or a flag left off."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value != ""
    }


def engine_note(message: str) -> None:
    """Say on standard error, once per reason, that another engine than the fast one is used."""
    if message not in _SAID:
        _SAID.add(message)
        typer.echo(f"note: {message}", err=True)


_SAID: set[str] = set()

ENGINE = "ctranslate2 (fast), torch (the model itself), or auto: the first where it does the same"
Engine = Annotated[str, typer.Option(help=f"{ENGINE}.")]
Beam = Annotated[int | None, sets(DecodeOptions, "beam")]
NBest = Annotated[int | None, sets(DecodeOptions, "n_best")]
LengthPenalty = Annotated[float | None, sets(DecodeOptions, "length_penalty")]
CoveragePenalty = Annotated[float | None, sets(DecodeOptions, "coverage_penalty")]
MinLength = Annotated[int | None, sets(DecodeOptions, "min_length")]
MaxLength = Annotated[int | None, sets(DecodeOptions, "max_length")]
NoRepeat = Annotated[int | None, sets(DecodeOptions, "no_repeat")]
Sample = Annotated[bool, sets(DecodeOptions, "sample", "--sample")]
Temperature = Annotated[float | None, sets(DecodeOptions, "temperature")]
TopK = Annotated[int | None, sets(DecodeOptions, "top_k")]
TopP = Annotated[float | None, sets(DecodeOptions, "top_p")]
Seed = Annotated[int | None, sets(DecodeOptions, "seed")]
Split = Annotated[
    bool,
    typer.Option("--split/--no-split", help="Cut texts into sentences, or translate whole lines."),
]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        help="Another model folder with the same vocabulary, to translate together with the first.",
    ),
]
Rerank = Annotated[
    str,
    typer.Option(
        help="mbr: of the n-best the one most like the others by chrF (mbr-bleu: by BLEU)."
    ),
]
