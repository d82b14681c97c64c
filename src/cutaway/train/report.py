"""report.html: the run on one page, with its own drawings and no other file needed."""

import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import Any

from cutaway.config import RunConfig
from cutaway.train.prepare import Prepared, Rows

SHOWN = 10  # best and worst sentences, each
STYLE = """
:root { color-scheme: light dark; --line: #2f6fb3; --grid: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .2rem .8rem
.2rem 0; vertical-align: top; border-bottom: 1px solid var(--grid) }
td.n { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 1rem 0; display: inline-block; width: 30rem; max-width: 100% }
svg { width: 100%; height: auto } svg text { font-size: 11px; fill: currentColor }
polyline { fill: none; stroke: var(--line); stroke-width: 1.6 } .grid { stroke: var(--grid) }
"""


def write_report(
    path: Path,
    *,
    log: bytes,
    config: RunConfig,
    prepared: Prepared,
    environment: dict[str, Any],
    metrics: dict[str, float],
    outputs: Sequence[str],
) -> None:
    """Curves, scores, best and worst sentences, data, settings and environment."""
    lines = [json.loads(line) for line in log.splitlines()]
    names = sorted({name for line in lines for name in line if name.startswith("valid_")})
    curves = [("loss", "training loss per token"), ("rate", "learning rate"), ("norm", "gradient")]
    curves += [(name, name.replace("valid_", "validation ")) for name in names]
    drawn = "".join(
        curve([(line["update"], line[name]) for line in lines if name in line], title)
        for name, title in curves
    )
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>Training report</title><style>{STYLE}</style><h1>Training report</h1>",
        "<h2>Scores of the model kept</h2>",
        table((name, f"{value:.4f}") for name, value in metrics.items()),
        f"<h2>Curves</h2>{drawn}",
        sentences(prepared.validation_rows, outputs),
        "<h2>Data</h2>",
        table(
            [
                ("training rows", f"{len(prepared.train):,}"),
                ("validation rows", f"{len(prepared.validation_rows):,}"),
                ("vocabulary", f"{prepared.tokenizer.vocabulary:,}"),
                ("SHA-256 of the training ids", prepared.train.fingerprint),
                *(("", note) for note in prepared.notes),
            ]
        ),
    ]
    for heading, values in (
        *config.to_tables().items(),
        ("shape", prepared.model.to_dict()),
        ("environment", environment),
    ):
        parts += [f"<h2>{escape(heading)}</h2>", table((n, str(v)) for n, v in values.items())]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def table(rows: Any) -> str:
    """Two columns: name and value."""
    cells = "".join(f"<tr><td>{escape(n)}<td>{escape(v)}" for n, v in rows)
    return f"<table>{cells}</table>"


def curve(points: Sequence[tuple[float, float]], title: str) -> str:
    """One series as an SVG line with its least and greatest value and both ends of the axis."""
    if not points:
        return ""
    width, height, left, bottom = 480, 180, 52, 20
    (first, last) = points[0][0], points[-1][0]
    low, high = min(y for _, y in points), max(y for _, y in points)
    across = (width - left - 6) / max(1e-12, last - first)
    up = (height - bottom - 10) / max(1e-12, high - low)
    path = " ".join(
        f"{left + (x - first) * across:.1f},{height - bottom - (y - low) * up:.1f}"
        for x, y in points
    )
    ground = height - bottom
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f"<svg viewBox='0 0 {width} {height}' role=img aria-label='{escape(title)}: from "
        f"{points[0][1]:.4g} to {points[-1][1]:.4g}'>"
        f"<line class=grid x1={left} x2={width} y1={ground} y2={ground} />"
        f"<line class=grid x1={left} x2={width} y1=10 y2=10 />"
        f"<text x=0 y={ground}>{low:.4g}</text><text x=0 y=14>{high:.4g}</text>"
        f"<text x={left} y={height - 4}>{first:g}</text>"
        f"<text x={width} y={height - 4} text-anchor=end>{last:g} updates</text>"
        f"<polyline points='{path}' /></svg></figure>"
    )


def sentences(rows: Rows, outputs: Sequence[str]) -> str:
    """The validation sentences that came out best and worst, by share of equal characters."""
    if not outputs:
        return ""
    judged = sorted(
        (SequenceMatcher(None, output, target, autojunk=False).ratio(), source, target, output)
        for (source, target), output in zip(rows, outputs, strict=True)
    )
    parts = []
    for heading, chosen in (
        ("Worst validation sentences", judged[:SHOWN]),
        ("Best validation sentences", sorted(judged[-SHOWN:], reverse=True)),
    ):
        body = "".join(
            f"<tr><td class=n>{100 * share:.0f} %<td>{escape(source)}<td>{escape(target)}"
            f"<td>{escape(output)}"
            for share, source, target, output in chosen
        )
        parts.append(
            f"<h2>{heading}</h2><table><tr><th>alike<th>source<th>reference<th>output{body}</table>"
        )
    return "".join(parts)
