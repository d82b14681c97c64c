"""Memory that was read though no recorded operation had written it.

`torch.empty` reserves memory. A kernel outside torch may fill it unseen, so a number read from it
has no known origin. Copies, joins and writes in place carry the unwritten cells along; any other
operation reads them.
"""

from typing import TYPE_CHECKING

import numpy as np

from cutaway.glass.evaluator import evaluate
from cutaway.glass.functions import Array

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

CARRY = frozenset(["view", "join", "lookup", "scatter"])


def unwritten(trace: "Trace") -> dict[int, int]:
    """How many unwritten cells were read of which value."""
    holes: dict[int, Array] = {}  # True where nothing was written yet
    read: dict[int, int] = {}
    for value in trace.values:
        rule, args = trace.rule(value)
        if rule.name == "uninitialised":
            holes[value.id] = np.ones(value.shape, bool)
            continue
        if rule.expr is None or not any(place in holes for place in args):
            continue
        inputs = [trace.values[place] for place in args]
        if any(each.buffer is None for each in inputs):
            continue
        operands = [each.array() for each in inputs]
        filled = []
        for fill in (1.0, 2.0):
            given = [
                np.where(holes[number], fill, operand) if number in holes else operand
                for number, operand in zip(args, operands, strict=True)
            ]
            filled.append(evaluate(rule.expr, given, value.shape))
        differs = (filled[0] != filled[1]) & ~(np.isnan(filled[0]) & np.isnan(filled[1]))
        if not differs.any():
            continue
        if rule.kind in CARRY:
            holes[value.id] = differs
            continue
        for number in args:
            if number in holes:
                read[number] = int(np.count_nonzero(holes[number]))
    return read
