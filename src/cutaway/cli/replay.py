"""Replay an update of a run for the command line, with its progress and a summary."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cutaway.numbers import short

if TYPE_CHECKING:
    from cutaway.glass import Trace
    from cutaway.training.replay import Replayed


def replayed_update(folder: Path, update: int, address: str = "") -> "Trace":
    """Record an update of a folder's run; progress and summary go to standard error."""
    from rich.console import Console
    from rich.progress import Progress

    from cutaway.glass.address import parse
    from cutaway.training.replay import Replay

    replay = Replay(folder)
    typer.echo(str(replay.plan(update)), err=True)
    try:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("replaying updates", total=None)

            def progress(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            select = parse(address)[0] if address else None
            found = replay.record(update, select=select, progress=progress)
    finally:
        replay.close()
    for line in report(found):
        typer.echo(line, err=True)
    return found.trace


def report(found: "Replayed") -> list[str]:
    """What the update was, and how it compares with the run's own."""
    facts, agreement, drift = found.facts, found.agreement, found.drift
    sentences = sum(len(batch) for batch in facts["batches"])
    batches = len(facts["batches"])
    lines = [
        f"update {facts['update']:,} of {facts['updates']:,}, epoch {facts['epoch']}: "
        f"{sentences:,} sentences in {batches} batch{'es' if batches > 1 else ''}, "
        f"{facts['tokens']:,} target tokens",
        f"loss {short(facts['loss'], 6)} per token, gradient norm {short(facts['norm'], 6)}"
        + (f", shortened to {short(facts['shortened'])} of it" if facts["shortened"] < 1 else "")
        + f", rate {short(facts['rate'], 6)}",
    ]
    compared = []
    if agreement.lines:
        compared.append(
            f"{agreement.same} of {agreement.lines} lines of the log have the same bits"
        )
    if agreement.state is not None:
        how = (
            "equal bit for bit"
            if agreement.identical
            else f"different by at most {short(agreement.largest, 2)}"
        )
        compared.append(f"the weights after update {agreement.state:,} are {how}")
    lines.append(
        "compared with the run: " + ("; ".join(compared) or "nothing was kept to compare with")
    )
    if agreement.exact is False:
        lines.append(
            f"the replay differs from the run in the last bits (largest relative difference "
            f"{short(agreement.worst, 2)})"
        )
    lines += [f"environment differs from the run's: {line}" for line in found.environment]
    lines.append(
        f"recorded with explicit attention: weights differ from the run's by at most "
        f"{short(drift.largest, 2)} ({drift.where}); key biases by {short(drift.key_biases, 2)}"
    )
    return lines
