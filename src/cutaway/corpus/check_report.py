"""The report of `cutaway data check` as an HTML page."""

from html import escape
from os import PathLike
from pathlib import Path

from cutaway.corpus.check import Forecast, Leak, Report, Side, Split
from cutaway.errors import DataError
from cutaway.numbers import duration, size
from cutaway.report import bars, document, facts, table


def write_report(report: Report, path: str | PathLike[str], title: str = "Corpus check") -> None:
    """Write the page."""
    try:
        Path(path).write_text(page(report, title), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: the page cannot be written ({error.strerror})") from None


def page(report: Report, title: str = "Corpus check") -> str:
    """The whole document; every text of the corpus is escaped."""
    body = "\n".join(
        (
            f"<h1>{escape(title)}</h1>",
            _advice(report.advice),
            *(_split(split) for split in report.splits),
            _vocabulary(report),
            _leaks(report.leaks),
            _suspicious(report),
            _batching(report),
            _forecast(report.forecast),
        )
    )
    return document(title, body)


def _advice(advice: tuple[str, ...]) -> str:
    if not advice:
        return "<p>Nothing to worry about.</p>"
    return f'<ul class="advice">{"".join(f"<li>{escape(line)}</li>" for line in advice)}</ul>'


def _split(split: Split) -> str:
    removed = split.cleaning.removed
    facts = table(
        ("", "ids", "mean", "longest", "words", "characters", "in bytes", "unseen"),
        (
            (
                side.name,
                side.ids,
                f"{side.mean:.1f}",
                side.longest,
                side.words,
                side.characters,
                f"{side.byte_share:.2%}",
                f"{side.unseen_words:.2%}" if split.name != "train" else "",
            )
            for side in split.sides
        ),
        f"{split.cleaning.given:,} pairs read, {split.cleaning.kept:,} kept; "
        f"{split.several:,} further translations of a source already there",
    )
    cleaning = table(removed, [removed.values()], "Removed by cleaning, filter by filter")
    notes = "".join(f"<p>{escape(note)}</p>" for note in split.notes)
    charts = "".join(_chart(side) for side in split.sides)
    return f"<h2>{escape(split.name)}</h2>{notes}{facts}<div>{charts}</div>{cleaning}"


def _chart(side: Side) -> str:
    """Sentences by length."""
    rows = [(f"{low}–{high}", count) for low, high, count in side.histogram]
    return bars(rows, f"{side.name}: sentences by number of ids")


def _vocabulary(report: Report) -> str:
    sizes = (
        f"{report.vocabulary[0]:,} for both sides"
        if report.joint
        else f"{report.vocabulary[0]:,} source, {report.vocabulary[1]:,} target"
    )
    return f"<h2>Vocabulary</h2><p>{escape(report.kind)}, {sizes}. {escape(str(report.long))}.</p>"


def _leaks(leaks: tuple[Leak, ...]) -> str:
    if not leaks:
        return ""
    rows = [
        (f"{leak.split} in {leak.other}", leak.pairs, leak.sources, leak.targets, leak.of)
        for leak in leaks
    ]
    examples = [pair for leak in leaks for pair in leak.examples]
    shown = table(("source", "target"), examples, "Examples") if examples else ""
    head = ("", "same pair", "same source", "same target", "of")
    return f"<h2>Leakage between splits</h2>{table(head, rows)}{shown}"


def _suspicious(report: Report) -> str:
    if not report.suspicious:
        return "<h2>Suspicious pairs</h2><p>None.</p>"
    parts = ["<h2>Suspicious pairs</h2>"]
    for suspicion in report.suspicious:
        rows = [report.suspects[number] for number in suspicion.numbers]
        parts.append(
            table(
                ("pair", "source", "target"),
                ((line, source, target) for source, target, line in rows),
                f"{suspicion.count:,} × {suspicion.kind}: {suspicion.reason}",
            )
        )
    return "".join(parts)


def _batching(report: Report) -> str:
    batching = report.batching
    return (
        f"<h2>Batches</h2><p>{batching.batches:,} batches of at most {batching.tokens:,} tokens "
        f"per side; {batching.padding:.1%} padding (in the order of the file it would be "
        f"{batching.unsorted:.0%}).</p>"
    )


def _forecast(forecast: Forecast | None) -> str:
    if forecast is None:
        return ""
    rows = [
        ("model", f"{forecast.model}, {forecast.parameters:,} parameters"),
        ("device", forecast.device),
        ("speed", f"{forecast.tokens_per_second:,.0f} target tokens per second"),
        ("updates", f"{forecast.updates:,} ({forecast.epochs} epochs)"),
        ("time to finish", duration(forecast.seconds)),
        ("weights and optimizer", size(forecast.state_bytes)),
        ("most memory taken", size(forecast.peak_bytes)),
    ]
    caption = f"Measured by {forecast.probed_updates} real updates on this machine"
    return f"<h2>Training here</h2>{facts(rows, caption)}"
