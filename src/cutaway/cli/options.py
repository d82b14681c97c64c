"""Command line options whose help text is the description of their setting."""

import dataclasses
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cutaway.cli.completion import choices, model_folders
from cutaway.config import Config, DecodeOptions, help_of
from cutaway.data import located
from cutaway.errors import InputError


def under(panel: str, help: str, *names: str, words: tuple[str, ...] = ()) -> Any:
    """An option under a heading of the help page; `words` are offered by the shell."""
    offered = choices(*words) if words else None
    return typer.Option(*names, help=help, rich_help_panel=panel, autocompletion=offered)


def sets(
    settings: type[Config],
    name: str,
    *names: str,
    panel: str | None = None,
    words: tuple[str, ...] = (),
    offered: Callable[[str], list[str]] | None = None,
) -> Any:
    """An option for one setting: its description, default and choices come from there."""
    text = help_of(settings, name).replace("[", r"\[")  # or rich takes it for markup
    (default,) = (f.default for f in dataclasses.fields(settings) if f.name == name)
    # False == 0, and 0 is a default to show
    shown = "" if default is False or default in ("", None) else rf" [dim]\[default: {default}"
    if shown:  # typer would write it in parentheses
        folder = " or the folder's" if settings is DecodeOptions else ""
        shown += f"{folder}][/dim]"
    annotation = typing.get_type_hints(settings)[name]
    if typing.get_origin(annotation) is typing.Literal:
        words = typing.get_args(annotation)
    return typer.Option(
        *names,
        help=f"{text[0].upper()}{text[1:]}.{shown}",
        rich_help_panel=panel,
        show_default=False,
        autocompletion=offered or (choices(*words) if words else None),
    )


def model_folder(help: str) -> Any:
    """An argument that names a model folder, or a model of the package."""
    return typer.Argument(help=help, callback=located, autocompletion=model_folders)


Folder = Annotated[Path, model_folder("Model folder; en-fr or en-zh for a model of the package.")]


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

ENGINE = (
    "ctranslate2 (fast), int8 (faster, output may differ), torch (the model itself), or auto: the "
    "first where it does the same as the model"
)
Engine = Annotated[
    str,
    typer.Option(help=f"{ENGINE}.", autocompletion=choices("auto", "ctranslate2", "int8", "torch")),
]
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
        help="Of the n-best take another: mbr, the one most like the others by chrF (mbr-bleu: by "
        "BLEU); round-trip, the one from which a model of --both-ways, or of --back, best finds "
        "back."
    ),
]
Back = Annotated[
    Path | None,
    typer.Option(
        "--back", help="A model folder of the other direction, which --rerank round-trip asks."
    ),
]


def check_back(back: Path | None, rerank: str) -> None:
    """Refuse a second model that would not be asked."""
    if back is not None and rerank != "round-trip":
        raise InputError("--back is asked by --rerank round-trip only; add it, or leave --back out")
