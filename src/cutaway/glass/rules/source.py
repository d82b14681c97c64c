"""Where recursion ends: constants, which need no operand, and random draws."""

import torch

from cutaway.glass.expr import Expr, Kth, add, choose, mul, number, op
from cutaway.glass.rules.call import OPAQUE, Call, Operand, Rule, RuleMaker


def constant(expr: Expr) -> Rule:
    """A cell that is known without any operand."""
    return Rule("constant", "source", expr, "constant")


def filled(argument: str | None, default: float) -> RuleMaker:
    """Every cell the same number."""

    def rule(call: Call) -> Rule:
        given = call.get(argument, default) if argument else default
        if isinstance(given, Operand):
            return Rule("copy", "pointwise", given.first)
        return constant(number(given))

    return rule


def arange(call: Call) -> Rule:
    """start + i·step."""
    start, step = number(call.get("start", 0)), number(call.get("step", 1))
    return constant(add(start, mul(step, "i0")))


def linspace(call: Call) -> Rule:
    """start + i·(end − start)/(n − 1)."""
    start, end, steps = call["start"], call["end"], call["steps"]
    if isinstance(start, Operand) or isinstance(end, Operand):
        return OPAQUE
    if steps < 2:
        return constant(number(start))
    way = op("div", mul("i0", number(end - start)), number(steps - 1))
    return constant(add(number(start), way))


def eye(call: Call) -> Rule:
    """1 on the diagonal."""
    return constant(op("eq", "i0", "i1"))


def draw(call: Call) -> list[Rule | None]:
    """A random draw: recorded, not recomputed."""
    return [Rule("random", "source", None, "random") for _ in call.outputs]


def is_draw(call: Call) -> bool:
    """Whether an operation of a library reads no tensor and is tagged as random."""
    if any(isinstance(argument, (Operand, list)) for argument in call.arguments.values()):
        return False
    namespace, name, overload = call.op.split(".")[:3]
    packet = getattr(getattr(torch.ops, namespace), name, None)
    operation = getattr(packet, overload, None)
    return torch.Tag.nondeterministic_seeded in getattr(operation, "tags", ())


def uninitialised(call: Call) -> list[Rule | None]:
    """Memory that nothing has been written to yet."""
    return [Rule("uninitialised", "source", None, "constant") for _ in call.outputs]


def triangle_places(upper: bool) -> RuleMaker:
    """Row and column numbers of a triangle, in reading order."""

    def rule(call: Call) -> Rule:
        rows, columns, shift = call["row"], call["col"], call.get("offset", 0)
        ranges = (("r", rows), ("c", columns))
        outside = op("lt" if upper else "gt", op("sub", "c", "r"), shift)
        row, column = (Kth(ranges, outside, "i1", "smallest", name) for name in ("r", "c"))
        return constant(choose(op("eq", "i0", 0), row, column))

    return rule


DRAWS = [
    "bernoulli",
    "uniform",
    "normal",
    "rand",
    "randn",
    "randint",
    "randperm",
    "random",
    "multinomial",
    "exponential",
    "rand_like",
    "randn_like",
    "randint_like",
    "normal_functional",
    "poisson",
    "geometric",
    "log_normal",
    "cauchy",
]
EMPTY = ["empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"]

TABLE: dict[str, RuleMaker] = {
    "zeros": filled(None, 0),
    "ones": filled(None, 1),
    "zeros_like": filled(None, 0),
    "ones_like": filled(None, 1),
    "new_zeros": filled(None, 0),
    "new_ones": filled(None, 1),
    "zero": filled(None, 0),
    "full": filled("fill_value", 0),
    "full_like": filled("fill_value", 0),
    "new_full": filled("fill_value", 0),
    "fill": filled("value", 0),
    "scalar_tensor": filled("s", 0),
    "arange": arange,
    "linspace": linspace,
    "eye": eye,
    "tril_indices": triangle_places(False),
    "triu_indices": triangle_places(True),
    **dict.fromkeys(DRAWS, draw),
    **dict.fromkeys(EMPTY, uninitialised),
}
