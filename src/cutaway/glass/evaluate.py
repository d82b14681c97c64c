"""Rules evaluated: the same expression over many cells at once, in double precision, by NumPy.

Every index variable is an axis. Output indices come first, each reduction appends its own axes
and folds them away again, so an expression over a block of cells is a handful of array operations.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutaway.glass.contract import as_product, contract
from cutaway.glass.expr import Expr, children, index

Array = NDArray[Any]
Span = tuple[int, int]  # first, one past the last

BLOCK = 1 << 22  # cells of the largest intermediate array


def evaluate(
    expr: Expr, operands: Sequence[Array], shape: Sequence[int], spans: Sequence[Span] | None = None
) -> Array:
    """The cells of the output (all, or a window given by spans), recomputed from the operands."""
    spans = [(0, size) for size in shape] if spans is None else list(spans)
    sizes = [stop - start for start, stop in spans]
    if 0 in sizes:
        return np.zeros(sizes)
    with np.errstate(all="ignore"):
        return _blocks(expr, operands, spans, sizes)


def _blocks(expr: Expr, operands: Sequence[Array], spans: list[Span], sizes: list[int]) -> Array:
    """Evaluate in pieces along the longest axis so that no intermediate grows too large."""
    cost = math.prod(sizes) * _widest(expr)
    if cost <= BLOCK or not sizes or max(sizes) == 1:
        out = Evaluator(operands, spans).run(expr)
        return np.broadcast_to(out, sizes)
    axis = sizes.index(max(sizes))
    pieces = min(sizes[axis], -(-cost // BLOCK))
    step = -(-sizes[axis] // pieces)
    start, stop = spans[axis]
    parts = []
    for first in range(start, stop, step):
        piece = list(spans)
        piece[axis] = (first, min(first + step, stop))
        parts.append(_blocks(expr, operands, piece, [b - a for a, b in piece]))
    return np.concatenate(parts, axis=axis)


def _widest(expr: Expr) -> int:
    """How many places the largest nest of reductions visits for one cell; a product of two
    operands costs nothing extra, for it never exists as a whole."""
    if not isinstance(expr, tuple):
        return 1
    head = expr[0]
    if head in ("sum", "prod", "max", "min", "argmax", "argmin", "kth", "argkth"):
        if head == "sum" and as_product(expr) is not None:
            return 1
        places: int = math.prod(size for _, size in expr[1])
        return places * max(map(_widest, children(expr)))
    return max(map(_widest, children(expr)), default=1)


def erf(x: Array) -> Array:
    """The error function, by Python's own."""
    flat = np.asarray(x, dtype=np.float64)
    each: Array = np.fromiter(map(math.erf, flat.ravel()), np.float64, flat.size)
    return each.reshape(flat.shape)


def _round_to(kind: str, x: Array) -> Array:
    if kind == "bool":
        return np.asarray(x != 0, np.float64)
    if kind in ("float64", "complex128"):
        return x
    if kind == "float32":
        return np.asarray(x, np.float32).astype(np.float64)
    if kind == "float16":
        return np.asarray(x, np.float16).astype(np.float64)
    if kind == "bfloat16":
        bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
        out = bits.astype(np.uint32).view(np.float32).astype(np.float64)
        return np.where(np.isfinite(x), out, x)
    return np.where(np.isfinite(x), np.trunc(x), -(2.0**63))  # what the processor does


ONE: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "recip": lambda x: 1.0 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sigmoid": lambda x: np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x))),
    "erf": erf,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "isnan": lambda x: np.isnan(x) * 1.0,
    "not": lambda x: (x == 0) * 1.0,
}


