"""Which cells a number was made of, with the addresses a reader knows them by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from cutaway.glass.address import Cell, spell
from cutaway.glass.evaluator import Evaluator
from cutaway.glass.expr import (
    At,
    Expr,
    Let,
    Node,
    Op,
    Ranges,
    Reduction,
    at_cell,
    mentions,
    number,
    op,
    substitute,
)
from cutaway.glass.functions import Array
from cutaway.glass.values import Value

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace


def _viewed(trace: "Trace", value: Value) -> tuple[At, Value]:
    """The cell of another value that a cell of a view is, and that value."""
    rule, args = trace.rule(value)
    assert isinstance(rule.expr, At)
    return rule.expr, trace.values[args[0]]


def behind(trace: "Trace", cell: Cell) -> Cell:
    """The cell that a view's cell shows."""
    seen, source = _viewed(trace, cell.value)
    parts = [at_cell(part, cell.indices) for part in seen.where]
    return Cell(source, tuple(int(Evaluator([], []).run(part)) for part in parts))


def named_cell(trace: "Trace", cell: Cell) -> Cell:
    """Follow views without a name to a cell that has the author's."""
    while cell.value.name is None and trace.rule(cell.value)[0].kind == "view":
        cell = behind(trace, cell)
    return cell


@dataclass(frozen=True)
class Operand:
    """A number that went into another, and its address."""

    address: str
    value: float


@dataclass(frozen=True)
class Read:
    """Many cells of one value."""

    value: Value
    places: list[Array]  # one flat array of indices per axis
    numbers: Array


class Operands(Sequence[Operand]):
    """The operands of a cell, each once; addresses are spelt when they are looked at."""

    def __init__(self, reads: Iterator[Read]) -> None:
        self._reads = list(reads)
        owners, flats, homes, spots = [], [], [], []
        for home, read in enumerate(self._reads):
            count = len(read.numbers)
            flat = np.zeros(count, np.int64)
            for place, size in zip(read.places, read.value.shape, strict=True):
                flat = flat * size + place
            owners.append(np.full(count, read.value.id))
            flats.append(flat)
            homes.append(np.full(count, home))
            spots.append(np.arange(count))
        if not owners:
            self._order = np.zeros((0, 2), np.int64)
            return
        keys = np.stack([np.concatenate(owners), np.concatenate(flats)], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        kept = np.sort(first)
        self._order = np.stack([np.concatenate(homes), np.concatenate(spots)], axis=1)[kept]

    @classmethod
    def of(
        cls, trace: "Trace", expr: Expr | None, args: tuple[int, ...], indices: Sequence[int]
    ) -> "Operands":
        """What one cell reads; of an operation without a rule, its operands of one cell."""
        return cls(_reads(trace, expr, [trace.values[arg] for arg in args], indices))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, which: int) -> Operand: ...
    @overload
    def __getitem__(self, which: slice) -> list[Operand]: ...
    def __getitem__(self, which: int | slice) -> Operand | list[Operand]:
        if isinstance(which, slice):
            return [self[place] for place in range(*which.indices(len(self)))]
        home, spot = self._order[which]
        read = self._reads[home]
        indices = tuple(int(place[spot]) for place in read.places)
        return Operand(spell(read.value.address, indices), float(read.numbers[spot]))


def _reads(
    trace: "Trace", expr: Expr | None, inputs: list[Value], indices: Sequence[int]
) -> Iterator[Read]:
    if expr is None:
        for each in inputs:
            if each.cells == 1:
                yield Read(each, [np.zeros(1, np.int64)] * len(each.shape), each.array().flatten())
        return
    arrays = [each.array() for each in inputs]
    for place, places in _Reader(arrays).walk(at_cell(expr, indices), (), None):
        yield _named(trace, inputs[place], arrays[place], places)


def _named(trace: "Trace", value: Value, array: Array, places: list[Array]) -> Read:
    """Cells of a value, views without a name followed for all of them at once."""
    count = len(places[0]) if places else 1
    numbers = array[tuple(places)] if places else array.reshape(1)
    while value.name is None and trace.rule(value)[0].kind == "view":
        seen, source = _viewed(trace, value)
        evaluator = Evaluator([], [(0, count)])
        for axis, place in enumerate(places):
            evaluator.variables[f"i{axis}"] = place
            evaluator.axes.pop(f"i{axis}", None)
        spread = [np.broadcast_to(evaluator.run(part), (count,)) for part in seen.where]
        value, places = source, [each.astype(np.int64) for each in spread]
    return Read(value, places, numbers)


class _Reader:
    """Walks an expression the way it is evaluated, noting which cells are read.

    `ranges` are the variables that run around a part, `mask` the condition under which it counts.
    """

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays

    def walk(
        self, expr: Expr, ranges: Ranges, mask: Expr | None
    ) -> Iterator[tuple[int, list[Array]]]:
        """Operands and the places they are read at, as flat index arrays, in reading order."""
        match expr:
            case At():
                yield self._read(expr, ranges, mask)
                for part in expr.where:
                    yield from self.walk(part, ranges, mask)
            case Let(name, value, body):
                yield from self.walk(value, ranges, mask)
                if not mentions(value, dict(ranges)):
                    value = number(float(Evaluator(self.arrays, []).run(value)))
                yield from self.walk(substitute(body, {name: value}), ranges, mask)
            case Reduction(inner, Op("where", (test, yes, 0))):
                limit = test if mask is None else op("and", mask, test)
                yield from self.walk(yes, ranges + inner, limit)
                yield from self.walk(test, ranges + inner, limit)
            case Reduction(inner, body):
                yield from self.walk(body, ranges + inner, mask)
            case Op("where", (test, yes, no)):
                if ranges:
                    missed = op("not", test)
                    hit = test if mask is None else op("and", mask, test)
                    yield from self.walk(yes, ranges, hit)
                    yield from self.walk(
                        no, ranges, missed if mask is None else op("and", mask, missed)
                    )
                else:
                    holds = float(Evaluator(self.arrays, []).run(test)) != 0
                    yield from self.walk(yes if holds else no, ranges, mask)
                yield from self.walk(test, ranges, mask)
            case Node():
                for part in expr.parts:
                    yield from self.walk(part, ranges, mask)

    def _read(self, expr: At, ranges: Ranges, mask: Expr | None) -> tuple[int, list[Array]]:
        used = tuple(
            (name, size)
            for name, size in ranges
            if mentions(expr, (name,)) or (mask is not None and mentions(mask, (name,)))
        )
        evaluator = Evaluator(self.arrays, [])
        shape = tuple(size for _, size in used)
        with np.errstate(all="ignore"), evaluator.bound(used):
            keep = np.ones(shape, dtype=bool)
            if mask is not None:
                keep = keep & (np.broadcast_to(evaluator.run(mask), shape) != 0)
            places = []
            for axis, part in enumerate(expr.where):
                place = np.broadcast_to(evaluator.run(part), shape).astype(np.int64)
                keep = keep & (place >= 0) & (place < self.arrays[expr.operand].shape[axis])
                places.append(place)
        return expr.operand, [place[keep] for place in places]
