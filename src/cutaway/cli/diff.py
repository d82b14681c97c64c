"""`cutaway diff`: the first operation at which two models, run on the same sentence, differ."""

from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.options import model_folder
from cutaway.numbers import short


def diff(
    ours: Annotated[Path, model_folder("Model folder or saved trace.")],
    theirs: Annotated[Path, model_folder("Model folder or saved trace to compare with.")],
    text: Annotated[str, typer.Argument(help="The sentence; empty for two saved traces.")] = "",
    target: Annotated[
        str | None,
        typer.Option(help="The translation both read; without it that of the first model."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Relative; by default what rounding allows.")
    ] = None,
    show: Annotated[int, typer.Option(help="How many values that differ to list.")] = 10,
) -> None:
    """Name the first operation at which two runs differ; status 1 if they do."""
    from cutaway.cli.explain import open_trace

    left = open_trace(ours, text, target=target)
    right = open_trace(theirs, text, target=target, like=left)  # the same target for both
    found = left.diff(right, tolerance=tolerance)
    typer.echo(
        f"compared   {found.compared:,} values, largest difference {short(found.largest, 2)}"
    )
    for address, mine, yours in found.reshaped[:show]:
        typer.echo(f"shapes     {address}: {list(mine)} and {list(yours)}")
    if found.only_ours or found.only_theirs:
        typer.echo(f"unmatched  {len(found.only_ours)} and {len(found.only_theirs)} values")
    if found.first is not None:
        typer.echo(f"first difference at {found.first.address}  ({found.first.op})")
    for parting in found.partings[:show]:
        typer.echo(
            f"  {parting.address}  {short(parting.ours, 6)} and {short(parting.theirs, 6)}, "
            f"{parting.cells:,} cells, up to {short(parting.error, 2)}"
        )
    if len(found.partings) > show:
        typer.echo(f"  … {len(found.partings) - show} more")
    if not found.same:
        raise typer.Exit(1)
    typer.echo("no difference beyond rounding")
