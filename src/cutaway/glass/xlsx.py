"""Values as a spreadsheet whose formulas recompute them.

One sheet a value: the last axis runs along the columns, the one before along the rows, further
axes stack blocks below each other. A computed cell is a formula over the cells of its operands;
what was not computed in the chosen part is a number. −∞, which a sheet cannot hold, is −1E+300.
"""

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.errors import ExportError, TraceError
from cutaway.glass.address import Cell, parse
from cutaway.glass.evaluate import Evaluator
from cutaway.glass.explain import named_cell
from cutaway.glass.expr import Expr, children
from cutaway.glass.values import Value
from cutaway.glass.write import substitute

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

CELLS = 100_000  # of one workbook
LONGEST = 8000  # characters of a formula
INFINITY = "1E+300"
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
        raise TraceError(f"no value matches {pattern!r}; see trace.tree()")
    for value in found:
        yield value, list(np.ndindex(*value.shape))


def unravelled(flat: int, shape: tuple[int, ...]) -> Indices:
    """The indices of a cell by its number in reading order."""
    return tuple(int(part) for part in np.unravel_index(flat, shape)) if shape else ()


class _Book:
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
        from openpyxl.utils import get_column_letter

        for _ in range(max(depth, 1)):
            level, self.pending = self.pending, []
            makers: dict[int, _Formula] = {}
            for value, indices in level:
                maker = makers.get(value.id)
                if maker is None:
                    maker = makers[value.id] = _Formula(self, value, get_column_letter)
                self.cells[value.id][indices] = maker.cell(indices)

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

    def resolve(self, value: Value, indices: Indices) -> tuple[Value, Indices]:
        """The cell with a name that a cell is, views without one looked through."""
        cell = named_cell(self.trace, Cell(value, indices))
        self.need(cell.value, cell.indices)
        return cell.value, cell.indices

    # -- writing ----------------------------------------------------------------------------

    def write(self, workbook: Any, path: Path) -> None:
        """Contents first, then a sheet a value."""
        contents = workbook.active
        contents.title = "contents"
        contents.append(["sheet", "address", "shape", "statement"])
        for number in sorted(self.cells):
            value = self.trace.values[number]
            contents.append(
                [
                    self.sheets[value.id],
                    value.address,
                    " × ".join(map(str, value.shape)),
                    value.site.statement if value.site is not None else value.source,
                ]
            )
            sheet = workbook.create_sheet(self.sheets[value.id])
            sheet.cell(1, 1, value.address)
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
            sheet.cell(2, column + 2, _text(word))
        if len(value.shape) < 2:
            return
        words = self.trace.labels.get(axes[-2] or "", [])
        for lead in np.ndindex(*value.shape[:-2]):
            for row, word in enumerate(words[: value.shape[-2]]):
                sheet.cell(self.place(value, (*lead, row, 0))[0], 1, _text(word))


def _text(word: str) -> str:
    return f"'{word}" if word[:1] in "=+-@" else word


def _number(value: Any) -> float | str:
    number = float(value)
    if number != number:
        return "=NA()"
    if number in (float("inf"), float("-inf")):
        return float(f"{'-' if number < 0 else ''}{INFINITY}")
    return number


_NAMES = {"exp": "EXP", "log": "LN", "sqrt": "SQRT", "abs": "ABS", "sin": "SIN", "cos": "COS",
          "tan": "TAN", "tanh": "TANH", "erf": "ERF", "sign": "SIGN", "trunc": "TRUNC",
          "floor": "INT"}  # fmt: skip
_SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class _TooHard(Exception):
    """An expression that no formula can hold."""


