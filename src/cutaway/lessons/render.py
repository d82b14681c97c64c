"""A step as a person sees it in a terminal: Rich tables for matrices, characters for pictures."""

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cutaway.lessons.lesson import Claim, Matrix, Picture, Said, Step, spoken

WIDE = 12  # columns of a matrix that a terminal line takes
PLOT_WIDTH, PLOT_HEIGHT = 64, 14
MARKS = "●○◆◇▲△■□✚✖"

SLIP = Said("(in brackets: what a source prints instead)", "（括号里是资料中印的数）")
HOLDS = Said("holds", "成立")
FAILS = Said("does not hold here", "此处不成立")


def told(step: Step, language: str) -> RenderableType:
    """What the step says, before its question."""
    return Group(*(Text(paragraph) for paragraph in step.text.within(language).split("\n")))


def rendered(step: Step, language: str) -> RenderableType:
    """What the step shows, after its question: matrices, pictures, claims."""
    return Group(*_parts(step, language))


def _parts(step: Step, language: str) -> Iterator[RenderableType]:
    for matrix in step.matrices:
        yield Text()
        yield Text(spoken(matrix.name, language), style="italic")
        yield matrix_table(matrix, language)
        if matrix.slips():
            yield Text("  " + SLIP.within(language), style="dim")
        if matrix.note is not None:
            yield Padding(Text(matrix.note.within(language), style="italic"), (0, 0, 0, 2))
    for picture in step.pictures:
        yield Text()
        yield plot(picture, language)
    if step.claims:
        yield Text()
    for claim in step.claims:
        yield _claim(claim, language)


def matrix_table(matrix: Matrix, language: str) -> Table:
    """Numbers with their words; a printed slip stands in brackets behind the right figure."""
    rows, printed, slips = matrix.table(), matrix.printed_table(), matrix.slips()
    shown = len(rows[0])
    left_out = max(0, shown - WIDE)
    table = Table(box=None, padding=(0, 1), show_header=bool(matrix.columns))
    if matrix.rows:
        table.add_column("", style="dim", no_wrap=True)
    for column in range(shown - left_out):
        name = spoken(matrix.columns[column], language) if matrix.columns else ""
        table.add_column(name, justify="right", no_wrap=True)
    if left_out:
        table.add_column(f"+{left_out}", style="dim")
    for number, row in enumerate(rows):
        cells: list[RenderableType] = (
            [Text(spoken(matrix.rows[number], language))] if matrix.rows else []
        )
        for column, value in enumerate(row[: shown - left_out]):
            cell = Text(figure(value, matrix.digits), style=_style(value))
            if printed is not None and (number, column) in slips:
                cell.append(" ")
                wrong = figure(printed[number][column], matrix.digits)
                cell.append(f"({wrong})", style="red")
            cells.append(cell)
        table.add_row(*cells, *(["…"] if left_out else []))
    return table


def figure(value: float, digits: int) -> str:
    """A number as a table shows it: fixed digits, a true minus, −∞ as its own sign."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    if value != 0 and abs(value) < 10**-digits:
        return f"{value:.2g}".replace("-", "−")
    if value == round(value) and abs(value) < 1e9:
        return f"{value:.0f}".replace("-", "−")
    return f"{value:.{digits}f}".replace("-", "−")


def _style(value: float) -> str:
    """Blue above zero, orange below, as on the page."""
    if math.isinf(value) or math.isnan(value):
        return "dim"
    return "default" if value == 0 else ("blue" if value > 0 else "dark_orange")


def plot(picture: Picture, language: str) -> RenderableType:
    """Curves, points or bars drawn with characters, with the range of both axes."""
    title = Text(picture.title.within(language), style="bold")
    if picture.kind == "bars":
        return Group(title, *_bars(picture, language))
    points = [
        (x, y, index, spoken(one.labels[place], language) if one.labels else "")
        for index, one in enumerate(picture.series)
        for place, (x, y) in enumerate(zip(one.x, one.y, strict=True))
        if math.isfinite(x) and math.isfinite(y)
    ]
    left, right = min(p[0] for p in points), max(p[0] for p in points)
    low, high = min(p[1] for p in points), max(p[1] for p in points)
    grid = [[" "] * PLOT_WIDTH for _ in range(PLOT_HEIGHT)]
    for x, y, index, label in points:
        column = round((x - left) / ((right - left) or 1) * (PLOT_WIDTH - 1))
        row = round((high - y) / ((high - low) or 1) * (PLOT_HEIGHT - 1))
        grid[row][column] = MARKS[index % len(MARKS)]
        label = label[:14]
        begin = column + 2 if column + 2 + len(label) <= PLOT_WIDTH else column - 1 - len(label)
        for place, letter in enumerate(label, start=begin):
            if grid[row][place] == " ":
                grid[row][place] = letter
    lines = [Text("  │" + "".join(row).rstrip()) for row in grid]
    legend = "   ".join(
        f"{MARKS[index % len(MARKS)]} {spoken(one.name, language)}"
        for index, one in enumerate(picture.series)
    )
    scale = f"  {spoken(picture.x, language)} {figure(left, 3)} … {figure(right, 3)}; "
    scale += f"{spoken(picture.y, language)} {figure(low, 3)} … {figure(high, 3)}"
    return Group(title, *lines, Text("  └" + "─" * PLOT_WIDTH), Text(scale, style="dim"), legend)


def _bars(picture: Picture, language: str) -> Iterator[RenderableType]:
    for one in picture.series:
        if one.name:
            yield Text(spoken(one.name, language), style="dim")
        largest = max((abs(y) for y in one.y), default=1.0) or 1.0
        for place, y in enumerate(one.y):
            label = spoken(one.labels[place], language) if one.labels else figure(one.x[place], 2)
            bar = "█" * round(40 * abs(y) / largest)
            yield Text(f"  {label:<16} {figure(y, 4):>10}  {bar}")


def _claim(claim: Claim, language: str) -> Text:
    mark, style = ("✓", "green") if claim.holds else ("✗", "red")
    verdict = (HOLDS if claim.holds else FAILS).within(language)
    return Text.assemble((f"{mark} ", style), claim.said.within(language), (f" ({verdict})", "dim"))
