"""Strided geometry as index maps: which cell of one layout lies under a cell of another.

A position in memory is offset + Σ index·stride; solving that for the other layout's indices gives
sums, floor divisions and remainders of the output's index variables.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cutaway.glass.expr import Expr, add, index, mul, op


@dataclass(frozen=True)
class Layout:
    """Where the cells of a tensor lie in its storage, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return math.prod(self.shape)

    @property
    def end(self) -> int:
        """One past the last position it touches."""
        if self.cells == 0:
            return self.offset
        steps = zip(self.shape, self.strides, strict=True)
        return 1 + self.offset + sum((size - 1) * stride for size, stride in steps)

    @property
    def nests(self) -> bool:
        """Whether a position belongs to one cell only and can be solved digit by digit."""
        reach = 0
        for stride, size in sorted(zip(self.strides, self.shape, strict=True)):
            if size == 1:
                continue
            if stride <= reach:
                return False
            reach += (size - 1) * stride
        return True

    @property
    def is_dense(self) -> bool:
        """Whether it touches every position of its extent, each once."""
        return self.nests and self.end - self.offset == self.cells


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous tensor."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def remap(inner: Layout, outer: Layout) -> tuple[Expr, ...] | None:
    """Indices into `outer` of the cell that lies under cell (i0, i1, …) of `inner`.

    None if outer's positions cannot be solved (overlapping windows).
    """
    if not solvable(outer):
        return None
    if inner == outer:
        return index(len(inner.shape))
    names = index(len(inner.shape))
    position = _Linear(
        inner.offset - outer.offset,
        tuple(
            (name, stride, size)
            for name, stride, size in zip(names, inner.strides, inner.shape, strict=True)
            if size > 1 and stride != 0
        ),
    )
    indices: list[Expr] = [0] * len(outer.shape)
    rest = position
    order = sorted(
        (axis for axis in range(len(outer.shape)) if outer.shape[axis] > 1 and outer.strides[axis]),
        key=lambda axis: -outer.strides[axis],
    )
    for axis in order:
        indices[axis], rest = rest.divide(outer.strides[axis])
    return tuple(indices)


def solvable(layout: Layout) -> bool:
    """Whether positions can be turned back into indices; repeated (stride 0) axes use index 0."""
    kept = [
        (size, stride)
        for size, stride in zip(layout.shape, layout.strides, strict=True)
        if size > 1 and stride != 0
    ]
    return Layout(0, tuple(s for s, _ in kept), tuple(s for _, s in kept)).nests


@dataclass(frozen=True)
class _Linear:
    """constant + Σ coefficient·variable, each variable in 0 … size−1."""

    constant: int
    terms: tuple[tuple[Expr, int, int], ...]  # variable, coefficient, size

    def expr(self) -> Expr:
        return add(*(mul(name, factor) for name, factor, _ in self.terms), self.constant)

    def divide(self, by: int) -> "tuple[Expr, _Linear]":
        """Quotient and remainder; the quotient stays linear where no term crosses a multiple."""
        large = tuple(
            (name, factor // by, size) for name, factor, size in self.terms if factor % by == 0
        )
        small = tuple(term for term in self.terms if term[1] % by)
        low = self.constant % by
        if _reach(small) + low < by:
            return _Linear(self.constant // by, large).expr(), _Linear(low, small)
        for unit in sorted({math.gcd(by, factor) for _, factor, _ in self.terms}, reverse=True):
            whole = tuple(
                (name, factor // unit, size)
                for name, factor, size in self.terms
                if factor % unit == 0
            )
            part = tuple(term for term in self.terms if term[1] % unit)
            low = self.constant % unit
            if unit > 1 and _reach(part) + low >= unit:
                continue
            inner = _Linear(self.constant // unit, whole).expr()
            digits = by // unit
            left: tuple[Expr, int, int] = (op("mod", inner, digits), unit, digits)
            rest = (left, *part) if digits > 1 else part
            return op("idiv", inner, digits) if digits > 1 else inner, _Linear(low, rest)
        inner = self.expr()
        return op("idiv", inner, by), _Linear(0, ((op("mod", inner, by), 1, by),))


def _reach(terms: tuple[tuple[Expr, int, int], ...]) -> int:
    """The largest value a sum of terms takes."""
    return sum(factor * (size - 1) for _, factor, size in terms)
