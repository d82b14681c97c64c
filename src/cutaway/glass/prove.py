"""Every cell recomputed from the arithmetic that would be shown for it."""

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cutaway.errors import TraceError
from cutaway.glass.address import spell
from cutaway.glass.bound import UNIT, bound, least
from cutaway.glass.evaluator import Evaluator, evaluate
from cutaway.glass.expr import Arg, At, Expr, Kth
from cutaway.glass.functions import Array, round_to
from cutaway.glass.rules import Rule
from cutaway.glass.unwritten import unwritten
from cutaway.glass.values import Value
from cutaway.numbers import short

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

COPIES = frozenset(["view", "join", "lookup"])  # kinds of rules that move numbers, unchanged


@dataclass(frozen=True)
class Failure:
    """A cell whose arithmetic does not give its value."""

    address: str
    op: str
    value: float
    recomputed: float
    error: float  # in units of the bound; infinite where only equality passes


@dataclass
class Proof:
    """What recomputation found."""

    cells: int = 0  # computed cells (sources need no proof)
    proven: int = 0  # of these: arithmetic + copies + constants
    arithmetic: int = 0
    copies: int = 0  # views, joins, lookups: numbers moved, unchanged
    constants: int = 0  # cells of zeros, arange, …: known without any operand
    opaque: dict[str, int] = field(default_factory=dict)  # cells without a rule, by operation
    unreadable: dict[str, int] = field(default_factory=dict)  # of the opaque cells, by reason
    stopped: str = ""  # why the recording ended early, if it did
    missing: int = 0  # cells whose numbers, or whose operands' numbers, were not kept
    unexplained: dict[str, int] = field(default_factory=dict)  # cells of unknown origin, by address
    sources: int = 0  # cells given to the run: parameters, inputs, literal constants, random draws
    max_error: float = 0.0  # in units of the bound of rounding: 1 would be at the bound
    worst: str = ""  # the cell with that error
    errors: dict[str, float] = field(default_factory=dict)  # the largest of each number type
    failures: list[Failure] = field(default_factory=list)  # the worst cell of each failed value

    @property
    def complete(self) -> bool:
        """Whether every computed cell is proven, and every other one is a source."""
        seen = not self.missing and not self.unexplained and not self.stopped
        return seen and self.proven == self.cells

    def __repr__(self) -> str:
        return (
            f"<Proof: {self.proven:,} of {self.cells:,} cells ({self.arithmetic:,} arithmetic, "
            f"{self.copies:,} views and copies, {self.constants:,} constants), "
            f"{sum(self.opaque.values()):,} opaque, "
            f"{sum(self.unexplained.values()):,} unexplained, "
            f"largest error {short(self.max_error, 2)} of the bound"
            f"{'; ' + self.stopped if self.stopped else ''}>"
        )


def prove(trace: "Trace", pattern: str = "*", check: Callable[[], None] = lambda: None) -> Proof:
    """Recompute every cell of the values whose address matches.

    `check` is called before each value; an error it raises ends the proof.
    """
    proof = Proof(stopped=trace.stopped)
    chosen = trace.values if pattern == "*" else _matching(trace, pattern)
    for value in chosen:
        check()
        prove_value(trace, value, proof)
    for place, cells in unwritten(trace).items():
        proof.unexplained[trace.values[place].address] = cells
    return proof


def _matching(trace: "Trace", pattern: str) -> list[Value]:
    other = {place for name, place in trace.aliases.items() if fnmatch.fnmatchcase(name, pattern)}
    found = [
        value
        for value in trace.values
        if value.id in other or fnmatch.fnmatchcase(value.address, pattern)
    ]
    if not found:
        raise TraceError(
            f"no address matches {pattern!r}, so there is nothing to prove; see trace.tree()"
        )
    return found


