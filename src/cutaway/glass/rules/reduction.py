"""Many cells to one: sums, means, extremes, running sums, ranks, and what selects by them."""

from cutaway.glass.expr import Expr, add, at, div, let, mul, number, reduce, sub
from cutaway.glass.rules.call import (
    Call,
    Operand,
    Rule,
    RuleMaker,
    axes_of,
    cell,
    shaped,
)


def over(
    source: Operand, axes: list[int], keep: bool, where: tuple[str, ...], letter: str = "k"
) -> tuple[list[tuple[str, int]], tuple[Expr, ...]]:
    """Ranges of the reduced axes, and the source index they and the output's indices form."""
    ranges: list[tuple[str, int]] = []
    indices: list[Expr] = []
    remaining = list(where)
    for axis, size in enumerate(source.shape):
        if axis in axes:
            name = letter if len(axes) == 1 else f"{letter}{len(ranges)}"
            ranges.append((name, size))
            indices.append(name)
            if keep:
                remaining.pop(0)
        else:
            indices.append(remaining.pop(0))
    return ranges, tuple(indices)


def _dims(call: Call) -> list[int]:
    source: Operand = call["self"]
    return axes_of(call.get("dim"), source.rank)


def fold(kind: str, name: str) -> RuleMaker:
    """A reduction of x itself over the asked axes."""

    def rule(call: Call) -> Rule:
        source: Operand = call["self"]
        ranges, where = over(source, _dims(call), bool(call.get("keepdim")), call.out.index)
        expr = reduce(kind, ranges, at(source.position, *where))
        return Rule(name, "reduction", shaped(expr, call.out.dtype, source))

    return rule


def mean(call: Call) -> Rule:
    """Σ x / n."""
    source: Operand = call["self"]
    ranges, where = over(source, _dims(call), bool(call.get("keepdim")), call.out.index)
    count = 1
    for _, size in ranges:
        count *= size
    expr = div(reduce("sum", ranges, at(source.position, *where)), number(count))
    return Rule("mean", "reduction", expr)


def truth(kind: str, name: str) -> RuleMaker:
    """Whether any, or all, cells are set."""

    def rule(call: Call) -> Rule:
        source: Operand = call["self"]
        ranges, where = over(source, _dims(call), bool(call.get("keepdim")), call.out.index)
        body = ("ne", at(source.position, *where), 0)
        if not all(size for _, size in ranges):
            return Rule(name, "reduction", 0 if kind == "max" else 1)
        return Rule(name, "reduction", reduce(kind, ranges, body))

    return rule


def extreme(kind: str) -> RuleMaker:
    """The largest (smallest) cell and where it stands."""

    def rule(call: Call) -> Rule | list[Rule | None]:
        source: Operand = call["self"]
        if "dim" not in call.arguments or call["dim"] is None:
            ranges, where = over(source, list(range(source.rank)), False, ())
            return Rule(kind, "reduction", reduce(kind, ranges, at(source.position, *where)))
        axis = axes_of(call["dim"], source.rank)
        ranges, where = over(source, axis, bool(call.get("keepdim")), call.out.index)
        body = at(source.position, *where)
        values = Rule(kind, "reduction", reduce(kind, ranges, body))
        place = (f"arg{kind}", tuple(ranges), body, ranges[0][0] if ranges else 0)
        return [values, Rule(f"arg{kind}", "reduction", place if ranges else 0)]

    return rule


def arg_extreme(kind: str) -> RuleMaker:
    """Where the largest (smallest) cell stands."""

    def rule(call: Call) -> Rule:
        source: Operand = call["self"]
        if call.get("dim") is None:
            ranges, where = over(source, list(range(source.rank)), False, ())
            flat: Expr = 0
            for name, size in ranges:
                flat = add(mul(flat, size) if flat != 0 else 0, name)
        else:
            axis = axes_of(call["dim"], source.rank)
            ranges, where = over(source, axis, bool(call.get("keepdim")), call.out.index)
            flat = ranges[0][0] if ranges else 0
        if not ranges:
            return Rule(kind, "reduction", 0)
        return Rule(kind, "reduction", (kind, tuple(ranges), at(source.position, *where), flat))

    return rule


