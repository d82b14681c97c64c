"""Rules evaluated: the same expression over many cells at once, in double precision, by NumPy.

Every index variable is an axis. Output indices come first, each reduction appends its own axes
and folds them away again, so an expression over a block of cells is a handful of array operations.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cutaway.glass.contract import as_product, contract
from cutaway.glass.expr import (
    Arg,
    At,
    Cast,
    Expr,
    Fold,
    Kth,
    Let,
    Node,
    Op,
    Ranges,
    Reduction,
    index,
)
from cutaway.glass.functions import FOLDS, ONE, TWO, Array, round_to

Span = tuple[int, int]  # first, one past the last

BLOCK = 1 << 22  # cells of the largest intermediate array


def evaluate(
    expr: Expr, operands: Sequence[Array], shape: Sequence[int], spans: Sequence[Span] | None = None
) -> Array:
    """The cells of the output (all, or a window given by spans), recomputed from the operands."""
    spans = [(0, size) for size in shape] if spans is None else list(spans)
    with np.errstate(all="ignore"):
        return in_blocks(expr, spans, lambda piece: Evaluator(operands, piece).run(expr))


def in_blocks(expr: Expr, spans: list[Span], run: Callable[[list[Span]], Array]) -> Array:
    """Run in pieces along the longest axis so that no intermediate grows too large."""
    sizes = [stop - start for start, stop in spans]
    if 0 in sizes:
        return np.zeros(sizes)
    cost = math.prod(sizes) * widest(expr)
    if cost <= BLOCK or not sizes or max(sizes) == 1:
        return np.broadcast_to(run(spans), sizes)
    axis = sizes.index(max(sizes))
    step = max(1, sizes[axis] * BLOCK // cost)
    start, stop = spans[axis]
    parts = []
    for first in range(start, stop, step):
        piece = list(spans)
        piece[axis] = (first, min(first + step, stop))
        parts.append(in_blocks(expr, piece, run))
    return np.concatenate(parts, axis=axis)


def widest(expr: Expr) -> int:
    """How many places the largest nest of reductions visits for one cell; a product of two
    operands costs nothing extra, for it never exists as a whole."""
    if not isinstance(expr, Node):
        return 1
    if isinstance(expr, Fold) and as_product(expr) is not None:
        return 1
    inside = max(map(widest, expr.parts), default=1)
    return expr.terms * inside if isinstance(expr, Reduction) else inside


class Evaluator:
    """One expression over one block of output cells."""

    def __init__(self, operands: Sequence[Array], spans: Sequence[Span]) -> None:
        self.operands = operands
        self.rank = len(spans)
        self.sizes: list[int] = []
        self.variables: dict[str, Array] = {}
        self.axes: dict[str, tuple[int, int, int]] = {}  # plain index variables: axis, first, size
        for axis, (name, (start, stop)) in enumerate(zip(index(len(spans)), spans, strict=True)):
            self.sizes.append(stop - start)
            self.axes[name] = (axis, start, stop - start)
            self.variables[name] = _along(axis, self.rank, start, stop)

    def run(self, expr: Expr) -> Array:
        """An array whose axes are the indices bound so far (size 1 where it does not vary)."""
        if isinstance(expr, Op):
            return self._operator(expr)
        if isinstance(expr, At):
            return self.at(expr)
        if isinstance(expr, str):
            return self.aligned(self.variables[expr])
        if isinstance(expr, (int, float)):
            return np.asarray(expr, dtype=np.float64 if isinstance(expr, float) else np.int64)
        if isinstance(expr, Let):
            return self._let(expr)
        if isinstance(expr, Fold):
            return self._fold(expr)
        if isinstance(expr, Arg):
            return self._arg(expr)
        if isinstance(expr, Kth):
            return self._kth(expr)
        if isinstance(expr, Cast):
            return round_to(expr.dtype, self.run(expr.value))
        raise TypeError(f"{type(expr).__name__} cannot be evaluated")

    def _operator(self, expr: Op) -> Array:
        head = expr.head
        parts = [self.run(arg) for arg in expr.args]
        if head == "add" or head == "mul":
            total = parts[0]
            for part in parts[1:]:
                total = total + part if head == "add" else total * part
            return total
        if head in ONE:
            return np.asarray(ONE[head](parts[0].astype(np.float64, copy=False)))
        if head in TWO:
            return np.asarray(TWO[head](parts[0], parts[1]))
        if head == "where":
            return np.where(parts[0] != 0, parts[1], parts[2])
        return np.asarray(float(head))

    def aligned(self, array: Array) -> Array:
        """Trailing axes of size 1 for indices bound after this array was made."""
        if array.ndim in (0, self.rank):
            return array
        return array.reshape(array.shape + (1,) * (self.rank - array.ndim))

    def _let(self, expr: Let) -> Array:
        value = self.run(expr.value)
        outer = self.variables
        self.variables = {**outer, expr.name: value}
        result = self.run(expr.body)
        self.variables = outer
        return result

    @contextmanager
    def bound(self, ranges: Ranges) -> Iterator[None]:
        """Within this block the variables that run have an axis each, after those before."""
        outer = self.variables, self.axes
        self.variables, self.axes = dict(self.variables), dict(self.axes)
        first = self.rank
        self.rank += len(ranges)
        for axis, (name, size) in enumerate(ranges, start=first):
            self.sizes.append(size)
            self.axes[name] = (axis, 0, size)
            self.variables[name] = _along(axis, self.rank, 0, size)
        yield
        self.variables, self.axes = outer
        self.rank = first
        del self.sizes[first:]

    def _fold(self, expr: Fold) -> Array:
        factors = as_product(expr)
        if factors is not None:
            product = contract(self, factors, expr.ranges)
            if product is not None:
                return product
        with self.bound(expr.ranges):
            terms = self.full(self.run(expr.body), expr.ranges)
        axes = tuple(range(self.rank, terms.ndim))
        return np.asarray(FOLDS[expr.kind](terms, axis=axes))

    def full(self, terms: Array, ranges: Ranges) -> Array:
        """The terms with every reduced axis at its full size, even where they do not vary."""
        outer = self.rank - len(ranges)
        kept = terms.shape[:outer] if terms.ndim else (1,) * outer
        return np.broadcast_to(terms, (*kept, *(size for _, size in ranges)))

    def _flattened(self, expr: Arg | Kth, result: Expr) -> tuple[Array, Array]:
        """Body and result of each term, along one last axis."""
        with self.bound(expr.ranges):
            terms = self.full(self.run(expr.body), expr.ranges)
            places = self.full(self.run(result), expr.ranges)
        kept = np.broadcast_shapes(terms.shape[: self.rank], places.shape[: self.rank])
        whole = (*kept, *terms.shape[self.rank :])
        flat = np.broadcast_to(terms, whole).reshape(*kept, -1)
        return flat, np.broadcast_to(places, whole).reshape(*kept, -1)

    def _arg(self, expr: Arg) -> Array:
        terms, results = self._flattened(expr, expr.result)
        chosen = (np.argmax if expr.kind == "argmax" else np.argmin)(terms, axis=-1)
        return np.take_along_axis(results, chosen[..., None], axis=-1)[..., 0]

    def _kth(self, expr: Kth) -> Array:
        nth = self.run(expr.nth)
        terms, results = self._flattened(expr, expr.body if expr.result is None else expr.result)
        ranked = np.argsort(-terms if expr.order == "largest" else terms, axis=-1, kind="stable")
        ordered = np.take_along_axis(results, ranked, axis=-1)
        shape = np.broadcast_shapes(ordered.shape[:-1], nth.shape)
        ordered = np.broadcast_to(ordered, (*shape, ordered.shape[-1]))
        nth = np.broadcast_to(nth, shape).astype(np.int64)
        return np.take_along_axis(ordered, nth[..., None], axis=-1)[..., 0]

    def at(self, expr: At) -> Array:
        """The cells of an operand: a view where the indices are linear, else gathered."""
        operand = self.operands[expr.operand]
        if expr.default is None:
            strided = self.strided(expr)
            if strided is not None:
                return strided
        elif operand.size == 0:
            return self.run(expr.default)
        indices = [np.asarray(self.run(part)).astype(np.int64) for part in expr.where]
        inside = np.asarray(True)
        for axis, where in enumerate(indices):
            limit = operand.shape[axis] - 1
            if expr.default is not None:
                inside = inside & (where >= 0) & (where <= limit)
            indices[axis] = np.clip(where, 0, limit)
        cells = operand[tuple(indices)] if indices else operand
        if cells.dtype != np.int64:
            cells = cells.astype(np.float64, copy=False)
        return cells if expr.default is None else np.where(inside, cells, self.run(expr.default))

    def strided(self, expr: At) -> Array | None:
        """The operand as a view along the index axes, if its indices are linear and inside."""
        operand = self.operands[expr.operand]
        offset = 0
        strides = [0] * self.rank
        used: set[int] = set()
        for axis, part in enumerate(expr.where):
            linear = self._linear(part)
            if linear is None:
                return None
            low = high = linear[0]
            step = operand.strides[axis]
            offset += linear[0] * step
            for name, factor in linear[1].items():
                place, start, size = self.axes[name]
                low += factor * (start if factor > 0 else start + size - 1)
                high += factor * (start + size - 1 if factor > 0 else start)
                offset += factor * start * step
                strides[place] += factor * step
                used.add(place)
            if low < 0 or high >= operand.shape[axis]:
                return None
        shape = [self.sizes[axis] if axis in used else 1 for axis in range(self.rank)]
        base = _shift(operand, offset) if offset else operand
        view = np.lib.stride_tricks.as_strided(base, shape, strides, writeable=False)
        return view if view.dtype in (np.float64, np.int64) else view.astype(np.float64)

    def _linear(self, expr: Expr) -> tuple[int, dict[str, int]] | None:
        """constant + Σ factor·variable, if the expression is that."""
        if isinstance(expr, (bool, float)):
            return None
        if isinstance(expr, int):
            return expr, {}
        if isinstance(expr, str):
            return (0, {expr: 1}) if expr in self.axes else None
        if not isinstance(expr, Op):
            return None
        if expr.head in ("add", "sub"):
            total, terms = 0, dict[str, int]()
            for place, part in enumerate(expr.args):
                inner = self._linear(part)
                if inner is None:
                    return None
                sign = -1 if expr.head == "sub" and place else 1
                total += sign * inner[0]
                for name, factor in inner[1].items():
                    terms[name] = terms.get(name, 0) + sign * factor
            return total, terms
        if expr.head == "mul" and len(expr.args) == 2:
            left, right = self._linear(expr.args[0]), self._linear(expr.args[1])
            if left is None or right is None or (left[1] and right[1]):
                return None
            if left[1]:
                left, right = right, left
            return left[0] * right[0], {name: left[0] * f for name, f in right[1].items()}
        return None


def _shift(array: Array, offset: int) -> Array:
    """A view that begins `offset` bytes into the array."""
    remaining = offset
    start = []
    for axis in sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])):
        step = array.strides[axis]
        count = remaining // step if step else 0
        count = min(max(count, 0), array.shape[axis] - 1)
        remaining -= count * step
        start.append((axis, count))
    assert remaining == 0
    cut = [slice(None)] * array.ndim
    for axis, count in start:
        cut[axis] = slice(count, None)
    return array[tuple(cut)]


def _along(axis: int, rank: int, start: int, stop: int) -> Array:
    shape = [1] * rank
    shape[axis] = stop - start
    return np.arange(start, stop).reshape(shape)
