"""Losses and their gradients."""

from cutaway.glass.expr import Expr, add, at, div, mul, number, reduce, sub
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell

MEAN, SUM = 1, 2


def _nll(call: Call) -> tuple[list[tuple[str, int]], Expr, Expr]:
    """Ranges over the rows, one row's weighted −log p, and one row's weight."""
    source, target = call["self"], call["target"]
    ranges = [] if source.rank == 1 else [("t", source.shape[0])]
    row = tuple(name for name, _ in ranges)
    klass = at(target.position, *row[: target.rank])
    picked = at(source.position, *row, "c")
    weight: Expr = 1
    if call.get("weight") is not None:
        weight = at(call["weight"].position, "c")
    ignore = call["ignore_index"]
    taken = ("ne", "c", ignore)
    loss = ("let", "c", klass, ("where", taken, ("neg", mul(weight, picked)), 0))
    share = ("let", "c", klass, ("where", taken, weight, 0))
    return ranges, loss, share


def nll_forward(call: Call) -> list[Rule | None]:
    """−Σ w·log p of the right class, by its weight if the mean is asked."""
    ranges, loss, share = _nll(call)
    reduction = call["reduction"]
    total_weight = reduce("sum", ranges, share)
    if reduction == 0 and ranges:
        own = _rename(loss, "t", "i0")
        return [Rule("nll_loss", "pointwise", own), Rule("constant", "pointwise", 0)]
    total = reduce("sum", ranges, loss)
    expr = div(total, at(-2)) if reduction == MEAN else total
    return [Rule("nll_loss", "reduction", expr), Rule("sum", "reduction", total_weight)]


def _rename(expr: Expr, old: str, new: str) -> Expr:
    if expr == old:
        return new
    if isinstance(expr, tuple):
        return tuple(_rename(part, old, new) for part in expr)
    return expr


def nll_backward(call: Call) -> Rule:
    """−g·w at the right class, 0 elsewhere."""
    g, source, target = call["grad_output"], call["self"], call["target"]
    where = call.out.index
    row = where[:-1]
    klass = at(target.position, *row[: target.rank])
    reduction = call["reduction"]
    grad = cell(g, row) if reduction == 0 else at(g.position, *([0] * g.rank))
    weight: Expr = 1
    if call.get("weight") is not None:
        weight = cell(call["weight"], (where[-1],))
    scaled: Expr = ("neg", mul(weight, grad))
    if reduction == MEAN:
        total: Operand = call["total_weight"]
        scaled = div(scaled, at(total.position, *([0] * total.rank)))
    hit = ("and", ("eq", klass, where[-1]), ("ne", where[-1], call["ignore_index"]))
    del source
    return Rule("nll_loss_backward", "scatter", ("where", hit, scaled, 0))


def pairwise(body: str) -> RuleMaker:
    """A loss cell by cell, summed or averaged if asked."""

    def rule(call: Call) -> Rule:
        left: Operand = call["self"]
        target: Operand = call["target"]
        reduction = call.get("reduction", MEAN)
        if reduction == 0:
            where: tuple[Expr, ...] = call.out.index
            ranges: list[tuple[str, int]] = []
        else:
            ranges = [(f"t{axis}", size) for axis, size in enumerate(left.shape)]
            where = tuple(name for name, _ in ranges)
        x, y = cell(left, where), cell(target, where)
        term: Expr
        if body == "mse":
            term = mul(sub(x, y), sub(x, y))
        elif body == "bce":
            floor = number(-100)
            term = sub(
                ("neg", mul(y, ("maximum", ("log", x), floor))),
                mul(sub(1, y), ("maximum", ("log", sub(1, x)), floor)),
            )
            if call.get("weight") is not None:
                term = mul(cell(call["weight"], where), term)
        else:
            delta = number(call.get("delta", call.get("beta", 1)))
            far = ("abs", sub(x, y))
            small, large = mul(0.5, "d", "d"), mul(delta, sub("d", mul(0.5, delta)))
            if "beta" in call.arguments or "smooth" in call.op:
                small, large = div(small, delta), sub("d", mul(0.5, delta))
            term = ("let", "d", far, ("where", ("lt", "d", delta), small, large))
        expr = reduce("sum", ranges, term)
        if reduction == MEAN:
            expr = div(expr, number(max(left.cells, 1)))
        return Rule(f"{body}_loss", "reduction" if ranges else "pointwise", expr)

    return rule


def mse_backward(call: Call) -> Rule:
    """2·g·(x − y), by the number of cells if the mean was asked."""
    where = call.out.index
    left: Operand = call["self"]
    g = cell(
        call["grad_output"], where[-call["grad_output"].rank :] if call["grad_output"].rank else ()
    )
    scale = 2 / left.cells if call["reduction"] == MEAN else 2
    expr = mul(number(scale), sub(cell(left, where), cell(call["target"], where)), g)
    return Rule("mse_loss_backward", "pointwise", expr)


def huber_backward(call: Call) -> Rule:
    """g·(x − y) near the target, ±g·δ far from it."""
    where = call.out.index
    left: Operand = call["self"]
    grad: Operand = call["grad_output"]
    g = cell(grad, where[len(where) - grad.rank :] if grad.rank else ())
    smooth = "smooth" in call.op
    delta = number(call["beta"] if smooth else call["delta"])
    off = sub(cell(left, where), cell(call["target"], where))
    near = div("d", delta) if smooth else "d"
    far = ("sign", "d") if smooth else mul(delta, ("sign", "d"))
    slope = ("let", "d", off, ("where", ("lt", ("abs", "d"), delta), near, far))
    scale = number(1 / left.cells if call["reduction"] == MEAN else 1)
    return Rule("huber_loss_backward", "pointwise", mul(scale, g, slope))


def bce_with_logits(call: Call) -> Rule:
    """(1 − y)·x + (1 + (p − 1)·y)·log(1 + e^−x), p the weight of positives."""
    left: Operand = call["self"]
    reduction = call.get("reduction", MEAN)
    ranges = [] if reduction == 0 else [(f"t{a}", size) for a, size in enumerate(left.shape)]
    where: tuple[Expr, ...] = tuple(name for name, _ in ranges) if ranges else call.out.index
    x, y = cell(left, where), cell(call["target"], where)
    soft = add(("log1p", ("exp", ("neg", ("abs", x)))), ("maximum", ("neg", x), 0))
    if call.get("pos_weight") is not None:
        soft = mul(add(1, mul(sub(cell(call["pos_weight"], where), 1), y)), soft)
    term = add(mul(sub(1, y), x), soft)
    if call.get("weight") is not None:
        term = mul(cell(call["weight"], where), term)
    expr = reduce("sum", ranges, term)
    if reduction == MEAN:
        expr = div(expr, number(max(left.cells, 1)))
    return Rule("bce_loss", "reduction", expr)


TABLE: dict[str, RuleMaker] = {
    "nll_loss_forward": nll_forward,
    "nll_loss_backward": nll_backward,
    "mse_loss": pairwise("mse"),
    "mse_loss_backward": mse_backward,
    "smooth_l1_loss": pairwise("huber"),
    "huber_loss": pairwise("huber"),
    "huber_loss_backward": huber_backward,
    "smooth_l1_loss_backward": huber_backward,
    "binary_cross_entropy": pairwise("bce"),
    "binary_cross_entropy_with_logits": bce_with_logits,
}
