"""How far rounding can move a cell: a running error analysis of the arithmetic that is shown.

Each step of an expression carries its value v and e, a bound of its error in units of the roundoff
u of the recorded type: |computed − exact| ≤ u·e. Recorded operands are exact, each operation adds
its own rounding, and a sum of n terms may be added in any order: (n − 1)·Σ|terms|. A choice (a
view, a maximum, a lookup) rounds nothing, so its bound is 0 and only equality passes.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cutaway.glass.contract import Factors, as_product, contract
from cutaway.glass.evaluator import Evaluator, Span, in_blocks
from cutaway.glass.expr import At, Expr, Fold, Let, Node, Op, Ranges, walk
from cutaway.glass.functions import ONE, TWO, Array, round_to

Pair = tuple[Array, Any]  # value, error in units of the roundoff (an array, or 0.0 for exact)

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
ACCUMULATOR = 2.0**-24  # half types are added up in float32
# Below this a result may be flushed to zero or lose digits, whatever its operands were.
TINY = {"float64": 1e-300, "float32": 1e-37, "float16": 6e-8, "bfloat16": 1e-37}
# The analysis is of first order, and exact for a kernel that takes the steps shown. In float64 the
# recomputation rounds as much as the recording did; in half types second-order terms count.
SAFETY = {"float64": 2.0, "float32": 1.25, "float16": 2.0, "bfloat16": 2.0}

# Error of a function's own result, in units of u (one ulp is at most 2u). Vector libraries do not
# round a root to nearest; the vectorised exp of softmax reaches 6.5u; sine and cosine are 3.5-ulp
# versions; erf is a polynomial on AVX-512 and AVX2, right to 1.5e-7 of 1, not of its value.
OWN = {
    "sqrt": 2.0, "recip": 2.0, "rsqrt": 4.0, "exp": 8.0, "sin": 8.0, "cos": 8.0, "sigmoid": 10.0,
    "expm1": 4.0, "log": 4.0, "log1p": 4.0, "log2": 4.0, "tan": 4.0, "tanh": 4.0, "pow": 4.0,
    "atan2": 4.0,
}  # fmt: skip
LAST = {"add": 1.0, "sub": 1.0, "mul": 1.0, "div": 2.0, **OWN}  # of an operation's own result
ERF = 8.0
SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    "tanh": lambda x, y: 1 - y * y,
    "sigmoid": lambda x, y: y * (1 - y),
    "sin": lambda x, y: np.cos(x),
    "cos": lambda x, y: np.sin(x),
    "tan": lambda x, y: 1 + y * y,
}
STEPS = frozenset(["floor", "ceil", "trunc", "round", "sign", "isnan", "not"])
COMPARISONS = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor"])

# Kernels of norms expand (x − μ)·r into x·r − μ·r and sum the parts: a difference is rounded in
# proportion to its operands, and inside a sum as often as the sum has terms.
EXPANDED = frozenset(
    ["layer_norm", "layer_norm_backward", "batch_norm", "batch_norm_backward",
     "norm_weight_backward", "rstd"]
)  # fmt: skip
# Moments are gathered in blocks of 16 that are merged in pairs, or in double precision.
BLOCKED = frozenset(["rstd"])
# Fused optimizers compute their scalars (1 − βᵗ, lr/(1 − βᵗ)) in double and round them once.
HOST_SCALARS = frozenset(["_fused_adam", "_fused_adamw", "_fused_sgd"])


def bound(
    expr: Expr,
    operands: Sequence[Array],
    shape: Sequence[int],
    dtype: str,
    *,
    rule: str = "",
    op: str = "",
) -> Array:
    """How far each recorded cell may lie from its recomputation; 0 where nothing was rounded."""
    kind = op.split(".")[1].rstrip("_") if "." in op else op
    analysis = Analysis(operands, dtype, rule, kind)
    spans = [(0, size) for size in shape]
    with np.errstate(all="ignore"):
        error = in_blocks(expr, spans, lambda piece: _Bound(analysis, piece).error(expr))
        limit = SAFETY[dtype] * UNIT[dtype] * error + np.where(error > 0, TINY[dtype], 0.0)
        return np.where(np.isfinite(limit), limit, 0.0)  # an infinite bound would prove nothing


def least(expr: Expr, dtype: str) -> float:
    """A number c for which c·|value| never exceeds the bound: the rounding of the last step."""
    return SAFETY[dtype] * UNIT[dtype] * _last_step(expr, dtype)


def _last_step(expr: Expr, dtype: str) -> float:
    if isinstance(expr, Let):
        return _last_step(expr.body, dtype)
    if isinstance(expr, Fold) and expr.kind == "sum":
        step = ACCUMULATOR / UNIT[dtype] if UNIT[dtype] > ACCUMULATOR else 1.0
        if as_product(expr) is not None:
            return expr.terms * step
        return 0.0 if _may_vanish(expr.body) else max(expr.terms - 1, 0) * step
    if isinstance(expr, Op):
        return LAST.get(expr.head, 0.0)
    return 0.0


def _may_vanish(expr: Expr) -> bool:
    """Whether a term is a condition's choice, so that many terms may be plain zeros."""
    return any(
        part.head == "where"
        if isinstance(part, Op)
        else isinstance(part, At) and part.default is not None
        for part in walk(expr)
    )


