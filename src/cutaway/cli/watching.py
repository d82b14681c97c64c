"""A run as a person follows it: a live view in a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import typer

if TYPE_CHECKING:
    from cutaway.train.events import Event, Watch


@contextmanager
def watching(stream: TextIO) -> "Iterator[Watch]":
    """A function to give to `train` as `watch`."""
    yield plain


def plain(event: "Event") -> None:
    """One line an event, none for those that only a live view needs."""
    from cutaway.train.events import Note, Started, Updated, Validated

    match event:
        case Note(text, warning):
            typer.echo(f"warning: {text}" if warning else text, err=warning)
        case Started():
            typer.echo(
                f"{event.parameters['total']:,} parameters, {event.updates:,} updates, "
                f"{event.epochs:.1f} epochs"
            )
        case Updated() if event.update % 100 == 0:
            typer.echo(
                f"update {event.update:>6}  epoch {event.epoch + event.share:6.2f}  "
                f"loss {event.loss:.4f}  rate {event.rate:.2e}  "
                f"{event.tokens_per_second:,.0f} tokens/s  {duration(event.seconds_left)} left"
            )
        case Validated():
            scores = "  ".join(f"{name} {value:.4g}" for name, value in event.metrics.items())
            typer.echo(f"validation at {event.update}: {scores}{'  (best)' if event.best else ''}")
            for source, _, output in event.samples[:1]:
                typer.echo(f"    {source} → {output}")
        case _:
            pass


def duration(seconds: float) -> str:
    """75 → 1:15, 4000 → 1:06:40."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
