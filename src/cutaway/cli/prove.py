"""`cutaway prove`: every number of a run recomputed from the arithmetic shown for it."""

from pathlib import Path
from typing import Annotated

import typer


def prove(
    folder: Annotated[Path, typer.Argument(help="Model folder, or a folder trace.save wrote.")],
    text: Annotated[str, typer.Argument(help="The sentence; empty for a saved trace.")] = "",
    target: Annotated[
        str | None, typer.Option(help="Use this translation instead of the model's own.")
    ] = None,
    training: Annotated[
        bool, typer.Option("--training", help="A whole training step: loss, gradients, update.")
    ] = False,
    only: Annotated[str, typer.Option(help="Only addresses that match this pattern.")] = "*",
) -> None:
    """Recompute every cell of a run; exit with status 1 if one does not come out."""
    from cutaway.cli.explain import open_trace

    trace = open_trace(folder, text, target=target, training=training)
    proof = trace.prove(only)
    typer.echo(f"cells      {proof.cells:,}")
    typer.echo(f"proven     {proof.proven:,}")
    typer.echo(f"opaque     {sum(proof.opaque.values()):,}")
    if proof.missing:
        typer.echo(f"not kept   {proof.missing:,}")
    typer.echo(f"sources    {proof.sources:,}  (parameters, inputs, constants, random draws)")
    typer.echo(f"max error  {proof.max_error:.2g}  {proof.worst}")
    for name, count in sorted(proof.opaque.items()):
        typer.echo(f"opaque operation {name}: {count:,} cells")
    for failure in proof.failures:
        typer.echo(
            f"differs: {failure.address} is {failure.value!r}, recomputed {failure.recomputed!r}"
        )
    if not proof.cells:
        typer.echo(f"nothing to prove: no computed value matches {only!r}", err=True)
        raise typer.Exit(1)
    if not proof.complete:
        raise typer.Exit(1)
