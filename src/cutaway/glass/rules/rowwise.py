"""A row at a time: softmax and its gradients."""

from cutaway.glass.expr import Expr
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker
from cutaway.glass.rules.formula import Formula, Row, Scope

SHIFTED = "m = max(x[k] for k in row); z = sum(exp(x[k] - m) for k in row);"  # m: the row's largest
FORMULAS = {  # the rule's name, the argument whose rows are meant, the formula
    "_softmax": ("softmax", "self", f"{SHIFTED} exp(x - m)/z"),
    "_safe_softmax": ("softmax", "self", f"{SHIFTED} 0 if m == -inf else exp(x - m)/z"),
    "_log_softmax": ("log_softmax", "self", f"{SHIFTED} x - m - log(z)"),
    "_softmax_backward_data": (
        "softmax_backward",
        "output",
        "s = sum(g[k]*y[k] for k in row); y*(g - s)",
    ),
    "_log_softmax_backward_data": (
        "log_softmax_backward",
        "output",
        "s = sum(g[k] for k in row); g - exp(y)*s",
    ),
}


def along(name: str, argument: str, text: str) -> RuleMaker:
    """A formula of the row that runs through a cell along the axis `dim`."""
    formula = Formula(text)

    def rule(call: Call) -> Rule:
        source: Operand = call[argument]
        where = call.out.index
        place: list[Expr] = list(where)
        row = Row((), ())
        if source.rank:
            axis = call["dim"] % source.rank
            place[axis] = "k"
            row = Row((("k", source.shape[axis]),), place)
        own = {"x": lambda place: source.at(*place)} if argument == "self" else {}
        return Rule(name, "rowwise", formula.fill(Scope(call, where, {"row": row}, own)))

    return rule


TABLE: dict[str, RuleMaker] = {name: along(*parts) for name, parts in FORMULAS.items()}
TABLE |= {"softmax": TABLE["_softmax"], "log_softmax": TABLE["_log_softmax"]}
