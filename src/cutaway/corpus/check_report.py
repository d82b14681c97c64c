"""The report of `cutaway data check` as sections, for a page and a terminal alike; and the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path

from cutaway.corpus.check import Forecast, Report, Side, Split
from cutaway.errors import DataError
from cutaway.numbers import duration, size
from cutaway.report import bars, document, table

__all__ = ["Bars", "Section", "Table", "advice", "page", "sections", "write_report"]

COLUMNS = ("", "ids", "mean", "longest", "words", "ids/word", "in bytes", "unseen")


@dataclass(frozen=True)
class Table:
    """Numbers with their names, or examples from the corpus."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str | int, ...]]
    caption: str = ""
    examples: bool = False  # rows are sentences, of which a terminal shows the first only


@dataclass(frozen=True)
class Bars:
    """A histogram: label and count."""

    title: str
    rows: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; a text is a paragraph."""

    title: str
    parts: tuple[str | Table | Bars, ...]


def advice(report: Report) -> Section:
    """What to do about the corpus; a page begins with it and a terminal ends with it."""
    return Section("Advice", report.advice or ("Nothing to worry about.",))


def sections(report: Report) -> Iterator[Section]:
    """All sections but the advice: each split, then the whole corpus, then what training takes."""
    for split in report.splits:
        yield _split(split)
    source, target = report.vocabulary
    sizes = (
        f"{source:,} for both sides" if report.joint else f"{source:,} source, {target:,} target"
    )
    batching = report.batching
    yield Section(
        "Vocabulary and batches",
        (
            f"{report.kind} vocabulary: {sizes}; {report.long}",
            f"{batching.batches:,} batches of at most {batching.tokens:,} tokens per side: "
            f"{batching.padding:.1%} padding (in the order of the file {batching.unsorted:.0%})",
        ),
    )
    if report.leaks:
        yield _leaks(report)
    yield _suspicious(report)
    if report.forecast is not None:
        yield _forecast(report.forecast)


def _split(split: Split) -> Section:
    several = f"{split.several:,} further translations of a source already there"
    normalised = f"{split.cleaning.normalised:,} pairs normalised"
    return Section(
        split.name,
        (
            *split.notes,
            str(split.cleaning),
            *([normalised] if split.cleaning.normalised else []),
            *([several] if split.several else []),
            Table(COLUMNS, [_side(side, split.name != "train") for side in split.sides]),
            *(
                Bars(
                    f"{side.name}: sentences by number of ids",
                    [(f"{low}–{high}", count) for low, high, count in side.histogram],
                )
                for side in split.sides
            ),
        ),
    )


def _side(side: Side, compared: bool) -> tuple[str | int, ...]:
    return (
        side.name,
        side.ids,
        f"{side.mean:.1f}",
        side.longest,
        side.words,
        f"{side.ids / max(1, side.words):.2f}",
        f"{side.byte_share:.2%}",
        f"{side.unseen_words:.2%}" if compared else "–",
    )


def _leaks(report: Report) -> Section:
    rows = [
        (f"{leak.split} in {leak.other}", leak.pairs, leak.sources, leak.targets, leak.of)
        for leak in report.leaks
    ]
    examples = [pair for leak in report.leaks for pair in leak.examples]
    shown = [Table(("source", "target"), examples, "Examples", examples=True)] if examples else []
    head = ("", "same pair", "same source", "same target", "of")
    return Section("Leakage between splits", (Table(head, rows), *shown))


def _suspicious(report: Report) -> Section:
    tables = []
    for suspicion in report.suspicious:
        suspects = [report.suspects[number] for number in suspicion.numbers]
        tables.append(
            Table(
                ("pair", "source", "target"),
                [(line, source, target) for source, target, line in suspects],
                f"{suspicion.count:,} × {suspicion.kind}: {suspicion.reason}",
                examples=True,
            )
        )
    return Section("Suspicious pairs", (*tables,) or ("None.",))


def _forecast(forecast: Forecast) -> Section:
    rows = (
        ("model", f"{forecast.model}, {forecast.parameters:,} parameters"),
        ("device", forecast.device),
        ("speed", f"{forecast.tokens_per_second:,.0f} target tokens per second"),
        ("updates", f"{forecast.updates:,} ({forecast.epochs} epochs)"),
        ("time to finish", f"about {duration(forecast.seconds)}"),
        ("weights and optimizer", size(forecast.state_bytes)),
        ("most memory taken", size(forecast.peak_bytes)),
    )
    caption = f"Measured by {forecast.probed_updates} real updates on this machine"
    return Section("Training here", (Table((), rows, caption),))


def write_report(report: Report, path: str | PathLike[str], title: str = "Corpus check") -> None:
    """Write the page."""
    try:
        Path(path).write_text(page(report, title), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: the page cannot be written ({error.strerror})") from None


def page(report: Report, title: str = "Corpus check") -> str:
    """The whole document; every text of the corpus is escaped."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for section in (advice(report), *sections(report)):
        parts.append(f"<h2>{escape(section.title)}</h2>")
        parts += map(_html, section.parts)
    return document(title, "\n".join(parts))


def _html(part: str | Table | Bars) -> str:
    match part:
        case Table():
            return table(part.head, part.rows, part.caption)
        case Bars():
            return bars(part.rows, part.title)
        case _:
            return f"<p>{escape(part)}</p>"