def prove_value(trace: "Trace", value: Value, proof: Proof) -> None:
    """Recompute every cell of one value and add what was found to the proof."""
    rule, args = trace.rule(value)
    cells = value.cells
    if cells == 0:
        return
    if rule.kind == "source" and rule.expr is None:
        if rule.source == "unexplained":
            proof.unexplained[value.address] = cells
        else:
            proof.sources += cells
        return
    proof.cells += cells
    if rule.kind == "opaque":
        proof.opaque[value.op] = proof.opaque.get(value.op, 0) + cells
        if value.why:
            proof.unreadable[value.why] = proof.unreadable.get(value.why, 0) + cells
        return
    inputs = [trace.values[place] for place in args]
    if value.buffer is None or any(each.buffer is None for each in inputs):
        proof.missing += cells
        return
    good = _recompute(value, rule, [each.array() for each in inputs], proof)
    proof.proven += good
    if rule.kind in COPIES:
        proof.copies += good
    elif rule.kind == "source":
        proof.constants += good
    else:
        proof.arithmetic += good


def _recompute(value: Value, rule: Rule, operands: list[Array], proof: Proof) -> int:
    """How many cells come out; the worst error and failure are noted."""
    held = value.array().astype(np.float64)
    found = evaluate(rule.arithmetic, operands, value.shape).astype(np.float64)
    dtype = value.dtype
    largest = proof.errors.setdefault(dtype, 0.0) if dtype in UNIT else 0.0
    wrong, error = judge(rule, value.op, operands, held, found, dtype, largest)
    if error is None:
        return value.cells
    worst = int(np.argmax(np.where(wrong, -1.0, error)))
    where = tuple(int(part) for part in np.unravel_index(worst, error.shape))
    if not wrong[where] and error[where] > largest:
        proof.errors[dtype] = float(error[where])
        if error[where] > proof.max_error:
            proof.max_error, proof.worst = float(error[where]), spell(value.address, where)
    bad = int(np.count_nonzero(wrong))
    if bad:
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
    return value.cells - bad


def judge(
    rule: Rule,
    op: str,
    operands: list[Array],
    held: Array,
    found: Array,
    dtype: str,
    known: float = 0.0,
) -> tuple[Array, Array | None]:
    """Which cells are wrong, and each cell's error in units of its bound.

    The error is None if no cell is wrong and none has an error above `known`: the analysis is then
    saved, because the rounding of the last step alone allows for every difference.
    """
    with np.errstate(all="ignore"):
        same = (held == found) | (np.isnan(held) & np.isnan(found))
        if dtype in UNIT and not same.all():
            same |= held == round_to(dtype, found)
        wrong = ~same
        if same.all():
            return wrong, None
        gap = np.where(same, 0.0, np.abs(held - found))
        if dtype not in UNIT:
            wrong &= ~_ties(rule.arithmetic, operands, held, found)
            return wrong, np.where(wrong, np.inf, 0.0)
        quick = gap / (least(rule.arithmetic, dtype) * np.abs(found))
        if np.where(same, 0.0, quick).max() <= known:
            return np.zeros_like(same), None
        limit = bound(rule.arithmetic, operands, held.shape, dtype, rule=rule.name, op=op)
        error = np.where(same, 0.0, gap / limit)
        wrong &= ~(gap <= limit)
    return wrong, error


def _ties(expr: Expr, operands: list[Array], held: Array, found: Array) -> Array:
    """Where two places hold equal values, either may be named."""
    match expr:
        case Arg(((variable, size),), At() as body, result=str(result)) | Kth(
            ((variable, size),), At() as body, result=str(result)
        ) if result == variable and variable in body.where:
            pass
        case _:
            return np.zeros(held.shape, dtype=bool)
    spans = [(0, size) for size in held.shape]

    def read(places: Array) -> Array:
        evaluator = Evaluator(operands, spans)
        evaluator.variables[variable] = places.astype(np.int64)
        return np.broadcast_to(evaluator.run(body), held.shape)

    left, right = read(held), read(found)
    inside = (held >= 0) & (held < size)
    return np.asarray(inside & ((left == right) | (np.isnan(left) & np.isnan(right))))
