"""Every cell recomputed from the arithmetic that would be shown for it."""

import fnmatch
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cutaway.glass.address import spell
from cutaway.glass.evaluate import evaluate
from cutaway.glass.expr import Expr
from cutaway.glass.scale import scale
from cutaway.glass.values import Value

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

Array = NDArray[Any]

# What rounding may do, relative to the largest numbers on the way.
TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}


@dataclass(frozen=True)
class Failure:
    """A cell whose arithmetic does not give its value."""

    address: str
    op: str
    value: float
    recomputed: float
    error: float


@dataclass
class Proof:
    """What recomputation found."""

    cells: int = 0  # computed cells (sources need no proof)
    proven: int = 0
    opaque: dict[str, int] = field(default_factory=dict)  # cells without a rule, by operation
    missing: int = 0  # cells whose numbers, or whose operands' numbers, were not kept
    sources: int = 0  # cells that were not computed: parameters, inputs, constants, draws
    max_error: float = 0.0  # relative to the largest number on the way
    worst: str = ""  # the cell with that error
    errors: dict[str, float] = field(default_factory=dict)  # the largest of each number type
    failures: list[Failure] = field(default_factory=list)  # the worst cell of each failed value
    operations: dict[str, int] = field(default_factory=dict)  # proven cells by operation

    @property
    def complete(self) -> bool:
        """Whether every computed cell is proven."""
        return self.proven == self.cells and not self.missing

    def __repr__(self) -> str:
        return (
            f"<Proof: {self.proven:,} of {self.cells:,} cells, "
            f"{sum(self.opaque.values()):,} opaque, largest error {self.max_error:.2g}>"
        )


def prove(trace: "Trace", pattern: str = "*") -> Proof:
    """Recompute every cell of the values whose address matches."""
    proof = Proof()
    for value in trace.values:
        if pattern != "*" and not fnmatch.fnmatchcase(value.address, pattern):
            continue
        _prove(trace, value, proof)
    return proof


def _prove(trace: "Trace", value: Value, proof: Proof) -> None:
    rule, args = trace.rule(value)
    cells = value.cells
    if cells == 0:
        return
    if rule.kind == "source" and rule.expr is None:
        proof.sources += cells
        return
    proof.cells += cells
    if rule.kind == "opaque":
        proof.opaque[value.op] = proof.opaque.get(value.op, 0) + cells
        return
    inputs = [trace.values[place] for place in args]
    if value.buffer is None or any(each.buffer is None for each in inputs):
        proof.missing += cells
        return
    operands = [each.array() for each in inputs]
    held = value.array().astype(np.float64)
    found = evaluate(rule.expr, operands, value.shape).astype(np.float64)
    limit = TOLERANCE.get(value.dtype, 0.0)
    wrong, error = judge(rule.expr, operands, held, found, limit)
    good = cells - int(np.count_nonzero(wrong))
    proof.proven += good
    proof.operations[value.op] = proof.operations.get(value.op, 0) + good
    top = int(np.argmax(error))
    where = tuple(int(part) for part in np.unravel_index(top, error.shape))
    largest = float(error[where])
    if np.isfinite(largest):
        proof.errors[value.dtype] = max(proof.errors.get(value.dtype, 0.0), largest)
    if largest > proof.max_error and np.isfinite(largest):
        proof.max_error, proof.worst = largest, spell(value.address, where)
    if good < cells:
        first = int(np.argmax(np.where(wrong, np.nan_to_num(error, nan=np.inf), -1)))
        where = tuple(int(part) for part in np.unravel_index(first, error.shape))
        proof.failures.append(
            Failure(
                spell(value.address, where),
                value.op,
                float(held[where]),
                float(found[where]),
                float(error[where]),
            )
        )


def judge(
    expr: Expr, operands: list[Array], held: Array, found: Array, limit: float
) -> tuple[Array, Array]:
    """Which cells are wrong, and each cell's error relative to the numbers it is made of."""
    with np.errstate(all="ignore"):
        same = (held == found) | (np.isnan(held) & np.isnan(found))
        gap = np.where(same, 0.0, np.abs(held - found))
        error = np.where(same, 0.0, gap / np.maximum(np.abs(held), np.abs(found)))
        wrong = ~same & ~(error <= limit)
        if wrong.any() and limit:
            size = np.maximum(scale(expr, operands, held.shape), np.abs(held))
            relative = gap / np.where(size > 0, size, 1.0)
            error = np.where(wrong, relative, error)
            wrong = wrong & ~(error <= limit)
            subnormal = gap <= 1e-37 if limit > 1e-8 else gap <= 1e-300
            error = np.where(subnormal, 0.0, error)
            wrong = wrong & ~subnormal
        elif wrong.any() and _is_place(expr):
            wrong = wrong & ~_ties(expr, operands, held, found)
    return wrong, error


def _is_place(expr: Expr) -> bool:
    return (
        isinstance(expr, tuple)
        and expr[0] in ("argmax", "argmin", "argkth")
        and isinstance(expr[-1], str)
    )


def _ties(expr: Expr, operands: list[Array], held: Array, found: Array) -> Array:
    """Where two places hold equal values, either may be named."""
    body, variable = expr[2], expr[-1]
    ranges = expr[1]
    if len(ranges) != 1 or not isinstance(body, tuple) or body[0] != "at":
        return np.zeros(held.shape, dtype=bool)
    from cutaway.glass.evaluate import Evaluator

    spans = [(0, size) for size in held.shape]

    def read(places: Array) -> Array:
        evaluator = Evaluator(operands, spans)
        evaluator.variables[variable] = places.astype(np.int64)
        return np.broadcast_to(evaluator.run(body), held.shape)

    left, right = read(held), read(found)
    return np.asarray((left == right) | (np.isnan(left) & np.isnan(right)))
