"""Convolution and its gradients."""

from cutaway.glass.expr import At, Expr, add, fold, index, mul, op
from cutaway.glass.rules.call import OPAQUE, Call, Operand, Rule, RuleMaker, cell
from cutaway.glass.rules.window import Window, spread, where


def _window(call: Call, weight: Operand) -> Window:
    kernel = weight.shape[2:]
    settings = (spread(call[name], len(kernel)) for name in ("stride", "padding", "dilation"))
    return Window(kernel, *settings)


def _in_group(call: Call, channel: str, wide: int, other: int, name: str) -> Expr:
    """Of `other` channels per group number `name`, in the group of a channel (`wide` per group)."""
    return add(mul(op("idiv", channel, wide), other), name) if call["groups"] > 1 else name


def _own(call: Call, channel: str, wide: int) -> Expr:
    """The number of a channel in its group."""
    return op("mod", channel, wide) if call["groups"] > 1 else channel


def convolution(call: Call) -> Rule:
    """Σ over channels and taps of input·weight, plus bias."""
    source, weight, bias = call["input"], call["weight"], call.get("bias")
    window = _window(call, weight)
    space = call.out.index[2:]
    if call["transposed"]:
        inner, outer = source.shape[1] // call["groups"], weight.shape[1]
        channel = _in_group(call, "i1", outer, inner, "c")
        tests, places = window.seen_by(space)
        taken = weight.at(channel, _own(call, "i1", outer), *window.names)
    else:
        inner, outer = weight.shape[1], weight.shape[0] // call["groups"]
        channel = _in_group(call, "i1", outer, inner, "c")
        tests, places = [], window.seen(space)
        taken = weight.at("i1", "c", *window.names)
    term = mul(At(source.position, ("i0", channel, *places), 0), taken)
    expr = fold("sum", [("c", inner), *window.taps], where(tests, term))
    return Rule(
        "convolution", "contraction", expr if bias is None else add(expr, cell(bias, ("i1",)))
    )


def convolution_backward(call: Call) -> list[Rule | None]:
    """Gradients by the input, the weight and the bias."""
    g, source, weight = call["grad_output"], call["input"], call["weight"]
    if call["transposed"]:
        return [OPAQUE for _ in call.outputs]
    window = _window(call, weight)
    inner, outer = weight.shape[1], weight.shape[0] // call["groups"]
    space = index(source.rank)[2:]
    tests, places = window.seen_by(space)
    filter_ = _in_group(call, "i1", inner, outer, "o")
    taken = weight.at(filter_, _own(call, "i1", inner), *window.names)
    term = mul(At(g.position, ("i0", filter_, *places), 0), taken)
    by_input = fold("sum", [("o", outer), *window.taps], where(tests, term))
    ranges = [("n", g.shape[0]), *((f"o{axis}", size) for axis, size in enumerate(g.shape[2:]))]
    spots = [name for name, _ in ranges[1:]]
    channel = _in_group(call, "i0", outer, inner, "i1")
    seen = At(source.position, ("n", channel, *window.seen(spots, space)), 0)
    given = g.at("n", "i0", *spots)
    return [
        Rule("convolution_backward", "contraction", by_input),
        Rule("convolution_backward", "contraction", fold("sum", ranges, mul(given, seen))),
        Rule("sum", "reduction", fold("sum", ranges, given)),
    ]


TABLE: dict[str, RuleMaker] = {
    "convolution": convolution,
    "_convolution": convolution,
    "convolution_backward": convolution_backward,
}