def _scaled(factor: Array, error: Any) -> Any:
    """factor·error, where no factor and no error is nothing, even times infinity."""
    if isinstance(error, float) and error == 0.0:
        return 0.0
    product = np.abs(factor) * error
    if np.isfinite(product).all():
        return product
    return np.where((factor == 0) | (error == 0), 0.0, product)


def _is_exact(error: Any) -> bool:
    return isinstance(error, float) and error == 0.0


class Analysis:
    """What the analysis of one rule depends on, apart from its cells."""

    def __init__(self, operands: Sequence[Array], dtype: str, rule: str, kind: str) -> None:
        self.operands = operands
        self.dtype = dtype
        self.unit = UNIT[dtype]
        self.expanded = rule in EXPANDED
        self.blocked = rule in BLOCKED
        self.host = kind in HOST_SCALARS
        half = self.unit > ACCUMULATOR
        self.step = ACCUMULATOR / self.unit if half and rule != "scatter" else 1.0
        self.closing = 1.0 if half else 0.0  # a sum in float32 is rounded once more at its end

    def terms(self, count: Any) -> Any:
        """How many roundings a sum of so many terms makes, in units of the type's roundoff."""
        adds = np.maximum(np.asarray(count, np.float64) - 1, 0)
        if self.blocked:
            adds = np.minimum(adds, 32 + 2 * np.log2(adds + 1))
        return adds * self.step


