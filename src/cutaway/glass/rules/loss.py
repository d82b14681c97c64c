"""Losses and their gradients."""

from cutaway.glass.expr import Place, div, fold, number
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell
from cutaway.glass.rules.formula import Formula, Own, Scope

NONE, MEAN = 0, 1  # how a loss is reduced; 2 is the sum

PAIRWISE = {  # one term of a loss, and the rule's name
    "mse_loss": ("mse_loss", "(x - target)*(x - target)"),
    "huber_loss": (
        "huber_loss",
        "d = abs(x - target); 0.5*d*d if d < delta else delta*(d - 0.5*delta)",
    ),
    "smooth_l1_loss": (
        "huber_loss",
        "d = abs(x - target); 0.5*d*d/beta if d < beta else d - 0.5*beta",
    ),
    "binary_cross_entropy": (
        "bce_loss",
        "weight*(-(target*maximum(log(x), -100)) - (1 - target)*maximum(log(1 - x), -100))",
    ),
    "binary_cross_entropy_with_logits": (
        "bce_loss",
        "weight*((1 - target)*x + positive*(log1p(exp(-abs(x))) + maximum(-x, 0)))",
    ),
}
BACKWARD = {  # share: one over the number of cells, if the mean was asked
    "mse_loss_backward": ("mse_loss_backward", "share*(x - target)*g"),
    "huber_loss_backward": (
        "huber_loss_backward",
        "d = x - target; share*g*(d if abs(d) < delta else delta*sign(d))",
    ),
    "smooth_l1_loss_backward": (
        "huber_loss_backward",
        "d = x - target; share*g*(d/beta if abs(d) < beta else sign(d))",
    ),
}
POSITIVE = Formula("1 + (pos_weight - 1)*target")
NLL = Formula("c = target; -(weight*x) if c != ignore_index else 0")
NLL_WEIGHT = Formula("c = target; weight if c != ignore_index else 0")
NLL_BACKWARD = Formula("-(weight*g)/total_weight if target == c and c != ignore_index else 0")


def pairwise(name: str, text: str) -> RuleMaker:
    """A loss cell by cell, summed or averaged if asked."""
    formula = Formula(text)

    def rule(call: Call) -> Rule:
        left: Operand = call["self"]
        reduction = call["reduction"]
        ranges = [] if reduction == NONE else [(f"t{a}", size) for a, size in enumerate(left.shape)]
        where: Place = call.out.index if reduction == NONE else [each for each, _ in ranges]

        given = call.get("pos_weight") is not None
        positive = POSITIVE.fill(Scope(call, where)) if given else None
        scope = Scope(call, where, own={"positive": positive})
        expr = fold("sum", ranges, formula.fill(scope))
        if reduction == MEAN:
            expr = div(expr, number(max(left.cells, 1)))
        return Rule(name, "reduction" if ranges else "pointwise", expr)

    return rule


def backward(name: str, text: str, factor: int = 1) -> RuleMaker:
    """The gradient of such a loss."""
    formula = Formula(text)

    def rule(call: Call) -> Rule:
        share = number(factor / call["self"].cells if call["reduction"] == MEAN else factor)
        scope = Scope(call, call.out.index, own={"share": share})
        return Rule(name, "pointwise", formula.fill(scope))

    return rule


def nll_forward(call: Call) -> list[Rule | None]:
    """−Σ w·log p of the right class, by its weight if the mean is asked."""
    source, target, weight = call["self"], call["target"], call.get("weight")
    reduction = call["reduction"]
    row: tuple[str, ...] = () if source.rank == 1 else ("i0",) if reduction == NONE else ("t",)
    own: Own = {
        "x": source.at(*row, "c"),
        "target": target.at(*row[: target.rank]),
        "weight": 1 if weight is None else weight.at("c"),
    }
    scope = Scope(call, (), own=own)
    loss = NLL.fill(scope)
    if reduction == NONE and row:
        return [Rule("nll_loss", "pointwise", loss), Rule("constant", "pointwise", 0)]
    ranges = [(name, source.shape[0]) for name in row]
    total = fold("sum", ranges, loss)
    expr = div(total, call.result(1).at()) if reduction == MEAN else total
    shares = fold("sum", ranges, NLL_WEIGHT.fill(scope))
    return [Rule("nll_loss", "reduction", expr), Rule("sum", "reduction", shares)]


def nll_backward(call: Call) -> Rule:
    """−g·w at the right class, 0 elsewhere."""
    g, target, weight = call["grad_output"], call["target"], call.get("weight")
    *row, last = call.out.index
    mean = call["reduction"] == MEAN
    own: Own = {
        "c": last,
        "target": target.at(*row[: target.rank]),
        "weight": None if weight is None else cell(weight, (last,)),
        "g": cell(g, row) if call["reduction"] == NONE else g.first,
        "total_weight": call["total_weight"].first if mean else None,
    }
    expr = NLL_BACKWARD.fill(Scope(call, (), own=own))
    return Rule("nll_loss_backward", "scatter", expr)


TABLE: dict[str, RuleMaker] = {
    **{op: pairwise(*loss) for op, loss in PAIRWISE.items()},
    **{op: backward(*loss, 2 if "mse" in op else 1) for op, loss in BACKWARD.items()},
    "nll_loss_forward": nll_forward,
    "nll_loss_backward": nll_backward,
}
