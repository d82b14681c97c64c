"""The report of `cutaway data check` in a terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from cutaway.corpus.check import Forecast, Report, Side, Split

BAR = 20  # characters of the longest bar


def show(report: "Report", console: "Console | None" = None) -> None:
    """Print the report: one section per split, then the whole corpus, then advice."""
    from rich.console import Console
    from rich.markup import escape

    out = console or Console(highlight=False)
    for split in report.splits:
        _split(out, split)
    sizes = (
        f"{report.vocabulary[0]:,} for both sides"
        if report.joint
        else f"{report.vocabulary[0]:,} source, {report.vocabulary[1]:,} target"
    )
    out.rule("[bold]Vocabulary and batches", align="left")
    out.print(f"{report.kind} vocabulary: {sizes}; {report.long}")
    batching = report.batching
    out.print(
        f"{batching.batches:,} batches of at most {batching.tokens:,} tokens per side: "
        f"[bold]{batching.padding:.1%}[/] padding "
        f"(in the order of the file {batching.unsorted:.0%})"
    )
    _leaks(out, report)
    _suspicious(out, report)
    if report.forecast is not None:
        _forecast(out, report.forecast)
    out.rule("[bold]Advice", align="left")
    for line in report.advice:
        out.print(f"[yellow]•[/] {escape(line)}")
    if not report.advice:
        out.print("Nothing to worry about.")


def _split(out: "Console", split: "Split") -> None:
    from rich.markup import escape
    from rich.table import Table

    out.rule(f"[bold]{split.name}", align="left")
    for note in split.notes:
        out.print(escape(note))
    cleaning = split.cleaning
    removed = ", ".join(f"{name} {count:,}" for name, count in cleaning.removed.items() if count)
    out.print(
        f"{cleaning.given:,} pairs read, [bold]{cleaning.kept:,}[/] kept"
        + (f"; cleaning removes: {removed}" if removed else "; cleaning removes none")
        + (f"; {cleaning.normalised:,} normalised" if cleaning.normalised else "")
    )
    if split.several:
        out.print(f"{split.several:,} further translations of a source already there")
    table = Table(box=None, pad_edge=False)
    for name in ("", "ids", "mean", "longest", "words", "ids/word", "in bytes", "unseen words"):
        table.add_column(name, justify="left" if not name else "right")
    for side in split.sides:
        table.add_row(
            side.name,
            f"{side.ids:,}",
            f"{side.mean:.1f}",
            f"{side.longest:,}",
            f"{side.words:,}",
            f"{side.ids / max(1, side.words):.2f}",
            f"{side.byte_share:.2%}",
            f"{side.unseen_words:.2%}" if split.name != "train" else "–",
        )
    out.print(table)
    charts = Table.grid(padding=(0, 3))
    charts.add_row(*(_histogram(side) for side in split.sides))
    out.print(charts)


def _histogram(side: "Side") -> str:
    most = max((count for _, _, count in side.histogram), default=1) or 1
    lines = [f"{side.name}: sentences by ids"]
    for low, high, count in side.histogram:
        bar = "█" * round(BAR * count / most) or ("▏" if count else "")
        lines.append(f"{low:>4}–{high:<4} {bar} {count:,}")
    return "\n".join(lines)


def _leaks(out: "Console", report: "Report") -> None:
    if not report.leaks:
        return
    out.rule("[bold]Leakage between splits", align="left")
    for leak in report.leaks:
        out.print(
            f"{leak.split} in {leak.other}: [bold]{leak.pairs:,}[/] of {leak.of:,} pairs, "
            f"{leak.sources:,} sources, {leak.targets:,} targets"
        )


def _suspicious(out: "Console", report: "Report") -> None:
    from rich.markup import escape

    out.rule("[bold]Suspicious pairs", align="left")
    if not report.suspicious:
        out.print("none")
    for suspicion in report.suspicious:
        out.print(f"[bold]{suspicion.count:,}[/] {suspicion.kind}: {suspicion.reason}")
        for number in suspicion.numbers[:2]:
            source, target, line = report.suspects[number]
            out.print(f"  pair {line:,}: {escape(_short(source))} → {escape(_short(target))}")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _forecast(out: "Console", forecast: "Forecast") -> None:
    from cutaway.numbers import duration, size

    out.rule("[bold]Training here", align="left")
    out.print(
        f"{forecast.model}, {forecast.parameters:,} parameters, on {forecast.device}: "
        f"{forecast.tokens_per_second:,.0f} target tokens per second "
        f"(measured over {forecast.probed_updates} updates)"
    )
    out.print(
        f"{forecast.updates:,} updates, {forecast.epochs} epochs: about "
        f"[bold]{duration(forecast.seconds)}[/]"
    )
    out.print(
        f"memory: {size(forecast.state_bytes)} for weights and optimizer; the probe "
        f"took {size(forecast.peak_bytes)} at most"
    )
