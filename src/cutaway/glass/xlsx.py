"""Values as a spreadsheet whose formulas recompute them.

One sheet per value: the last axis runs along the columns, the one before along the rows, further
axes stack blocks below each other. A computed cell is a formula over the cells of its operands;
what was not computed in the chosen part is a number. −∞, which a sheet cannot hold, is −1E+300.
"""

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.errors import ExportError, NotFoundError, TraceError
from cutaway.glass.address import Cell, parse
from cutaway.glass.reads import named_cell
from cutaway.glass.values import Value
from cutaway.glass.xlsx_formula import INFINITY, Sheets, formula

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

CELLS = 100_000  # of one workbook
LONGEST_TEXT = 32_000  # characters of a text; a sheet holds 32,767
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not in XML
Indices = tuple[int, ...]


def to_xlsx(trace: "Trace", path: Path, pattern: str, *, depth: int = 1) -> None:
    """Write the values that match, as formulas, and the cells they are made of.

    `pattern` is an address (a part of it, too: `….weights[0,1]` is one head), a pattern, or a
    module's path. `depth` is how many named values back formulas go; beyond, numbers stand.
    """
    try:
        import openpyxl
    except ImportError:
        raise ExportError("spreadsheets need openpyxl; pip install 'cutaway[xlsx]'") from None
    book = _Book(trace)
    for value, cells in _chosen(trace, pattern):
        for indices in cells:
            book.need(value, indices)
    book.fill(depth)
    book.write(openpyxl.Workbook(), path)


def _chosen(trace: "Trace", pattern: str) -> Iterator[tuple[Value, list[Indices]]]:
    """The values to write, each with its cells."""
    name, indices = parse(pattern)
    if "*" not in name and name in trace:
        value = trace.value(name)
        where = np.arange(value.cells).reshape(value.shape)[indices]
        yield value, [unravelled(int(flat), value.shape) for flat in where.flatten()]
        return
    found = [
        value
        for value in trace.values
        if value.name is not None
        and value.source is None
        and value.phase == "forward"
        and (fnmatch.fnmatchcase(value.address, name) or value.path == name)
    ]
    if not found:
        raise NotFoundError(f"no value matches {pattern!r}; see trace.tree()")
    for value in found:
        yield value, list(np.ndindex(*value.shape))


def unravelled(flat: int, shape: tuple[int, ...]) -> Indices:
    """The indices of a cell by its number in reading order."""
    return tuple(int(part) for part in np.unravel_index(flat, shape)) if shape else ()


class _Book(Sheets):
    """Which cells are written, as formulas or numbers, and where each stands."""

    def __init__(self, trace: "Trace") -> None:
        self.trace = trace
        self.cells: dict[int, dict[Indices, str | None]] = {}
        self.pending: list[tuple[Value, Indices]] = []
        self.sheets: dict[int, str] = {}
        self.count = 0

    def need(self, value: Value, indices: Indices) -> None:
        """A cell that must stand in the book."""
        held = self.cells.setdefault(value.id, {})
        if indices in held:
            return
        if value.id not in self.sheets:
            self.sheets[value.id] = self._sheet(value)
        held[indices] = None
        self.pending.append((value, indices))
        self.count += 1
        if self.count > CELLS:
            raise TraceError(
                f"more than {CELLS:,} cells for one workbook; name a part, as in name[0,1]"
            )

    def fill(self, depth: int) -> None:
        """Give the cells their formulas, level by level; the last level keeps its numbers."""
        for _ in range(max(depth, 1)):
            level, self.pending = self.pending, []
            for value, indices in level:
                rule, args = self.trace.rule(value)
                if rule.expr is not None:
                    inputs = [self.trace.values[arg] for arg in args]
                    self.cells[value.id][indices] = formula(rule.expr, indices, inputs, self)

    def _sheet(self, value: Value) -> str:
        parts = value.address.split(".")
        own = ".".join(parts[-2:]) if value.source else parts[-1]
        base = re.sub(r"[^A-Za-z0-9_.]", "_", own)
        name, number = base[:28], 1
        taken = {sheet.lower() for sheet in self.sheets.values()} | {"contents"}
        while name.lower() in taken:
            number += 1
            name = f"{base[:25]}_{number}"
        return name

    # -- places -----------------------------------------------------------------------------

    def place(self, value: Value, indices: tuple[int, ...]) -> tuple[int, int]:
        """Row and column of a cell on its sheet, from 1; row 1 is the title."""
        shape = value.shape
        if not shape:
            return 2, 2
        if len(shape) == 1:
            return 3, indices[0] + 2
        block = 0
        for index, size in zip(indices[:-2], shape[:-2], strict=True):
            block = block * size + index
        return 3 + block * (shape[-2] + 2) + indices[-2], indices[-1] + 2

    def spot(self, value: Value, indices: Indices) -> tuple[str, int, int]:
        """Sheet, row and column of an operand's cell; views without a name are looked through."""
        cell = named_cell(self.trace, Cell(value, indices))
        self.need(cell.value, cell.indices)
        return self.sheets[cell.value.id], *self.place(cell.value, cell.indices)

    # -- writing ----------------------------------------------------------------------------

    def write(self, workbook: Any, path: Path) -> None:
        """Contents first, then one sheet per value."""
        contents = workbook.active
        contents.title = "contents"
        contents.append(["sheet", "address", "shape", "statement"])
        for number in sorted(self.cells):
            value = self.trace.values[number]
            row_texts = [
                self.sheets[value.id],
                value.address,
                " × ".join(map(str, value.shape)),
                value.site.statement if value.site is not None else value.source,
            ]
            line = contents.max_row + 1
            for column, text in enumerate(row_texts, start=1):
                _write_text(contents.cell(line, column), text or "")
            sheet = workbook.create_sheet(self.sheets[value.id])
            _write_text(sheet.cell(1, 1), value.address)
            self._labels(sheet, value)
            numbers = value.array()
            for indices, text in self.cells[value.id].items():
                row, column = self.place(value, indices)
                sheet.cell(row, column, text if text is not None else _number(numbers[indices]))
        try:
            workbook.save(path)
        except OSError as error:
            raise ExportError(f"cannot write {path}: {error.strerror}") from None

    def _labels(self, sheet: Any, value: Value) -> None:
        """The words along the axes, where they are known."""
        axes = value.axes or [None] * len(value.shape)
        if not value.shape:
            return
        words = self.trace.labels.get(axes[-1] or "", [])
        for column, word in enumerate(words[: value.shape[-1]]):
            _write_text(sheet.cell(2, column + 2), word)
        if len(value.shape) < 2:
            return
        words = self.trace.labels.get(axes[-2] or "", [])
        for lead in np.ndindex(*value.shape[:-2]):
            for row, word in enumerate(words[: value.shape[-2]]):
                _write_text(sheet.cell(self.place(value, (*lead, row, 0))[0], 1), word)


def _write_text(cell: Any, text: object) -> None:
    """A text as text, whatever it begins with: a saved trace may come from anywhere."""
    plain = CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text))[:LONGEST_TEXT]
    cell.value = plain
    cell.data_type = "s"


def _number(value: Any) -> float | str:
    number = float(value)
    if number != number:
        return "=NA()"
    if number in (float("inf"), float("-inf")):
        return float(f"{'-' if number < 0 else ''}{INFINITY}")
    return number