class _Formula:
    """Rules as spreadsheet formulas, one cell at a time."""

    def __init__(self, book: _Book, value: Value, letter: Any) -> None:
        self.book = book
        self.letter = letter
        self.value = value
        self.rule, args = book.trace.rule(value)
        self.inputs = [book.trace.values[arg] for arg in args]

    def cell(self, indices: tuple[int, ...]) -> str | None:
        """The formula of a cell, or None where a number must stand."""
        if self.rule.expr is None:
            return None
        known = {f"i{axis}": place for axis, place in enumerate(indices)}
        try:
            text = "=" + self.write(substitute(self.rule.expr, known), {})
        except _TooHard:
            return None
        return text if len(text) <= LONGEST else None

    def write(self, expr: Expr, ranges: dict[str, int]) -> str:
        """A formula; inside a reduction `ranges` are the indices that run."""
        if isinstance(expr, (int, float)):
            return f"({expr!r})" if expr < 0 else repr(expr)
        if isinstance(expr, str):
            raise _TooHard
        head = expr[0]
        if head == "at":
            return self._at(expr, ranges)
        if head in ("add", "mul"):
            sign = "+" if head == "add" else "*"
            return "(" + sign.join(self.write(part, ranges) for part in expr[1:]) + ")"
        if head in ("sub", "div"):
            sign = "-" if head == "sub" else "/"
            return f"({self.write(expr[1], ranges)}{sign}{self.write(expr[2], ranges)})"
        if head == "neg":
            return f"(-{self.write(expr[1], ranges)})"
        if head in _NAMES:
            return f"{_NAMES[head]}({self.write(expr[1], ranges)})"
        if head == "rsqrt":
            return f"(1/SQRT({self.write(expr[1], ranges)}))"
        if head == "sigmoid":
            return f"(1/(1+EXP(-{self.write(expr[1], ranges)})))"
        if head == "pow":
            return f"({self.write(expr[1], ranges)}^{self.write(expr[2], ranges)})"
        if head in _SIGNS:
            left, right = self.write(expr[1], ranges), self.write(expr[2], ranges)
            return f"IF({left}{_SIGNS[head]}{right},1,0)"
        if head in ("inf", "-inf"):
            return f"({'-' if head == '-inf' else ''}{INFINITY})"
        return self._other(expr, ranges)

    def _other(self, expr: Expr, ranges: dict[str, int]) -> str:
        head = expr[0]
        if head in ("maximum", "minimum") and not ranges:
            name = "MAX" if head == "maximum" else "MIN"
            return f"{name}({self.write(expr[1], ranges)},{self.write(expr[2], ranges)})"
        if head == "not":
            return f"IF({self.write(expr[1], ranges)}=0,1,0)"
        if head == "where":
            if ranges:
                raise _TooHard
            return (
                f"IF({self.write(expr[1], {})}<>0,{self.write(expr[2], {})},"
                f"{self.write(expr[3], {})})"
            )
        if head == "let":
            return self.write(_inlined(expr[3], expr[1], expr[2]), ranges)
        if head in ("sum", "max", "min") and not ranges:
            return self._fold(expr)
        if head in ("sum", "max") and not _mentions(expr, ranges):
            return self._fold(expr)
        raise _TooHard

    def _fold(self, expr: Expr) -> str:
        head, ranges, body = expr
        if len(ranges) == 1:
            product = self._matrix_product(expr)
            if product is not None:
                return product
            try:
                inside = self.write(body, {ranges[0][0]: ranges[0][1]})
            except _TooHard:
                inside = ""
            if inside:
                if head == "sum":
                    return f"SUMPRODUCT({inside})"
                return f"SUMPRODUCT({head.upper()}({inside}))"
        places = np.ndindex(*(size for _, size in ranges))
        terms = []
        for place in places:
            known = {name: spot for (name, _), spot in zip(ranges, place, strict=True)}
            terms.append(self.write(substitute(body, known), {}))
            if sum(map(len, terms)) > LONGEST:
                raise _TooHard
        if head == "sum":
            return "(" + "+".join(terms) + ")"
        return f"{head.upper()}({','.join(terms)})"

    def _matrix_product(self, expr: Expr) -> str | None:
        """A row times a column is a matrix product of one cell."""
        _, ((name, size),), body = expr
        if expr[0] != "sum" or not isinstance(body, tuple) or body[0] != "mul" or len(body) != 3:
            return None
        try:
            parts = [self._range(part, {name: size}) for part in body[1:]]
        except (_TooHard, IndexError, TypeError):
            return None
        (left, down), (right, right_down) = parts
        if down == right_down:
            return f"SUMPRODUCT({left},{right})"
        return (
            f"SUMPRODUCT(MMULT({right},{left}))" if down else f"SUMPRODUCT(MMULT({left},{right}))"
        )

    def _at(self, expr: Expr, ranges: dict[str, int]) -> str:
        if _mentions(expr, ranges):
            text, down = self._range(expr, ranges)
            if down:
                raise _TooHard  # columns do not meet rows cell by cell
            return text
        indices = tuple(int(Evaluator([], []).run(part)) for part in expr[2])
        source = self.inputs[expr[1]]
        if any(not 0 <= spot < size for spot, size in zip(indices, source.shape, strict=True)):
            if len(expr) == 4:
                return self.write(expr[3], ranges)
            raise _TooHard
        value, indices = self.book.resolve(source, indices)
        row, column = self.book.place(value, indices)
        return f"'{self.book.sheets[value.id]}'!{self.letter(column)}{row}"

    def _range(self, expr: Expr, ranges: dict[str, int]) -> tuple[str, bool]:
        """The cells an operand's index runs over, if they stand in one row or column."""
        if not isinstance(expr, tuple) or expr[0] != "at" or len(expr) != 3 or len(ranges) != 1:
            raise _TooHard
        ((name, size),) = ranges.items()
        places = []
        owner: Value | None = None
        for spot in range(size):
            indices = tuple(
                int(Evaluator([], []).run(substitute(part, {name: spot}))) for part in expr[2]
            )
            value, inner = self.book.resolve(self.inputs[expr[1]], indices)
            if owner is not None and owner is not value:
                raise _TooHard
            owner = value
            places.append(self.book.place(value, inner))
        assert owner is not None
        rows, columns = {row for row, _ in places}, {column for _, column in places}
        first, last = places[0], places[-1]
        along = len(rows) == 1 and [c for _, c in places] == list(range(first[1], first[1] + size))
        down = len(columns) == 1 and [r for r, _ in places] == list(
            range(first[0], first[0] + size)
        )
        if not along and not down:
            raise _TooHard
        sheet = self.book.sheets[owner.id]
        text = f"'{sheet}'!{self.letter(first[1])}{first[0]}:{self.letter(last[1])}{last[0]}"
        return text, not along


def _mentions(expr: Expr, names: Any) -> bool:
    if isinstance(expr, str):
        return expr in names
    return isinstance(expr, tuple) and any(_mentions(part, names) for part in children(expr))


def _inlined(body: Expr, name: str, value: Expr) -> Expr:
    """A named part written out where it is used."""
    if body == name:
        return value
    if isinstance(body, tuple):
        return tuple(_inlined(part, name, value) for part in body)
    return body
