"""How large the numbers were on the way: the yardstick for rounding.

A sum of terms near 1 that cancels to 1e-9 is right to about 1e-16, not to 1e-25. The scale of an
expression is what one unit of relative rounding in each step can move its value by.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutaway.glass.contract import as_product, contract
from cutaway.glass.evaluate import BLOCK, Evaluator, Span, _widest
from cutaway.glass.expr import Expr

Array = NDArray[Any]
Pair = tuple[Array, Array]  # value, scale

_SLOPES: dict[str, Callable[[Array, Array], Any]] = {
    "exp": lambda x, y: y,
    "expm1": lambda x, y: y + 1,
    "log": lambda x, y: 1 / x,
    "log1p": lambda x, y: 1 / (1 + x),
    "log2": lambda x, y: 1 / (x * np.log(2)),
    "sqrt": lambda x, y: np.where(x == 0, 0, 0.5 / np.where(y == 0, 1, y)),
    "rsqrt": lambda x, y: 0.5 * y / x,
    "recip": lambda x, y: y * y,
    "tanh": lambda x, y: 1 - y * y,
    "sigmoid": lambda x, y: y * (1 - y),
    "erf": lambda x, y: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "sin": lambda x, y: np.cos(x),
    "cos": lambda x, y: np.sin(x),
    "tan": lambda x, y: 1 + y * y,
    "neg": lambda x, y: np.ones_like(y),
    "abs": lambda x, y: np.ones_like(y),
}


def scale(expr: Expr, operands: Sequence[Array], shape: Sequence[int]) -> Array:
    """The scale of every cell of the output."""
    spans = [(0, size) for size in shape]
    with np.errstate(all="ignore"):
        return _blocks(expr, operands, spans)


def _blocks(expr: Expr, operands: Sequence[Array], spans: list[Span]) -> Array:
    sizes = [stop - start for start, stop in spans]
    cost = int(np.prod(sizes)) * _widest(expr)
    if cost <= BLOCK or not sizes or max(sizes) == 1:
        return np.broadcast_to(_Scale(operands, spans).both(expr)[1], sizes)
    axis = sizes.index(max(sizes))
    step = max(1, sizes[axis] * BLOCK // cost)
    start, stop = spans[axis]
    parts = []
    for first in range(start, stop, step):
        piece = list(spans)
        piece[axis] = (first, min(first + step, stop))
        parts.append(_blocks(expr, operands, piece))
    return np.concatenate(parts, axis=axis)


class _Scale(Evaluator):
    """Value and scale together."""

    def __init__(self, operands: Sequence[Array], spans: Sequence[Span]) -> None:
        super().__init__(operands, spans)
        self.scales: dict[str, Array] = {}

    def both(self, expr: Expr) -> Pair:
        value = self.run(expr)
        return value, np.abs(self.measure(expr, value))

    def measure(self, expr: Expr, value: Array) -> Array:
        """The scale of an expression whose value is known."""
        if isinstance(expr, str):
            return self._aligned(self.scales[expr]) if expr in self.scales else np.abs(value)
        if not isinstance(expr, tuple):
            return np.abs(value)
        head = expr[0]
        if head in ("add", "sub"):
            total = np.abs(value) * 0.0
            for part in expr[1:]:
                total = total + self.both(part)[1]
            return total
        if head == "mul":
            total = np.asarray(1.0)
            for part in expr[1:]:
                total = total * self.both(part)[1]
            return total
        if head == "div":
            top, bottom = self.both(expr[1]), self.both(expr[2])
            growth = np.maximum(bottom[1] / np.abs(bottom[0]), 1)
            return np.asarray(top[1] / np.abs(bottom[0]) * growth)
        if head == "pow":
            base, exponent = self.both(expr[1]), self.both(expr[2])
            return np.abs(value) * (1 + np.abs(exponent[0]) * base[1] / np.abs(base[0]))
        if head in _SLOPES:
            inner = self.both(expr[1])
            slope = _SLOPES[head](inner[0].astype(np.float64), value)
            grown = np.abs(slope) * inner[1]
            return np.abs(value) + np.where(np.isfinite(grown), grown, 0)
        if head == "where":
            chosen = self.run(expr[1]) != 0
            return np.where(chosen, self.both(expr[2])[1], self.both(expr[3])[1])
        if head == "let":
            return self._measure_let(expr)
        if head in ("sum", "max", "min", "prod"):
            return self._measure_fold(expr, value)
        return np.abs(value)

    def _measure_let(self, expr: Expr) -> Array:
        _, name, inner, body = expr
        hidden, hidden_scale = self.variables.get(name), self.scales.get(name)
        self.variables[name], self.scales[name] = self.both(inner)
        result = self.both(body)[1]
        del self.variables[name], self.scales[name]
        if hidden is not None:
            self.variables[name] = hidden
        if hidden_scale is not None:
            self.scales[name] = hidden_scale
        return result

    def _measure_fold(self, expr: Expr, value: Array) -> Array:
        head, ranges, body = expr
        if head == "prod":
            return np.abs(value)
        if head == "sum":
            factors = as_product(expr)
            if factors is not None:
                kept = self.operands
                self.operands = [np.abs(operand.astype(np.float64)) for operand in kept]
                product = contract(self, factors, ranges)
                self.operands = kept
                if product is not None:
                    return product
        before = self._bind(ranges)
        scales = self._full(self.both(body)[1], ranges)
        self._unbind(ranges, before)
        axes = tuple(range(self.rank, scales.ndim))
        folded: Array = (np.sum if head == "sum" else np.max)(scales, axis=axes)
        return folded
