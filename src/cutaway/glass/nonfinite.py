"""Where NaN or infinity first appeared."""

from typing import TYPE_CHECKING

import torch

from cutaway.glass.address import spell
from cutaway.glass.explain import explain
from cutaway.glass.expr import INF, NEG_INF, Expr, walk

if TYPE_CHECKING:
    from cutaway.glass.explain import Explanation
    from cutaway.glass.trace import Trace


def first_nonfinite(trace: "Trace") -> "Explanation | None":
    """The first NaN or infinite cell that its own operands do not account for, explained.

    A NaN counts if no operand was NaN; an infinity counts if all operands were finite and the
    operation did not put it there on purpose, as a mask of −∞ does.
    """
    deliberate: set[int] = set()  # values whose infinities were written by the program
    for value in trace.values:
        if value.buffer is None or not value.dtype.startswith(("float", "bfloat")):
            continue
        tensor = value.tensor()
        rule, args = trace.rule(value)
        infinite = bool(torch.isinf(tensor).any())
        missing = bool(torch.isnan(tensor).any())
        if not infinite and not missing:
            continue
        inputs = [trace.values[arg] for arg in args if trace.values[arg].buffer is not None]
        if infinite and (any(each.id in deliberate for each in inputs) or _writes(rule.expr)):
            deliberate.add(value.id)
            infinite = False
        if rule.kind == "view" or rule.name == "uninitialised":
            continue
        had_nan = any(bool(torch.isnan(each.tensor()).any()) for each in inputs)
        had_infinity = any(bool(torch.isinf(each.tensor()).any()) for each in inputs)
        if missing and not had_nan:
            bad = torch.isnan(tensor)
        elif infinite and not had_infinity and not had_nan:
            bad = torch.isinf(tensor)
        else:
            continue
        place = tuple(int(part) for part in bad.nonzero()[0])
        return explain(trace, spell(value.address, place))
    return None


def _writes(expr: Expr | None) -> bool:
    """Whether a rule contains infinity as a constant."""
    return expr is not None and any(part in (INF, NEG_INF) for part in walk(expr))
