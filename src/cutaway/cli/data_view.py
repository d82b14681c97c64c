"""The report of `cutaway data check` in a terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from cutaway.corpus.check import Report
    from cutaway.corpus.check_report import Bars, Table

BAR = 20  # characters of the longest bar
EXAMPLES = 2  # sentences shown of each kind
WIDEST = 60  # characters shown of a sentence


def show(report: "Report", console: "Console | None" = None) -> None:
    """Print the report, the advice last: it is what remains on the screen."""
    from rich.columns import Columns
    from rich.console import Console
    from rich.text import Text

    from cutaway.corpus.check_report import Bars, Table, advice, sections

    out = console or Console(highlight=False)
    for section in (*sections(report), advice(report)):
        out.rule(Text(section.title, style="bold"), align="left")
        for part in section.parts:
            if isinstance(part, str):
                out.print(Text(part))
            elif isinstance(part, Table):
                out.print(_table(part))
        if charts := [_bars(part) for part in section.parts if isinstance(part, Bars)]:
            out.print(Columns(charts, padding=(0, 3)))


def _table(part: "Table") -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=bool(part.head) and not part.examples)
    rows = part.rows[:EXAMPLES] if part.examples else part.rows
    for cells in zip(part.head or rows[0], *rows, strict=True):
        words = not part.head or part.examples or cells[0] == ""
        table.add_column(str(cells[0]), justify="left" if words else "right")
    for row in rows:
        texts = [Text(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row]
        for text in texts if part.examples else ():
            text.truncate(WIDEST, overflow="ellipsis")
        table.add_row(*texts)
    return Group(Text(part.caption), table) if part.caption else table


def _bars(part: "Bars") -> str:
    most = max((count for _, count in part.rows), default=1) or 1
    wide = max((len(label) for label, _ in part.rows), default=0)
    lines = [part.title]
    for label, count in part.rows:
        bar = "█" * round(BAR * count / most) or ("▏" if count else "")
        lines.append(f"{label:>{wide}} {bar} {count:,}")
    return "\n".join(lines)
