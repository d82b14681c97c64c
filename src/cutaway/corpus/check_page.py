"""The check as one HTML page, with no other file needed."""

from collections.abc import Iterable
from html import escape
from os import PathLike
from pathlib import Path

from cutaway.corpus.check import Forecast, Leak, Report, Side, Split
from cutaway.errors import DataError

STYLE = """
:root { color-scheme: light dark; --bar: #3b6ea5; --line: #8884; --warn: #b4540a }
@media (prefers-color-scheme: dark) { :root { --bar: #7fb2e5; --warn: #f0a05a } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
table { border-collapse: collapse; margin: .6rem 0 }
caption { text-align: left; padding: .2rem 0; color: inherit; opacity: .8 }
th, td { padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.advice li { color: var(--warn) }
.sides { display: flex; gap: 3rem; flex-wrap: wrap }
rect { fill: var(--bar) } text { fill: currentColor; font-size: 12px }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_page(report: Report, path: str | PathLike[str], title: str = "Corpus check") -> None:
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
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def table(caption: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table; numbers stand to the right."""
    lines = [f"<table><caption>{escape(caption)}</caption>"] if caption else ["<table>"]
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines.append(f"<thead><tr>{heads}</tr></thead><tbody>")
    for row in rows:
        cells = (
            f'<td class="number">{cell:,}</td>'
            if isinstance(cell, int)
            else f"<td>{escape(str(cell))}</td>"
            for cell in row
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "".join(lines) + "</tbody></table>"


def bytes_for_people(count: int) -> str:
    """1536 → 1.5 KB, in steps of 1024."""
    size = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if size >= 100 or unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


def time_for_people(seconds: float) -> str:
    """4000 → 1 h 07 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"


def _advice(advice: tuple[str, ...]) -> str:
    if not advice:
        return "<p>Nothing to worry about.</p>"
    return f'<ul class="advice">{"".join(f"<li>{escape(line)}</li>" for line in advice)}</ul>'


def _split(split: Split) -> str:
    removed = split.cleaning.removed
    facts = table(
        f"{split.cleaning.given:,} pairs read, {split.cleaning.kept:,} kept; "
        f"{split.several:,} further translations of a source already there",
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
    )
    cleaning = table("Removed by cleaning, filter by filter", removed, [removed.values()])
    notes = "".join(f"<p>{escape(note)}</p>" for note in split.notes)
    charts = "".join(_chart(side) for side in split.sides)
    return f'<h2>{escape(split.name)}</h2>{notes}{facts}<div class="sides">{charts}</div>{cleaning}'


def _chart(side: Side) -> str:
    """Bars of sentence lengths, each with its range and count."""
    most = max((count for _, _, count in side.histogram), default=1) or 1
    bars = []
    for at, (low, high, count) in enumerate(side.histogram):
        y = 18 * at
        width = 190 * count / most
        bars.append(
            f'<text x="52" y="{y + 12}" text-anchor="end">{low}–{high}</text>'
            f'<rect x="60" y="{y + 2}" width="{width:.1f}" height="12"/>'
            f'<text x="{64 + width:.1f}" y="{y + 12}">{count:,}</text>'
        )
    height = 18 * len(side.histogram)
    label = f"{side.name}: sentences by number of ids"
    return (
        f'<figure><figcaption>{label}</figcaption><svg role="img" aria-label="{label}" '
        f'width="330" height="{height}" viewBox="0 0 330 {height}">{"".join(bars)}</svg></figure>'
    )


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
    shown = table("Examples", ("source", "target"), examples) if examples else ""
    head = ("", "same pair", "same source", "same target", "of")
    return f"<h2>Leakage between splits</h2>{table('', head, rows)}{shown}"


def _suspicious(report: Report) -> str:
    if not report.suspicious:
        return "<h2>Suspicious pairs</h2><p>None.</p>"
    parts = ["<h2>Suspicious pairs</h2>"]
    for suspicion in report.suspicious:
        rows = [report.suspects[number] for number in suspicion.numbers]
        parts.append(
            table(
                f"{suspicion.count:,} × {suspicion.kind}: {suspicion.reason}",
                ("pair", "source", "target"),
                ((line, source, target) for source, target, line in rows),
            )
        )
    return "".join(parts)


def _batching(report: Report) -> str:
    batching = report.batching
    return (
        f"<h2>Batches</h2><p>{batching.batches:,} batches of at most {batching.tokens:,} tokens a "
        f"side; {batching.padding:.1%} padding (in the order of the file it would be "
        f"{batching.unsorted:.0%}).</p>"
    )


def _forecast(forecast: Forecast | None) -> str:
    if forecast is None:
        return ""
    rows = [
        ("model", f"{forecast.model}, {forecast.parameters:,} parameters"),
        ("device", forecast.device),
        ("speed", f"{forecast.tokens_per_second:,.0f} target tokens a second"),
        ("updates", f"{forecast.updates:,} ({forecast.epochs} epochs)"),
        ("time to finish", time_for_people(forecast.seconds)),
        ("weights and optimizer", bytes_for_people(forecast.state_bytes)),
        ("most memory taken", bytes_for_people(forecast.peak_bytes)),
    ]
    caption = f"Measured by {forecast.probed_updates} real updates on this machine"
    return f"<h2>Training here</h2>{table(caption, ('', ''), rows)}"