def _moments(call: Call, keep: bool, where_out: tuple[str, ...]) -> tuple[Expr, Expr, int]:
    """Mean, sum of squared deviations, and the number of cells."""
    source: Operand = call["self"]
    ranges, where = over(source, _dims(call), keep, where_out)
    count = 1
    for _, size in ranges:
        count *= size
    x = at(source.position, *where)
    average = div(reduce("sum", ranges, x), number(count))
    off = sub(x, "m")
    return average, reduce("sum", ranges, mul(off, off)), count


def variance(root: bool) -> RuleMaker:
    """Σ (x − mean)² / (n − correction), or its root."""

    def rule(call: Call) -> Rule:
        average, squares, count = _moments(call, bool(call.get("keepdim")), call.out.index)
        correction = call.get("correction", 1 if call.get("unbiased", True) else 0)
        expr: Expr = div(squares, number(count - correction))
        return Rule(
            "std" if root else "var",
            "reduction",
            let("m", average, ("sqrt", expr) if root else expr),
        )

    return rule


def var_mean(call: Call) -> list[Rule | None]:
    """Variance and mean."""
    average, squares, count = _moments(call, bool(call.get("keepdim")), call.out.index)
    correction = call.get("correction", 1 if call.get("unbiased", True) else 0)
    return [
        Rule("var", "reduction", let("m", average, div(squares, number(count - correction)))),
        Rule("mean", "reduction", average),
    ]


def logsumexp(call: Call) -> Rule:
    """m + log Σ e^(x − m), m the largest x."""
    source: Operand = call["self"]
    ranges, where = over(source, _dims(call), bool(call.get("keepdim")), call.out.index)
    x = at(source.position, *where)
    shift = ("where", ("eq", ("abs", "top"), ("inf",)), 0, "top")
    body = add("m", ("log", reduce("sum", ranges, ("exp", sub(x, "m")))))
    return Rule(
        "logsumexp", "reduction", let("top", reduce("max", ranges, x), let("m", shift, body))
    )


def vector_norm(call: Call) -> Rule:
    """(Σ |x|^p)^(1/p)."""
    source: Operand = call["self"]
    ranges, where = over(source, _dims(call), bool(call.get("keepdim")), call.out.index)
    x = at(source.position, *where)
    order = float(call.get("ord", call.get("p", 2)))
    if order == float("inf"):
        return Rule("norm", "reduction", reduce("max", ranges, ("abs", x)))
    if order == 2:
        return Rule("norm", "reduction", ("sqrt", reduce("sum", ranges, mul(x, x))))
    if order == 1:
        return Rule("norm", "reduction", reduce("sum", ranges, ("abs", x)))
    total = reduce("sum", ranges, ("pow", ("abs", x), number(order)))
    return Rule("norm", "reduction", ("pow", total, number(1 / order)))


def running(kind: str, name: str) -> RuleMaker:
    """A reduction over all cells up to this one."""

    def rule(call: Call) -> Rule:
        source: Operand = call["self"]
        if source.rank == 0:
            return Rule(name, "reduction", at(source.position))
        axis = call["dim"] % source.rank
        where = list(call.out.index)
        where[axis] = "k"
        neutral = {"sum": 0, "prod": 1}[kind]
        term = ("where", ("le", "k", f"i{axis}"), at(source.position, *where), neutral)
        expr = (kind, (("k", source.shape[axis]),), term)
        return Rule(name, "reduction", shaped(expr, call.out.dtype, source))

    return rule


def count_nonzero(call: Call) -> Rule:
    """How many cells are not 0."""
    source: Operand = call["self"]
    ranges, where = over(source, _dims(call), False, call.out.index)
    return Rule("sum", "reduction", reduce("sum", ranges, ("ne", at(source.position, *where), 0)))


