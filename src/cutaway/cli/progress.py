"""Progress of a run: a live view in a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import typer

from cutaway.numbers import duration, figures, short

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from cutaway.training.events import Event, Sampled, Updated, Validated, Watch

BLOCKS = "▁▂▃▄▅▆▇█"
CURVE = 60  # characters of the loss curve
SAMPLE = 90  # characters of a translation: early ones can be endless
SCORES = 5  # validations shown


@contextmanager
def progress_view(stream: TextIO) -> "Iterator[Watch]":
    """A function to give to `train` as `watch`: live in a terminal, else one line per event."""
    if not stream.isatty():
        yield plain
        return
    from rich.console import Console
    from rich.live import Live

    view = LiveView(Console(file=stream, markup=False, emoji=False))
    with Live(get_renderable=view.draw, console=view.console, refresh_per_second=4):
        yield view.watch


def plain(event: "Event") -> None:
    """One line per event, none for those that only a live view needs."""
    from cutaway.training.events import Note, Sampled, Started, Updated, Validated

    match event:
        case Note(text, warning):
            typer.echo(f"warning: {text}" if warning else text, err=warning)
        case Started():
            typer.echo(started(event))
        case Updated() if event.update % 100 == 0:
            typer.echo(
                f"update {event.update:>6}  epoch {event.epoch + event.share:6.2f}  "
                f"loss {event.loss:.4f}  rate {short(event.rate, 3)}  "
                f"{event.tokens_per_second:,.0f} tokens/s  {duration(event.seconds_left)} left"
            )
        case Validated():
            typer.echo(
                f"validation at {event.update}: {figures(event.metrics)}"
                f"{'  (best)' if event.best else ''}"
            )
            for source, _, output in event.samples[:1]:
                typer.echo(f"    {source} → {cut(output)}")
        case Sampled():
            for source, _, output in event.samples[:1]:
                typer.echo(f"update {event.update:>6}  {source} → {cut(output)}")
        case _:
            pass


class LiveView:
    """What the terminal shows during training."""

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self.console = console
        self.bars = Progress(
            TextColumn("{task.description:>6}"),
            BarColumn(bar_width=40),
            TextColumn("{task.fields[text]}"),
            console=console,
        )
        self.run = self.bars.add_task("run", total=1.0, text="")
        self.epoch = self.bars.add_task("epoch", total=1.0, text="")
        self.updates = 0
        self.losses: list[float] = []
        self.last: Updated | None = None
        self.scores: list[Validated] = []
        self.samples: list[Validated | Sampled] = []
        self.heading = ""

    def watch(self, event: "Event") -> None:
        """Update the view with one event."""
        from rich.text import Text

        from cutaway.training.events import Note, Sampled, Started, Updated, Validated

        match event:
            case Note(text, warning):
                self.console.print(Text(text, style="yellow" if warning else "dim"))
            case Started():  # a run, or one of its teachers
                self.updates = event.updates
                self.heading = started(event)
                self.losses, self.scores, self.samples = [], [], []
            case Updated():
                self._updated(event)
            case Validated():
                self.scores.append(event)
                self.samples += [event] if event.samples else []
            case Sampled():
                self.samples.append(event)
            case _:
                pass

    def _updated(self, event: "Updated") -> None:
        self.last = event
        self.losses.append(event.loss)
        left = duration(event.seconds_left)
        self.bars.update(
            self.run,
            completed=event.update / max(1, self.updates),
            text=f"{event.update:,} of {self.updates:,} updates, {left} left",
        )
        self.bars.update(
            self.epoch,
            completed=event.share,
            text=f"epoch {event.epoch + 1} · {event.tokens_per_second:,.0f} tokens/s",
        )

    def draw(self) -> "RenderableType":
        """The present view."""
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = [Text(self.heading, style="bold"), self.bars]
        if self.last is not None:
            line = Text(f"  loss {self.last.loss:7.4f}  ")
            line.append(sparkline(self.losses, CURVE), style="cyan")
            line.append(f"  rate {short(self.last.rate, 3)}", style="dim")
            parts.append(line)
        if self.scores:
            parts.append(self._scores())
        if self.samples:
            parts += self._samples()
        return Group(*parts)

    def _scores(self) -> "RenderableType":
        from rich.table import Table

        table = Table(box=None, padding=(0, 2))
        names = list(self.scores[-1].metrics)
        for name in ("validation", *names):
            table.add_column(name, justify="right", style="dim" if name == "validation" else None)
        for event in self.scores[-SCORES:]:
            values = [short(event.metrics[name]) for name in names if name in event.metrics]
            table.add_row(str(event.update), *values, style="green" if event.best else None)
        return table

    def _samples(self) -> "Iterator[RenderableType]":
        """A few sentences with their first and their latest translation."""
        from rich.text import Text

        begun, now = self.samples[0], self.samples[-1]
        for number, (source, reference, output) in enumerate(now.samples):
            first = begun.samples[number][2]
            yield Text(f"  {source}", style="bold")
            if first != output:
                yield Text(f"    {begun.update:>6}  {cut(first)}", style="dim")
            right = output == reference
            yield Text(f"    {now.update:>6}  {cut(output)}", style="green" if right else "default")


def cut(text: str) -> str:
    """A translation in one line of a terminal."""
    return text if len(text) <= SAMPLE else f"{text[: SAMPLE - 1]}…"


def sparkline(values: list[float], width: int) -> str:
    """A curve in one line of text: `▇▅▃▂▁`; many values are averaged in groups."""
    size = max(1, -(-len(values) // width))
    means = [
        sum(values[place : place + size]) / len(values[place : place + size])
        for place in range(0, len(values), size)
    ]
    low, high = min(means, default=0.0), max(means, default=0.0)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((value - low) * scale)] for value in means)


def started(event: Any) -> str:
    """The run in one line."""
    return (
        f"{event.parameters['total']:,} parameters, {event.updates:,} updates, "
        f"{event.epochs:.1f} epochs"
    )
