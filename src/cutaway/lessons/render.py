"""A step in a terminal: Rich tables for matrices, characters for pictures."""

import math
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cutaway.lessons.lesson import Claim, Matrix, Picture, Step, localized
from cutaway.lessons.paragraph import Paragraph
from cutaway.lessons.section import Sections
from cutaway.lessons.texts import joined
from cutaway.numbers import colour, fixed

MOST_COLUMNS = 40  # columns shown of a wide matrix
PLOT_WIDTH, PLOT_HEIGHT = 64, 14
MARKS = "●○◆◇▲△■□✚✖"

TEXT = Sections("terminal")


def step_text(step: Step, language: str) -> RenderableType:
    """The step's text, shown before its question."""
    return Group(*map(Paragraph, step.text.in_language(language).split("\n")))


def rendered(step: Step, language: str) -> RenderableType:
    """What the step shows, after its question: matrices, pictures, claims."""
    return Group(*_parts(step, language))


def _parts(step: Step, language: str) -> Iterator[RenderableType]:
    for matrix in step.matrices:
        yield Text()
        yield Text(localized(matrix.name, language), style="italic")
        yield MatrixTable(matrix, language)
        if matrix.slips():
            printed = TEXT.section("verdicts").label("printed").in_language(language)
            yield Text(f"  {printed}", style="dim")
        if matrix.note is not None:
            yield Padding(Paragraph(matrix.note.in_language(language), "italic"), (0, 0, 0, 2))
    for picture in step.pictures:
        yield Text()
        yield plot(picture, language)
    if step.claims:
        yield Text()
    for claim in step.claims:
        yield _claim(claim, language)


class MatrixTable:
    """Numbers with their words, in as many blocks of columns as the width of the terminal asks for.

    A printed figure that differs stands in brackets after the computed one.
    """

    def __init__(self, matrix: Matrix, language: str) -> None:
        self.rows = [localized(name, language) for name in matrix.rows]
        self.columns = [localized(name, language) for name in matrix.columns]
        printed, slips = matrix.printed_table(), matrix.slips()
        self.cells: list[list[Text]] = []
        for row, numbers in enumerate(matrix.table()):
            line = []
            for column, value in enumerate(numbers):
                cell = Text(fixed(value, matrix.digits), style=colour(value, abs(value)))
                if printed is not None and (row, column) in slips:
                    cell.append(f" ({fixed(printed[row][column], matrix.digits)})", style="red")
                line.append(cell)
            self.cells.append(line)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for block in self._blocks(options.max_width):
            yield self._table(block)
        left_out = len(self.cells[0]) - MOST_COLUMNS
        if left_out > 0:
            yield Text(f"  +{left_out} …", style="dim")

    def _blocks(self, width: int) -> list[range]:
        """Ranges of columns that fit into a line, words of the rows included."""
        free = width - (max(map(cell_len, self.rows)) + 2 if self.rows else 0)
        blocks, begin, used = [], 0, 0
        shown = min(len(self.cells[0]), MOST_COLUMNS)
        for column in range(shown):
            wide = max(row[column].cell_len for row in self.cells)
            if self.columns:
                wide = max(wide, cell_len(self.columns[column]))
            if used + wide + 2 > free and column > begin:
                blocks.append(range(begin, column))
                begin, used = column, 0
            used += wide + 2
        return [*blocks, range(begin, shown)]

    def _table(self, block: range) -> Table:
        table = Table(box=None, padding=(0, 1), show_header=bool(self.columns))
        if self.rows:
            table.add_column("", style="dim", no_wrap=True)
        for column in block:
            name = Text(self.columns[column]) if self.columns else ""
            table.add_column(name, justify="right", no_wrap=True)
        for number, row in enumerate(self.cells):
            words = [Text(self.rows[number])] if self.rows else []
            table.add_row(*words, *(row[column] for column in block))
        return table


def plot(picture: Picture, language: str) -> RenderableType:
    """Curves, points or bars drawn with characters, with the range of both axes."""
    title = Text(picture.title.in_language(language), style="bold")
    if picture.kind == "bars":
        return Group(title, *_bars(picture, language))
    points = [
        (x, y, index, localized(one.labels[place], language) if one.labels else "")
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
        f"{MARKS[index % len(MARKS)]} {localized(one.name, language)}"
        for index, one in enumerate(picture.series)
    )
    scale = f"  {localized(picture.x, language)} {fixed(left, 3)} … {fixed(right, 3)}; "
    scale += f"{localized(picture.y, language)} {fixed(low, 3)} … {fixed(high, 3)}"
    axis = Text("  └" + "─" * PLOT_WIDTH)
    return Group(title, *lines, axis, Text(scale, style="dim"), Text(legend))


def _bars(picture: Picture, language: str) -> Iterator[RenderableType]:
    for one in picture.series:
        if one.name:
            yield Text(localized(one.name, language), style="dim")
        largest = max((abs(y) for y in one.y), default=1.0) or 1.0
        for place, y in enumerate(one.y):
            label = localized(one.labels[place], language) if one.labels else fixed(one.x[place], 2)
            bar = "█" * round(40 * abs(y) / largest)
            yield Text(f"  {label:<16} {fixed(y, 4):>10}  {bar}")


def _claim(claim: Claim, language: str) -> RenderableType:
    mark, style = ("✓", "green") if claim.holds else ("✗", "red")
    holds, fails = TEXT.names("verdicts", "holds", "fails")
    verdict = (holds if claim.holds else fails).in_language(language)
    return Paragraph(f"{mark} {joined([claim.said.in_language(language), verdict])}", style)
