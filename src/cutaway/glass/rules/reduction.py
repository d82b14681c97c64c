"""Many cells to one: sums, means, extremes, running sums, ranks, and what selects by them."""

import math
from collections.abc import Sequence

from cutaway.glass.expr import (
    Arg,
    ArgKind,
    Expr,
    FoldKind,
    Kth,
    Order,
    choose,
    flat,
    fold,
    number,
    op,
    sub,
)
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, axes_of, cell, shaped
from cutaway.glass.rules.formula import Formula, Own, Row, Scope

FORMULAS = {  # the rule's name, and the formula; `row` are the cells that are reduced
    "mean": ("mean", "mean(x[k] for k in row)"),
    "any": ("any", "max(x[k] != 0 for k in row)"),
    "all": ("all", "min(x[k] != 0 for k in row)"),
    "count_nonzero": ("sum", "sum(x[k] != 0 for k in row)"),
    "logsumexp": (
        "logsumexp",
        "top = max(x[k] for k in row); m = 0 if abs(top) == inf else top;"
        "m + log(sum(exp(x[k] - m) for k in row))",
    ),
    "var": (
        "var",
        "m = mean(x[k] for k in row); sum((x[k] - m)*(x[k] - m) for k in row)/free",
    ),
    "std": (
        "std",
        "m = mean(x[k] for k in row); sqrt(sum((x[k] - m)*(x[k] - m) for k in row)/free)",
    ),
}
NORMS = {  # by the order
    1.0: Formula("sum(abs(x[k]) for k in row)"),
    2.0: Formula("sqrt(sum(x[k]*x[k] for k in row))"),
    math.inf: Formula("max(abs(x[k]) for k in row)"),
}
NORM = Formula("sum(abs(x[k])**p for k in row)**root")
EMPTY = {"any": 0, "all": 1}


def over(
    source: Operand, axes: Sequence[int], keep: bool = False, where: Sequence[str] = ()
) -> Row:
    """The reduced axes of a tensor, and the index they and the output's indices form."""
    ranges: list[tuple[str, int]] = []
    indices: list[Expr] = []
    remaining = list(where)
    for axis, size in enumerate(source.shape):
        if axis in axes:
            name = "k" if len(axes) == 1 else f"k{len(ranges)}"
            ranges.append((name, size))
            indices.append(name)
            if keep:
                remaining.pop(0)
        else:
            indices.append(remaining.pop(0))
    return Row(tuple(ranges), indices)


def _row(call: Call) -> Row:
    """The axes that `dim` names, or all."""
    source: Operand = call["self"]
    axes = axes_of(call.get("dim"), source.rank)
    return over(source, axes, bool(call.get("keepdim")), call.out.index)


def _scope(call: Call, own: Own | None = None) -> Scope:
    source: Operand = call["self"]
    return Scope(
        call, (), {"row": _row(call)}, {"x": lambda place: source.at(*place), **(own or {})}
    )


def folded(kind: FoldKind) -> RuleMaker:
    """A reduction of x itself over the asked axes."""
    formula = Formula(f"{kind}(x[k] for k in row)")

    def rule(call: Call) -> Rule:
        expr = formula.fill(_scope(call))
        return Rule(kind, "reduction", shaped(expr, call.out.dtype, call["self"]))

    return rule


def reduced(name: str, text: str) -> RuleMaker:
    """A formula of the cells along the asked axes."""
    formula = Formula(text)

    def rule(call: Call) -> Rule:
        if name in EMPTY and not all(size for _, size in _row(call).ranges):
            return Rule(name, "reduction", EMPTY[name])
        correction = call.get("correction", 1 if call.get("unbiased", True) else 0)
        free = number(_row(call).terms - correction)
        return Rule(name, "reduction", formula.fill(_scope(call, {"free": free})))

    return rule


def vector_norm(call: Call) -> Rule:
    """(Σ |x|^p)^(1/p)."""
    order = float(call.get("ord", call.get("p", 2)))
    if order in NORMS:
        return Rule("norm", "reduction", NORMS[order].fill(_scope(call)))
    own: Own = {"p": number(order), "root": number(1 / order)}
    return Rule("norm", "reduction", NORM.fill(_scope(call, own)))


def extreme(kind: FoldKind, place: ArgKind) -> RuleMaker:
    """The largest (smallest) cell and where it stands."""
    values = folded(kind)

    def rule(call: Call) -> Rule | list[Rule | None]:
        source: Operand = call["self"]
        found = values(call)
        if call.get("dim") is None:
            return found
        row = _row(call)
        expr: Expr = 0
        if row.ranges:
            expr = Arg(row.ranges, source.at(*row.place), place, row.ranges[0][0])
        assert isinstance(found, Rule)
        return [found, Rule(place, "reduction", expr)]

    return rule