def _integers(f: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: f(np.asarray(a).astype(np.int64), np.asarray(b).astype(np.int64)) * 1.0


TWO: dict[str, Callable[[Array, Array], Array]] = {
    "sub": np.subtract,
    "div": lambda a, b: np.divide(a, b, dtype=np.float64),
    "pow": lambda a, b: np.power(np.asarray(a, np.float64), b),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "idiv": lambda a, b: np.floor_divide(a, b),
    "mod": np.mod,
    "fmod": np.fmod,
    "eq": lambda a, b: (a == b) * 1.0,
    "ne": lambda a, b: (a != b) * 1.0,
    "lt": lambda a, b: (a < b) * 1.0,
    "le": lambda a, b: (a <= b) * 1.0,
    "gt": lambda a, b: (a > b) * 1.0,
    "ge": lambda a, b: (a >= b) * 1.0,
    "and": lambda a, b: ((a != 0) & (b != 0)) * 1.0,
    "or": lambda a, b: ((a != 0) | (b != 0)) * 1.0,
    "xor": lambda a, b: ((a != 0) ^ (b != 0)) * 1.0,
    "bitand": _integers(np.bitwise_and),
    "bitor": _integers(np.bitwise_or),
    "bitxor": _integers(np.bitwise_xor),
}
CONSTANTS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
FOLDS: dict[str, Callable[..., Array]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}


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
        if isinstance(expr, str):
            return self._aligned(self.variables[expr])
        if not isinstance(expr, tuple):
            return np.asarray(expr, dtype=np.float64 if isinstance(expr, float) else np.int64)
        head = expr[0]
        if head == "at":
            return self._at(expr)
        if head == "add":
            return _fold(np.add, [self.run(part) for part in expr[1:]])
        if head == "mul":
            return _fold(np.multiply, [self.run(part) for part in expr[1:]])
        if head in ONE:
            return np.asarray(ONE[head](_real(self.run(expr[1]))))
        if head in TWO:
            return np.asarray(TWO[head](self.run(expr[1]), self.run(expr[2])))
        if head == "where":
            return np.where(self.run(expr[1]) != 0, self.run(expr[2]), self.run(expr[3]))
        if head == "let":
            return self._let(expr)
        if head in FOLDS:
            return self._fold(expr)
        if head in ("argmax", "argmin"):
            return self._arg(expr)
        if head in ("kth", "argkth"):
            return self._kth(expr)
        if head == "cast":
            return _round_to(expr[1], self.run(expr[2]))
        return np.asarray(CONSTANTS[head])

    def _aligned(self, array: Array) -> Array:
        """Trailing axes of size 1 for indices bound after this array was made."""
        if array.ndim in (0, self.rank):
            return array
        return array.reshape(array.shape + (1,) * (self.rank - array.ndim))

    def _let(self, expr: Expr) -> Array:
        _, name, value, body = expr
        hidden = self.variables.get(name)
        self.variables[name] = self.run(value)
        result = self.run(body)
        if hidden is None:
            del self.variables[name]
        else:
            self.variables[name] = hidden
        return result

    def _bind(self, ranges: Sequence[tuple[str, int]]) -> dict[str, Any]:
        before = {name: (self.variables.get(name), self.axes.get(name)) for name, _ in ranges}
        first = self.rank
        self.rank += len(ranges)
        for place, (name, size) in enumerate(ranges):
            self.sizes.append(size)
            self.axes[name] = (first + place, 0, size)
            self.variables[name] = _along(first + place, self.rank, 0, size)
        return before

    def _unbind(self, ranges: Sequence[tuple[str, int]], before: Mapping[str, Any]) -> None:
        self.rank -= len(ranges)
        del self.sizes[self.rank :]
        for name, _ in ranges:
            variable, axis = before[name]
            if variable is None:
                del self.variables[name], self.axes[name]
            else:
                self.variables[name], self.axes[name] = variable, axis

    def _fold(self, expr: Expr) -> Array:
        head, ranges, body = expr
        if head == "sum":
            factors = as_product(expr)
            if factors is not None:
                product = contract(self, factors, ranges)
                if product is not None:
                    return product
        before = self._bind(ranges)
        terms = self._full(self.run(body), ranges)
        self._unbind(ranges, before)
        axes = tuple(range(self.rank, terms.ndim))
        return np.asarray(FOLDS[head](terms, axis=axes))

    def _full(self, terms: Array, ranges: Sequence[tuple[str, int]]) -> Array:
        """The terms with every reduced axis at its full size, even where they do not vary."""
        kept = (
            terms.shape[: self.rank - len(ranges)]
            if terms.ndim
            else (1,) * (self.rank - len(ranges))
        )
        return np.broadcast_to(terms, (*kept, *(size for _, size in ranges)))

    def _arg(self, expr: Expr) -> Array:
        head, ranges, body, result = expr
        before = self._bind(ranges)
        terms = self._full(self.run(body), ranges)
        places = self._full(self.run(result), ranges)
        self._unbind(ranges, before)
        kept = np.broadcast_shapes(terms.shape[: self.rank], places.shape[: self.rank])
        tail = terms.shape[self.rank :]
        flat = np.broadcast_to(terms, (*kept, *tail)).reshape(*kept, -1)
        chosen = (np.argmax if head == "argmax" else np.argmin)(flat, axis=-1)
        spread = np.broadcast_to(places, (*kept, *tail)).reshape(*kept, -1)
        return np.take_along_axis(spread, chosen[..., None], axis=-1)[..., 0]

    def _kth(self, expr: Expr) -> Array:
        head, ranges, body, position, order = expr[:5]
        nth = self.run(position)
        before = self._bind(ranges)
        terms = self._full(self.run(body), ranges)
        places = self._full(self.run(expr[5]), ranges) if head == "argkth" else terms
        self._unbind(ranges, before)
        kept = np.broadcast_shapes(terms.shape[: self.rank], places.shape[: self.rank])
        tail = terms.shape[self.rank :]
        flat = np.broadcast_to(terms, (*kept, *tail)).reshape(*kept, -1)
        ranked = np.argsort(-flat if order == "largest" else flat, axis=-1, kind="stable")
        spread = np.broadcast_to(places, (*kept, *tail)).reshape(*kept, -1)
        ordered = np.take_along_axis(spread, ranked, axis=-1)
        shape = np.broadcast_shapes(kept, nth.shape)
        ordered = np.broadcast_to(ordered, (*shape, ordered.shape[-1]))
        nth = np.broadcast_to(nth, shape).astype(np.int64)
        return np.take_along_axis(ordered, nth[..., None], axis=-1)[..., 0]

    def _at(self, expr: Expr) -> Array:
        operand = self.operands[expr[1]]
        if len(expr) == 3:
            strided = self.strided(expr)
            if strided is not None:
                return strided
        if operand.size == 0:
            return self.run(expr[3])
        indices = [np.asarray(self.run(part)).astype(np.int64) for part in expr[2]]
        inside = np.asarray(True)
        for axis, where in enumerate(indices):
            limit = operand.shape[axis] - 1
            if len(expr) == 4:
                inside = inside & (where >= 0) & (where <= limit)
            indices[axis] = np.clip(where, 0, limit)
        cells = operand[tuple(indices)] if indices else operand
        if cells.dtype != np.int64:
            cells = cells.astype(np.float64, copy=False)
        return cells if len(expr) == 3 else np.where(inside, cells, self.run(expr[3]))

    def strided(self, expr: Expr) -> Array | None:
        """The operand as a view along the index axes, if its indices are linear and inside."""
        operand = self.operands[expr[1]]
        offset = 0
        strides = [0] * self.rank
        used: set[int] = set()
        for axis, part in enumerate(expr[2]):
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
        head = expr[0]
        if head == "add" or head == "sub":
            total, terms = 0, dict[str, int]()
            for place, part in enumerate(expr[1:]):
                inner = self._linear(part)
                if inner is None:
                    return None
                sign = -1 if head == "sub" and place else 1
                total += sign * inner[0]
                for name, factor in inner[1].items():
                    terms[name] = terms.get(name, 0) + sign * factor
            return total, terms
        if head == "mul" and len(expr) == 3:
            left, right = self._linear(expr[1]), self._linear(expr[2])
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


def _real(array: Array) -> Array:
    return array.astype(np.float64, copy=False)


def _fold(function: Callable[[Array, Array], Array], parts: list[Array]) -> Array:
    total = parts[0]
    for part in parts[1:]:
        total = function(total, part)
    return total
