"""HTML reports, each one self-contained file: document, tables, drawings, one stylesheet.

Every text given to a function here is escaped; only `document` takes HTML, as its body.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from cutaway.numbers import short

__all__ = ["GENERATOR", "bars", "block", "curve", "document", "facts", "table"]


GENERATOR = '<meta name="generator" content="Cutaway">'  # by which a report is known as ours


def document(title: str, body: str, *, script: str = "") -> str:
    """A whole page; a policy forbids it to fetch anything or to run any other script."""
    style = files("cutaway.report").joinpath("report.css").read_text(encoding="utf-8")
    # Cells of a map get their colour from the script, so styles in the page are allowed.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
        script = f"<script>{script}</script>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{GENERATOR}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n{script}</body>\n</html>\n"
    )


def block(name: str, value: Any) -> str:
    """Data for a page's script; "<" is written so that no text can end the block."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


def table(head: Iterable[str], rows: Iterable[Iterable[object]], caption: str = "") -> str:
    """A table; whole numbers stand to the right, with thousands separated."""
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        "<table>"
        + (f"<caption>{escape(caption)}</caption>" if caption else "")
        + (f"<thead><tr>{heads}</tr></thead>" if heads else "")
        + f"<tbody>{body}</tbody></table>"
    )


def facts(rows: Iterable[tuple[str, object]], caption: str = "") -> str:
    """Two columns: name and value."""
    return table((), ((name, str(value)) for name, value in rows), caption)


def _cell(cell: object) -> str:
    if isinstance(cell, int):
        return f'<td class="number">{cell:,}</td>'
    return f"<td>{escape(str(cell))}</td>"


def bars(rows: Sequence[tuple[str, int]], title: str) -> str:
    """Horizontal bars, each with its label and count."""
    most = max((count for _, count in rows), default=1) or 1
    drawn = []
    for place, (label, count) in enumerate(rows):
        y, width = 18 * place, 190 * count / most
        drawn.append(
            f'<text x="52" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="60" y="{y + 2}" width="{width:.1f}" height="12"/>'
            f'<text x="{64 + width:.1f}" y="{y + 12}">{count:,}</text>'
        )
    return _figure(title, title, 330, 18 * len(rows), "".join(drawn))


def curve(points: Sequence[tuple[float, float]], title: str, unit: str) -> str:
    """One series as a line, with its least and greatest value and both ends of the axis."""
    if not points:
        return ""
    width, height, left, bottom = 480, 180, 52, 20
    first, last = points[0][0], points[-1][0]
    low, high = min(y for _, y in points), max(y for _, y in points)
    across = (width - left - 6) / max(1e-12, last - first)
    up = (height - bottom - 10) / max(1e-12, high - low)
    ground = height - bottom
    line = " ".join(
        f"{left + (x - first) * across:.1f},{ground - (y - low) * up:.1f}" for x, y in points
    )
    drawn = (
        f'<line class="grid" x1="{left}" x2="{width}" y1="{ground}" y2="{ground}"/>'
        f'<line class="grid" x1="{left}" x2="{width}" y1="10" y2="10"/>'
        f'<text x="0" y="{ground}">{short(low)}</text><text x="0" y="14">{short(high)}</text>'
        f'<text x="{left}" y="{height - 4}">{short(first, 6)}</text>'
        f'<text x="{width}" y="{height - 4}" text-anchor="end">{short(last, 6)} {escape(unit)}'
        "</text>"
        f'<polyline points="{line}"/>'
    )
    described = f"{title}: from {short(points[0][1])} to {short(points[-1][1])}"
    return _figure(title, described, width, height, drawn)


def _figure(title: str, described: str, width: int, height: int, drawn: str) -> str:
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg role="img" aria-label="{escape(described)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{drawn}</svg></figure>'
    )