class _Bound(Evaluator):
    """Value and error together, over one block of cells."""

    def __init__(self, analysis: Analysis, spans: Sequence[Span]) -> None:
        super().__init__(analysis.operands, spans)
        self.analysis = analysis
        self.unit = analysis.unit
        self.errors: dict[str, Any] = {}
        self.weight = 4.0  # roundings of an expanded difference

    def error(self, expr: Expr) -> Array:
        """The bound of an expression's error."""
        return np.asarray(self.pair(expr)[1], np.float64)

    def pair(self, expr: Expr) -> Pair:
        """The value of an expression and the bound of its error."""
        if isinstance(expr, str):
            error = self.errors.get(expr, 0.0)
            return self.run(expr), error if _is_exact(error) else self.aligned(error)
        if isinstance(expr, (int, float)):
            return self._once_rounded(self.run(expr))
        if isinstance(expr, At):
            return self._operand(expr)
        if self.analysis.host and self._is_scalar(expr):
            value = self.run(expr)
            return value, np.abs(value)
        if isinstance(expr, Op):
            return self._operation(expr)
        if isinstance(expr, Let):
            return self._let_pair(expr)
        if isinstance(expr, Fold):
            return self._fold_pair(expr)
        return self.run(expr), 0.0  # argmax, kth and casts choose or round exactly

    def _operation(self, expr: Op) -> Pair:
        head = expr.head
        parts = [self.pair(part) for part in expr.args]
        if head in ("add", "sub"):
            return self._sum_of(head, parts)
        if head == "mul":
            return self._product_of(parts)
        if head == "where":
            return self._choice(*parts)
        if head in ONE:
            return self._function(head, parts[0])
        if head in TWO:
            return self._two(head, parts[0], parts[1])
        return self.run(expr), 0.0  # infinity, NaN

    def _once_rounded(self, value: Array) -> Pair:
        """A constant, or a cell of a wider type: rounded to the recorded type when it is used."""
        if value.dtype == np.int64 and value.size and np.abs(value).max() < 128:
            return value, 0.0
        same = round_to(self.analysis.dtype, value.astype(np.float64)) == value
        return value, 0.0 if same.all() else np.where(same, 0.0, np.abs(value))

    def _operand(self, expr: At) -> Pair:
        value = self.at(expr)
        kind = self.operands[expr.operand].dtype
        if kind.kind == "b" or str(kind) == self.analysis.dtype:
            return value, 0.0
        return self._once_rounded(value)

    def _is_scalar(self, expr: Expr) -> bool:
        """Whether an expression reads only single numbers: a step count, a learning rate."""
        if isinstance(expr, At):
            return self.operands[expr.operand].size == 1
        if isinstance(expr, Node):
            return all(map(self._is_scalar, expr.parts))
        return not isinstance(expr, str)

    def _sum_of(self, head: str, parts: list[Pair]) -> Pair:
        value, error = parts[0]
        size = np.abs(value)
        for other, its in parts[1:]:
            value = value - other if head == "sub" else value + other
            error = error + its
            size = size + np.abs(other)
        if value.dtype.kind in "iub":
            return value, error
        if self.analysis.expanded:
            return value, error + self.weight * size
        return value, error + (np.abs(value) if len(parts) == 2 else (len(parts) - 1) * size)

    def _product_of(self, parts: list[Pair]) -> Pair:
        value, error = parts[0]
        for other, its in parts[1:]:
            error = _scaled(other, error) + _scaled(value, its)
            value = value * other
            if value.dtype.kind not in "iub":
                error = error + np.abs(value)
        return value, error

    def _let_pair(self, expr: Let) -> Pair:
        value, error = self.pair(expr.value)
        outer = self.variables, self.errors
        self.variables = {**self.variables, expr.name: value}
        self.errors = {**self.errors, expr.name: error}
        result = self.pair(expr.body)
        self.variables, self.errors = outer
        return result

    def _choice(self, condition: Pair, first: Pair, second: Pair) -> Pair:
        (test, doubt), (yes, yes_error), (no, no_error) = condition, first, second
        value = np.where(test != 0, yes, no)
        error: Any = np.where(test != 0, yes_error, no_error)
        if not _is_exact(doubt):  # a condition that rounding may turn
            either = np.maximum(yes_error, no_error) + np.abs(yes - no) / self.unit
            error = np.where(doubt > 0, either, error)
        exact = _is_exact(yes_error) and _is_exact(no_error) and _is_exact(doubt)
        return value, 0.0 if exact else error

    def _function(self, head: str, inner: Pair) -> Pair:
        x, error = inner[0].astype(np.float64, copy=False), inner[1]
        y = np.asarray(ONE[head](x))
        if head in ("neg", "abs"):
            return y, error
        if head in STEPS:
            if _is_exact(error):
                return y, 0.0
            reach = self.unit * error
            return y, np.abs(ONE[head](x + reach) - ONE[head](x - reach)) / self.unit
        if head == "erf":
            slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
            return y, ERF + _scaled(slope, error)
        own = OWN[head] * np.abs(y)
        return y, own if _is_exact(error) else own + self._grown(head, x, y, error)

    def _grown(self, head: str, x: Array, y: Array, error: Any) -> Any:
        """What an error of the argument becomes."""
        reach = self.unit * error
        if head == "exp":
            return _scaled(y, np.expm1(np.minimum(reach, 700.0)) / self.unit)
        if head == "expm1":
            return _scaled(y + 1, np.expm1(np.minimum(reach, 700.0)) / self.unit)
        if head == "sqrt":
            near_zero = np.sqrt(np.abs(x) + reach) / self.unit
            return np.where(reach < x, error / np.where(y > 0, y, 1.0), near_zero)
        if head in ("log", "log1p", "log2", "rsqrt", "recip"):
            argument = np.abs(1 + x if head == "log1p" else x)
            share = _scaled(1 / argument, error)
            share = share / np.maximum(1 - self.unit * share, 0.0)  # infinite if 0 is in reach
            if head == "rsqrt":
                return _scaled(0.5 * y, share)
            if head == "recip":
                return _scaled(y, share)
            return share / math.log(2) if head == "log2" else share
        return _scaled(SLOPES[head](x, y), error)

    def _two(self, head: str, left: Pair, right: Pair) -> Pair:
        (a, a_error), (b, b_error) = left, right
        value = np.asarray(TWO[head](a, b))
        exact = _is_exact(a_error) and _is_exact(b_error)
        if head == "div":
            error = 2 * np.abs(value)
            if not exact:
                error = error + _scaled(1 / b, a_error) + _scaled(value / b, b_error)
            return value, error
        if head == "pow":
            error = OWN["pow"] * np.abs(value)
            if not exact:
                error = (
                    error
                    + _scaled(value * b / a, a_error)
                    + _scaled(value * np.log(np.abs(a)), b_error)
                )
            return value, error
        if head in ("maximum", "minimum"):
            if exact:
                return value, 0.0
            close = np.abs(a - b) <= self.unit * (a_error + b_error)
            chosen = np.where(value == a, a_error, b_error)
            return value, np.where(close, np.maximum(a_error, b_error), chosen)
        if head == "atan2":
            error = OWN["atan2"] * np.abs(value)
            size = a * a + b * b
            return value, error + _scaled(b / size, a_error) + _scaled(a / size, b_error)
        if head in COMPARISONS:
            if exact or (a.dtype.kind in "iub" and b.dtype.kind in "iub"):
                return value, 0.0
            doubt = np.abs(a - b) <= self.unit * (a_error + b_error)
            return value, np.where(doubt & (a_error + b_error > 0), 1 / self.unit, 0.0)
        if head in ("mod", "fmod"):
            own = 0.0 if value.dtype.kind in "iub" else 2 * np.abs(value)
            return value, own + a_error + _scaled(np.trunc(a / b), b_error)
        if head == "idiv" and not exact:
            reach = self.unit * (a_error + np.abs(value) * b_error)
            return value, np.abs(TWO[head](a + reach, b) - TWO[head](a - reach, b)) / self.unit
        return value, a_error + b_error  # whole numbers

    def _fold_pair(self, expr: Fold) -> Pair:
        head, ranges = expr.kind, expr.ranges
        factors = as_product(expr)
        if factors is not None:
            product = self._contraction(factors, ranges)
            if product is not None:
                return product
        weight = self.weight
        if head == "sum" and not self.analysis.blocked:
            self.weight = max(weight, float(expr.terms))
        with self.bound(ranges):
            value, error = self.pair(expr.body)
            terms = self.full(value, ranges)
            errors = error if _is_exact(error) else self.full(np.asarray(error), ranges)
        self.weight = weight
        axes = tuple(range(self.rank, terms.ndim))
        if head == "sum":
            return self._added(expr, terms, errors, axes)
        if head == "prod":
            total = np.prod(terms, axis=axes)
            own = (math.prod(terms.shape[self.rank :]) - 1) * np.abs(total)
            return total, own if _is_exact(errors) else own + _scaled(
                total, np.sum(errors / np.abs(terms), axis=axes)
            )
        best = (np.max if head == "max" else np.min)(terms, axis=axes, keepdims=True)
        found = best.reshape(best.shape[: self.rank])
        if _is_exact(errors):
            return found, 0.0
        rivals = np.where(np.abs(terms - best) <= 2 * self.unit * errors, errors, 0.0)
        return found, np.max(rivals, axis=axes)

    def _added(self, expr: Fold, terms: Array, errors: Any, axes: tuple[int, ...]) -> Pair:
        """Σ of terms, whatever the order: plain zeros add nothing."""
        total = np.sum(terms, axis=axes)
        if terms.dtype.kind in "iub":
            return total, 0.0
        sizes = np.abs(terms)
        count: Any = math.prod(terms.shape[self.rank :])
        if _may_vanish(expr.body):
            count = np.count_nonzero(sizes, axis=axes)
        error = self.analysis.terms(count) * np.sum(sizes, axis=axes)
        if self.analysis.closing:
            error = error + np.abs(total)
        return total, error if _is_exact(errors) else error + np.sum(errors, axis=axes)

    def _contraction(self, factors: Factors, ranges: Ranges) -> Pair | None:
        """Σ a·b by two matrix products, of the cells and of their sizes."""
        value = contract(self, factors, ranges)
        if value is None:
            return None
        kept = self.operands
        self.operands = [np.abs(operand.astype(np.float64)) for operand in kept]
        sizes = contract(self, factors, ranges)
        self.operands = kept
        assert sizes is not None
        count = math.prod(size for _, size in ranges)
        mixed = any(str(kept[factor.operand].dtype) != self.analysis.dtype for factor in factors)
        rounds = self.analysis.terms(count + 1) + self.analysis.closing + 2 * mixed
        return value, rounds * sizes
