"""Layer, group and batch norm, with their gradients.

They differ in the cells that share a mean: those of a layer's last axes, of a group of channels, of
a channel in the whole batch. `row` are the cells one mean is taken over, `rest` those that share a
weight.
"""

from collections.abc import Callable

from cutaway.glass.expr import Expr, Place, Ranges, add, index, mul, number, op
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell
from cutaway.glass.rules.formula import Formula, Own, Row, Scope

NORMED = Formula("(x - mean)*rstd*weight + bias")
MEAN = Formula("mean(x[k] for k in row)")
RSTD = Formula("rsqrt(mean((x[k] - mean[k])*(x[k] - mean[k]) for k in row) + eps)")
SQUARES = Formula("sum((x[k] - mean[k])*(x[k] - mean[k]) for k in row)")
BLEND = Formula("kept*running + momentum*fresh")

BACKWARD = Formula(
    "p = mean(g[k]*weight[k] for k in row);"
    "q = mean(g[k]*weight[k]*((x[k] - mean[k])*rstd[k]) for k in row);"
    "rstd*(g*weight - p - (x - mean)*rstd*q)"
)
CHANNEL_BACKWARD = Formula(  # the weight is the same in the whole row
    "p = mean(g[k] for k in row); q = mean(g[k]*((x[k] - mean[k])*rstd[k]) for k in row);"
    "rstd*weight*(g - p - (x - mean)*rstd*q)"
)
FIXED_BACKWARD = Formula("rstd*weight*g")  # mean and spread are constants
WEIGHT_BACKWARD = Formula("sum(g[t]*((x[t] - mean[t])*rstd[t]) for t in rest)")
BIAS_BACKWARD = Formula("sum(g[t] for t in rest)")


def _forward(name: str, output: Scope, moments: Scope) -> list[Rule | None]:
    return [
        Rule(name, "rowwise", NORMED.fill(output)),
        Rule("mean", "reduction", MEAN.fill(moments)),
        Rule("rstd", "reduction", RSTD.fill(moments)),
    ]


def _backward(name: str, formula: Formula, by_input: Scope, by_weight: Scope) -> list[Rule | None]:
    return [
        Rule(name, "rowwise", formula.fill(by_input)),
        Rule("norm_weight_backward", "reduction", WEIGHT_BACKWARD.fill(by_weight)),
        Rule("sum", "reduction", BIAS_BACKWARD.fill(by_weight)),
    ]


def _optional(operand: Operand | None, place: Place) -> Expr | None:
    return None if operand is None else cell(operand, place)


def _last_axes(source: Operand, dims: int) -> Row:
    """The last `dims` axes of a tensor."""
    lead = source.rank - dims
    names = ["k"] if dims == 1 else [f"k{axis}" for axis in range(dims)]
    ranges = tuple(zip(names, source.shape[lead:], strict=True))
    return Row(ranges, (*index(lead), *names))


def layer_norm(call: Call) -> list[Rule | None]:
    """(x − μ)·r·w + b, with the row's mean μ and r = 1/√(variance + ε)."""
    source: Operand = call["input"]
    own: Own = {
        "x": lambda place: source.at(*place),
        "mean": lambda place: cell(call.result(1), place),
        "rstd": lambda place: cell(call.result(2), place),
    }
    row = _last_axes(source, len(call["normalized_shape"]))
    scope = Scope(call, index(source.rank), {"row": row}, own)
    return _forward("layer_norm", scope, scope)


def layer_norm_backward(call: Call) -> list[Rule | None]:
    """r·(gw − mean(gw) − x̂·mean(gw·x̂)); Σ g·x̂; Σ g."""
    source: Operand = call["input"]
    dims = len(call["normalized_shape"])
    lead = source.rank - dims
    names = [f"t{axis}" if lead > 1 else "t" for axis in range(lead)]
    outer = tuple(zip(names, source.shape[:lead], strict=True))
    rows = {"row": _last_axes(source, dims), "rest": Row(outer, (*names, *index(dims)))}
    scope = Scope(call, index(source.rank), rows)
    return _backward("layer_norm_backward", BACKWARD, scope, scope)


def _channels(source: Operand, channel: Expr) -> Row:
    """All cells of one channel."""
    outer = tuple((f"t{axis}", size) for axis, size in enumerate(source.shape) if axis != 1)
    return Row(outer, [channel if axis == 1 else f"t{axis}" for axis in range(source.rank)])


def _by_channel(call: Call, mean: Operand, rstd: Operand | None) -> Own:
    """Names that have one number per channel; without rstd it follows from the running one."""

    def spread(place: Place) -> Expr:
        if rstd is not None:
            return cell(rstd, (place[1],))
        return op("rsqrt", add(cell(call["running_var"], (place[1],)), number(call["eps"])))

    return {
        "x": lambda place: cell(call["input"], place),
        "mean": lambda place: cell(mean, (place[1],)),
        "rstd": spread,
        "weight": lambda place: _optional(call.get("weight"), (place[1],)),
        "bias": lambda place: _optional(call.get("bias"), (place[1],)),
    }


