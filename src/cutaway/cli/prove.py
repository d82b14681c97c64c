"""`cutaway prove`: every number of a run recomputed from the arithmetic shown for it."""

from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.explain import ONE_SENTENCE, open_trace
from cutaway.cli.options import model_folder
from cutaway.numbers import short


def prove(
    folder: Annotated[
        Path,
        model_folder("Model folder, en-fr or en-zh for a model of the package, or a saved trace."),
    ],
    text: Annotated[str, typer.Argument(help="The sentence; empty for a saved trace.")] = "",
    target: Annotated[
        str | None, typer.Option(help="Use this translation instead of the model's own.")
    ] = None,
    training: Annotated[bool, typer.Option("--training", help=ONE_SENTENCE)] = False,
    update: Annotated[
        int | None, typer.Option("--update", help="Replay this update of the run, and prove it.")
    ] = None,
    only: Annotated[str, typer.Option(help="Only addresses that match this pattern.")] = "*",
) -> None:
    """Recompute every cell of a run; exit with status 1 if one does not come out."""
    if update is not None:
        from cutaway.cli.replay import replayed_update

        trace = replayed_update(folder, update)
    else:
        trace = open_trace(folder, text, target=target, training=training)
    proof = trace.prove(only)
    typer.echo(f"cells        {proof.cells:,}")
    typer.echo(f"proven       {proof.proven:,}")
    typer.echo(f"  arithmetic         {proof.arithmetic:,}")
    typer.echo(f"  views and copies   {proof.copies:,}")
    typer.echo(f"  constants          {proof.constants:,}")
    typer.echo(f"opaque       {sum(proof.opaque.values()):,}")
    typer.echo(f"unexplained  {sum(proof.unexplained.values()):,}")
    if proof.missing:
        typer.echo(f"not kept     {proof.missing:,}")
    typer.echo(f"sources      {proof.sources:,}  (parameters, inputs, literals, random draws)")
    typer.echo(f"max error    {short(proof.max_error, 2)} of the bound of rounding  {proof.worst}")
    for name, count in sorted(proof.opaque.items()):
        typer.echo(f"opaque operation {name}: {count:,} cells")
    for why, count in sorted(proof.unreadable.items()):
        typer.echo(f"not kept: {why}: {count:,} cells")
    for address, count in proof.unexplained.items():
        typer.echo(f"unexplained {address}: {count:,} cells")
    for failure in proof.failures:
        typer.echo(
            f"differs: {failure.address} is {failure.value!r}, recomputed {failure.recomputed!r}"
        )
    if proof.stopped:
        typer.echo(proof.stopped, err=True)
    if not proof.cells:
        typer.echo(f"nothing to prove: no computed value matches {only!r}", err=True)
        raise typer.Exit(1)
    if not proof.complete:
        raise typer.Exit(1)