def arg_extreme(kind: ArgKind) -> RuleMaker:
    """Where the largest (smallest) cell stands: along an axis, or in reading order."""

    def rule(call: Call) -> Rule:
        source: Operand = call["self"]
        row = _row(call)
        if not row.ranges:
            return Rule(kind, "reduction", 0)
        names = [name for name, _ in row.ranges]
        place = flat(names, [size for _, size in row.ranges])
        return Rule(kind, "reduction", Arg(row.ranges, source.at(*row.place), kind, place))

    return rule


def var_mean(call: Call) -> list[Rule | None]:
    """Variance and mean."""
    rules = [reduced(*FORMULAS[name])(call) for name in ("var", "mean")]
    return [each for each in rules if isinstance(each, Rule)]


def running(kind: FoldKind, name: str) -> RuleMaker:
    """A reduction over all cells up to this one."""

    def rule(call: Call) -> Rule:
        source: Operand = call["self"]
        if source.rank == 0:
            return Rule(name, "reduction", source.at())
        axis = call["dim"] % source.rank
        where: list[Expr] = list(call.out.index)
        where[axis] = "k"
        neutral = 0 if kind == "sum" else 1
        term = choose(op("le", "k", f"i{axis}"), source.at(*where), neutral)
        expr = fold(kind, [("k", source.shape[axis])], term)
        return Rule(name, "reduction", shaped(expr, call.out.dtype, source))

    return rule


def _ranked(call: Call, largest: bool) -> list[Rule | None]:
    source: Operand = call["self"]
    if source.rank == 0:
        return [Rule("sort", "reduction", source.at()), Rule("sort", "reduction", 0)]
    axis = call.get("dim", -1) % source.rank
    where: list[Expr] = list(call.out.index)
    nth = where[axis]
    where[axis] = "k"
    order: Order = "largest" if largest else "smallest"
    ranges, body = (("k", source.shape[axis]),), source.at(*where)
    return [
        Rule("sort", "reduction", Kth(ranges, body, nth, order)),
        Rule("argsort", "reduction", Kth(ranges, body, nth, order, "k")),
    ]


def sort(call: Call) -> list[Rule | None]:
    """The cells in order, and where each stood."""
    return _ranked(call, bool(call.get("descending", False)))


def topk(call: Call) -> list[Rule | None]:
    """The k largest cells, and where each stood."""
    return _ranked(call, bool(call.get("largest", True)))


def nonzero_place(source: Operand, nth: Expr, axis: int) -> Expr:
    """The axis index of the nth cell that is not 0, in reading order."""
    ranges = tuple((f"q{place}", size) for place, size in enumerate(source.shape))
    body = op("eq", source.at(*(name for name, _ in ranges)), 0)
    return Kth(ranges, body, nth, "smallest", f"q{axis}")


def nonzero(call: Call) -> Rule:
    """The places of the cells that are not 0."""
    source: Operand = call["self"]
    expr: Expr = 0
    for axis in range(source.rank - 1, -1, -1):
        place = nonzero_place(source, "i0", axis)
        expr = place if expr == 0 else choose(op("eq", "i1", axis), place, expr)
    return Rule("nonzero", "lookup", expr)


def triangle(upper: bool) -> RuleMaker:
    """One triangle of a matrix, 0 elsewhere."""

    def rule(call: Call) -> Rule:
        where = call.out.index
        ahead = sub(where[-1], where[-2])
        limit = number(call.get("diagonal", 0))
        keep = op("ge" if upper else "le", ahead, limit)
        return Rule("triangle", "pointwise", choose(keep, cell(call["self"], where), 0))

    return rule


def isin(call: Call) -> Rule:
    """Whether a cell equals any of the test cells."""
    tests = call["test_elements"]
    x = cell(call["elements"], call.out.index)
    row = over(tests, range(tests.rank))
    found = fold("max", row.ranges, op("eq", x, tests.at(*row.place)))
    return Rule("isin", "reduction", op("not", found) if call.get("invert") else found)


TABLE: dict[str, RuleMaker] = {
    "sum": folded("sum"),
    "prod": folded("prod"),
    "amax": folded("max"),
    "amin": folded("min"),
    **{op: reduced(*parts) for op, parts in FORMULAS.items()},
    "max": extreme("max", "argmax"),
    "min": extreme("min", "argmin"),
    "argmax": arg_extreme("argmax"),
    "argmin": arg_extreme("argmin"),
    "var_mean": var_mean,
    "linalg_vector_norm": vector_norm,
    "norm": vector_norm,
    "cumsum": running("sum", "cumsum"),
    "cumprod": running("prod", "cumprod"),
    "sort": sort,
    "topk": topk,
    "nonzero": nonzero,
    "tril": triangle(False),
    "triu": triangle(True),
    "isin": isin,
}
