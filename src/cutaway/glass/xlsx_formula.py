"""One cell's arithmetic as a spreadsheet formula."""

from typing import Protocol

import numpy as np

from cutaway.glass.evaluator import Evaluator
from cutaway.glass.expr import At, Expr, Fold, Let, Op, at_cell, mentions, substitute
from cutaway.glass.values import Value

LONGEST = 8000  # characters of a formula
INFINITY = "1E+300"
NAMES = {"exp": "EXP", "log": "LN", "sqrt": "SQRT", "abs": "ABS", "sin": "SIN", "cos": "COS",
         "tan": "TAN", "tanh": "TANH", "erf": "ERF", "sign": "SIGN", "trunc": "TRUNC",
         "floor": "INT"}  # fmt: skip
INFIX = {"add": "+", "mul": "*", "sub": "-", "div": "/", "pow": "^"}
SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
ONE = {
    "neg": "(-{})",
    "rsqrt": "(1/SQRT({}))",
    "sigmoid": "(1/(1+EXP(-{})))",
    "not": "IF({}=0,1,0)",
    **{head: f"{name}({{}})" for head, name in NAMES.items()},
}
ALONE = {"maximum", "minimum", "where"}  # would treat a range of cells as one
KNOWN = {*INFIX, *SIGNS, *ONE, *ALONE, "inf", "-inf"}


class Sheets(Protocol):
    """Where cells stand in the workbook."""

    def spot(self, value: Value, indices: tuple[int, ...]) -> tuple[str, int, int]:
        """Sheet, row and column of a cell, from 1."""


class TooHard(Exception):
    """An expression that no formula can hold."""


def formula(
    expr: Expr, indices: tuple[int, ...], inputs: list[Value], sheets: Sheets
) -> str | None:
    """The formula of a cell, or None where a number must stand."""
    try:
        text = "=" + _Writer(inputs, sheets).write(at_cell(expr, indices), {})
    except TooHard:
        return None
    return text if len(text) <= LONGEST else None


def _letters(column: int) -> str:
    """A, B, …, Z, AA, …"""
    text = ""
    while column:
        column, digit = divmod(column - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


class _Writer:
    """Inside a reduction `ranges` are the indices that run: an operand is then a range of cells."""

    def __init__(self, inputs: list[Value], sheets: Sheets) -> None:
        self.inputs = inputs
        self.sheets = sheets

    def write(self, expr: Expr, ranges: dict[str, int]) -> str:
        """A formula, in parentheses where it needs them."""
        match expr:
            case int() | float():
                return f"({expr!r})" if expr < 0 else repr(expr)
            case At():
                return self._at(expr, ranges)
            case Op():
                return self._operator(expr, ranges)
            case Let(name, value, body):
                return self.write(substitute(body, {name: value}), ranges)
            case Fold(kind="sum" | "max" | "min") if not ranges:
                return self._fold(expr)
            case Fold(kind="sum" | "max") if not mentions(expr, ranges):
                return self._fold(expr)
        raise TooHard

    def _operator(self, expr: Op, ranges: dict[str, int]) -> str:
        head = expr.head
        if head not in KNOWN or (ranges and head in ALONE):
            raise TooHard
        parts = [self.write(part, ranges) for part in expr.args]
        if head in INFIX:
            return f"({INFIX[head].join(parts)})"
        if head in ONE:
            return ONE[head].format(*parts)
        if head in SIGNS:
            return f"IF({parts[0]}{SIGNS[head]}{parts[1]},1,0)"
        if head in ("maximum", "minimum"):
            return f"{head[:3].upper()}({parts[0]},{parts[1]})"
        if head == "where":
            return f"IF({parts[0]}<>0,{parts[1]},{parts[2]})"
        return f"({head.removesuffix('inf')}{INFINITY})"

    def _fold(self, expr: Fold) -> str:
        if len(expr.ranges) == 1:
            product = self._matrix_product(expr)
            if product is not None:
                return product
            try:
                inside = self.write(expr.body, dict(expr.ranges))
            except TooHard:
                pass
            else:
                name = expr.kind.upper()
                return f"SUMPRODUCT({inside if name == 'SUM' else f'{name}({inside})'})"
        terms: list[str] = []
        for place in np.ndindex(*(size for _, size in expr.ranges)):
            known = dict(zip(expr.binds, place, strict=True))
            terms.append(self.write(substitute(expr.body, known), {}))
            if sum(map(len, terms)) > LONGEST:
                raise TooHard
        return (
            f"({'+'.join(terms)})"
            if expr.kind == "sum"
            else f"{expr.kind.upper()}({','.join(terms)})"
        )

    def _matrix_product(self, expr: Fold) -> str | None:
        """A row times a column is a matrix product of one cell."""
        match expr:
            case Fold(kind="sum", body=Op("mul", (At() as first, At() as second))):
                pass
            case _:
                return None
        try:
            left, down = self._range(first, dict(expr.ranges))
            right, right_down = self._range(second, dict(expr.ranges))
        except (TooHard, IndexError):
            return None
        if down == right_down:
            return f"SUMPRODUCT({left},{right})"
        row, column = (right, left) if down else (left, right)
        return f"SUMPRODUCT(MMULT({row},{column}))"

    def _at(self, expr: At, ranges: dict[str, int]) -> str:
        if mentions(expr, ranges):
            text, down = self._range(expr, ranges)
            if down:
                raise TooHard  # columns do not meet rows cell by cell
            return text
        indices = _indices(expr)
        source = self.inputs[expr.operand]
        if any(not 0 <= spot < size for spot, size in zip(indices, source.shape, strict=True)):
            if expr.default is not None:
                return self.write(expr.default, ranges)
            raise TooHard
        sheet, row, column = self.sheets.spot(source, indices)
        return f"'{sheet}'!{_letters(column)}{row}"

    def _range(self, expr: At, ranges: dict[str, int]) -> tuple[str, bool]:
        """The cells an operand's index runs over, if they stand in one row or column."""
        if expr.default is not None or len(ranges) != 1:
            raise TooHard
        ((name, size),) = ranges.items()
        places = []
        for spot in range(size):
            indices = _indices(substitute(expr, {name: spot}))
            places.append(self.sheets.spot(self.inputs[expr.operand], indices))
        (sheet, top, left), (_, bottom, right) = places[0], places[-1]
        along = places == [(sheet, top, left + step) for step in range(size)]
        if not along and places != [(sheet, top + step, left) for step in range(size)]:
            raise TooHard
        return f"'{sheet}'!{_letters(left)}{top}:{_letters(right)}{bottom}", not along


def _indices(expr: Expr) -> tuple[int, ...]:
    """The indices of a cell, all of them numbers."""
    assert isinstance(expr, At)
    try:
        return tuple(int(Evaluator([], []).run(part)) for part in expr.where)
    except (KeyError, IndexError):  # an index that is looked up, or a variable
        raise TooHard from None