def batch_norm(call: Call) -> list[Rule | None]:
    """(x − μ)·r·w + b per channel, from the batch's moments or the running ones."""
    source: Operand = call["input"]
    where = call.out.index
    if not (call.get("training") or call.get("train")):
        scope = Scope(call, where, own=_by_channel(call, call["running_mean"], None))
        expr = NORMED.fill(scope)
        return [Rule("batch_norm", "rowwise", expr), *([None] * (len(call.outputs) - 1))]
    own = _by_channel(call, call.result(1), call.result(2))
    row = _channels(source, "i0")
    moments = Scope(call, (), {"row": row}, own)
    rules = _forward("batch_norm", Scope(call, where, own=own), moments)
    variance = op("div", SQUARES.fill(moments), number(row.terms - 1))
    for name, fresh in (("running_mean", call.result(1).at("i0")), ("running_var", variance)):
        if call.get(name) is not None and len(rules) < len(call.outputs):
            rules.append(Rule("lerp", "pointwise", _blend(call, call[name], fresh)))
    return rules


def _blend(call: Call, running: Operand, fresh: Expr) -> Expr:
    """A running average: most of what it was, and a little of what is new."""
    kept = number(1 - float(call["momentum"]))
    own: Own = {"kept": kept, "running": running.at("i0"), "fresh": fresh}
    return BLEND.fill(Scope(call, (), own=own))


def batch_norm_backward(call: Call) -> list[Rule | None]:
    """r·w·(g − mean(g) − x̂·mean(g·x̂)) in training, g·r·w otherwise; Σ g·x̂; Σ g."""
    source: Operand = call["input"]
    if call["train"]:
        formula, own = CHANNEL_BACKWARD, _by_channel(call, call["save_mean"], call["save_invstd"])
    else:
        formula, own = FIXED_BACKWARD, _by_channel(call, call["running_mean"], None)
    by_input = Scope(call, index(source.rank), {"row": _channels(source, "i1")}, own)
    by_weight = Scope(call, (), {"rest": _channels(source, "i0")}, own)
    return _backward("batch_norm_backward", formula, by_input, by_weight)


def _groups(call: Call) -> tuple[int, Ranges]:
    """How many channels a group has, and the ranges of the axes behind them."""
    shape = call["input"].shape
    return shape[1] // call["group"], tuple((f"t{a}", size) for a, size in enumerate(shape[2:]))


def _by_group(call: Call, mean: Operand, rstd: Operand, group: Callable[[Place], Expr]) -> Own:
    return {
        "mean": lambda place: cell(mean, (place[0], group(place))),
        "rstd": lambda place: cell(rstd, (place[0], group(place))),
        "weight": lambda place: _optional(call.get("weight"), (place[1],)),
        "bias": lambda place: _optional(call.get("bias"), (place[1],)),
    }


def group_norm(call: Call) -> list[Rule | None]:
    """(x − μ)·r·w + b, with mean and spread of each group of channels."""
    wide, space = _groups(call)
    inside = tuple(name for name, _ in space)
    row = Row((("c", wide), *space), ("i0", add(mul("i1", wide), "c"), *inside))
    moments = call.result(1), call.result(2)
    by_channel = _by_group(call, *moments, lambda place: op("idiv", place[1], wide))
    by_group = _by_group(call, *moments, lambda _: "i1")
    return _forward(
        "layer_norm",
        Scope(call, call.out.index, own=by_channel),
        Scope(call, (), {"row": row}, by_group),
    )


def group_norm_backward(call: Call) -> list[Rule | None]:
    """As for layer norm, a group of channels at a time."""
    source: Operand = call["input"]
    wide, space = _groups(call)
    inside = tuple(name for name, _ in space)
    group = op("idiv", "i1", wide)
    row = Row((("c", wide), *space), ("i0", add(mul(group, wide), "c"), *inside))
    rest = Row((("n", source.shape[0]), *space), ("n", "i0", *inside))
    moments = call["mean"], call["rstd"]
    by_input = Scope(
        call, index(source.rank), {"row": row}, _by_group(call, *moments, lambda _: group)
    )
    own = _by_group(call, *moments, lambda _: op("idiv", "i0", wide))
    by_weight = Scope(call, (), {"rest": rest}, own)
    return _backward("layer_norm_backward", BACKWARD, by_input, by_weight)


TABLE: dict[str, RuleMaker] = {
    "native_layer_norm": layer_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": batch_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "native_batch_norm_backward": batch_norm_backward,
    "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_backward,
}