def _ranked(call: Call, largest: bool) -> list[Rule | None]:
    source: Operand = call["self"]
    if source.rank == 0:
        return [Rule("sort", "reduction", at(source.position)), Rule("sort", "reduction", 0)]
    axis = call.get("dim", -1) % source.rank
    where: list[Expr] = list(call.out.index)
    nth = where[axis]
    where[axis] = "k"
    order = "largest" if largest else "smallest"
    head = ((("k", source.shape[axis]),), at(source.position, *where), nth, order)
    return [
        Rule("sort", "reduction", ("kth", *head)),
        Rule("argsort", "reduction", ("argkth", *head, "k")),
    ]


def sort(call: Call) -> list[Rule | None]:
    """The cells in order, and where each stood."""
    return _ranked(call, bool(call.get("descending", False)))


def topk(call: Call) -> list[Rule | None]:
    """The k largest cells, and where each stood."""
    return _ranked(call, bool(call.get("largest", True)))


def nonzero_place(source: Operand, nth: Expr, axis: int, letter: str = "q") -> Expr:
    """The axis index of the nth cell that is not 0, in reading order."""
    ranges = tuple((f"{letter}{place}", size) for place, size in enumerate(source.shape))
    body = ("eq", at(source.position, *(name for name, _ in ranges)), 0)
    return ("argkth", ranges, body, nth, "smallest", f"{letter}{axis}")


def nonzero(call: Call) -> Rule:
    """The places of the cells that are not 0."""
    source: Operand = call["self"]
    expr: Expr = 0
    for axis in range(source.rank - 1, -1, -1):
        place = nonzero_place(source, "i0", axis)
        expr = place if expr == 0 else ("where", ("eq", "i1", axis), place, expr)
    return Rule("nonzero", "lookup", expr)


def triangle(upper: bool) -> RuleMaker:
    """One triangle of a matrix, 0 elsewhere."""

    def rule(call: Call) -> Rule:
        where = call.out.index
        ahead = sub(where[-1], where[-2])
        limit = number(call.get("diagonal", 0))
        keep = ("ge" if upper else "le", ahead, limit)
        return Rule("triangle", "pointwise", ("where", keep, cell(call["self"], where), 0))

    return rule


def isin(call: Call) -> Rule:
    """Whether a cell equals any of the test cells."""
    tests = call["test_elements"]
    x = cell(call["elements"], call.out.index)
    ranges, where = over(tests, list(range(tests.rank)), False, ())
    found: Expr = reduce("max", ranges, ("eq", x, at(tests.position, *where)))
    if call.get("invert"):
        found = ("not", found)
    return Rule("isin", "reduction", found)


def _peak(kind: str) -> RuleMaker:
    base = fold(kind, kind)

    def rule(call: Call) -> Rule | list[Rule | None]:
        return base(call)

    return rule


TABLE: dict[str, RuleMaker] = {
    "sum": fold("sum", "sum"),
    "prod": fold("prod", "prod"),
    "amax": _peak("max"),
    "amin": _peak("min"),
    "mean": mean,
    "any": truth("max", "any"),
    "all": truth("min", "all"),
    "max": extreme("max"),
    "min": extreme("min"),
    "argmax": arg_extreme("argmax"),
    "argmin": arg_extreme("argmin"),
    "var": variance(False),
    "std": variance(True),
    "var_mean": var_mean,
    "logsumexp": logsumexp,
    "linalg_vector_norm": vector_norm,
    "norm": vector_norm,
    "cumsum": running("sum", "cumsum"),
    "cumprod": running("prod", "cumprod"),
    "count_nonzero": count_nonzero,
    "sort": sort,
    "topk": topk,
    "nonzero": nonzero,
    "tril": triangle(False),
    "triu": triangle(True),
    "isin": isin,
}
