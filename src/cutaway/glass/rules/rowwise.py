"""A row at a time: softmax and the norms, with their gradients."""

import math

from cutaway.glass.expr import NEG_INF, Expr, add, at, div, let, mul, number, reduce, sub
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell


def _row(call: Call, source: Operand) -> tuple[int, list[tuple[str, int]], tuple[Expr, ...]]:
    """The axis, its range, and the source's index with `k` on that axis."""
    where: list[Expr] = list(call.out.index)
    if source.rank == 0:
        return 0, [], ()
    axis = call["dim"] % source.rank
    where[axis] = "k"
    return axis, [("k", source.shape[axis])], tuple(where)


def softmax(call: Call) -> Rule:
    """e^(x − m) / Σ e^(x − m), m the row's largest."""
    source: Operand = call["self"]
    _, ranges, row = _row(call, source)
    x, here = at(source.position, *row), at(source.position, *call.out.index)
    total = reduce("sum", ranges, ("exp", sub(x, "m")))
    body = let("z", total, div(("exp", sub(here, "m")), "z"))
    return Rule("softmax", "rowwise", let("m", reduce("max", ranges, x), body))


def safe_softmax(call: Call) -> Rule:
    """Softmax, and zeros where a whole row is −∞."""
    source: Operand = call["self"]
    _, ranges, row = _row(call, source)
    x, here = at(source.position, *row), at(source.position, *call.out.index)
    total = reduce("sum", ranges, ("exp", sub(x, "m")))
    body = let("z", total, div(("exp", sub(here, "m")), "z"))
    safe = ("where", ("eq", "m", NEG_INF), 0, body)
    return Rule("softmax", "rowwise", let("m", reduce("max", ranges, x), safe))


def log_softmax(call: Call) -> Rule:
    """x − m − log Σ e^(x − m)."""
    source: Operand = call["self"]
    _, ranges, row = _row(call, source)
    x, here = at(source.position, *row), at(source.position, *call.out.index)
    total = reduce("sum", ranges, ("exp", sub(x, "m")))
    body = let("z", total, sub(sub(here, "m"), ("log", "z")))
    return Rule("log_softmax", "rowwise", let("m", reduce("max", ranges, x), body))


def softmax_backward(call: Call) -> Rule:
    """y·(g − Σ g·y)."""
    g, y = call["grad_output"], call["output"]
    _, ranges, row = _row(call, y)
    where = call.out.index
    total = reduce("sum", ranges, ("mul", cell(g, row), cell(y, row)))
    body = mul(cell(y, where), sub(cell(g, where), "s"))
    return Rule("softmax_backward", "rowwise", let("s", total, body))


def log_softmax_backward(call: Call) -> Rule:
    """g − e^y·Σ g."""
    g, y = call["grad_output"], call["output"]
    _, ranges, row = _row(call, y)
    where = call.out.index
    total = reduce("sum", ranges, cell(g, row))
    body = sub(cell(g, where), mul(("exp", cell(y, where)), "s"))
    return Rule("log_softmax_backward", "rowwise", let("s", total, body))


def _normalized(source: Operand, dims: int) -> tuple[list[tuple[str, int]], tuple[Expr, ...]]:
    """Ranges over the last `dims` axes, and the source index at (i0, …, k0, …)."""
    lead = source.rank - dims
    names = ["k"] if dims == 1 else [f"k{axis}" for axis in range(dims)]
    ranges = list(zip(names, source.shape[lead:], strict=True))
    return ranges, (*(f"i{axis}" for axis in range(lead)), *names)


def layer_norm(call: Call) -> list[Rule | None]:
    """(x − μ)·r·w + b, with the row's mean μ and r = 1/√(variance + ε)."""
    source: Operand = call["input"]
    dims = len(call["normalized_shape"])
    where = call.outputs[0].index
    tail = where[source.rank - dims :]
    lead = where[: source.rank - dims]
    stats = (*lead, *([0] * dims))  # outputs 1 and 2: this very call's mean and rstd
    expr: Expr = mul(sub(cell(source, where), at(-2, *stats)), at(-3, *stats))
    if call.get("weight") is not None:
        expr = mul(expr, cell(call["weight"], tail))
    if call.get("bias") is not None:
        expr = add(expr, cell(call["bias"], tail))
    ranges, row = _normalized(source, dims)
    count = number(math.prod(size for _, size in ranges))
    x = at(source.position, *row)
    average = div(reduce("sum", ranges, x), count)
    off = sub(x, at(-2, *stats))
    spread = div(reduce("sum", ranges, mul(off, off)), count)
    return [
        Rule("layer_norm", "rowwise", expr),
        Rule("mean", "reduction", average),
        Rule("rstd", "reduction", ("rsqrt", add(spread, number(call["eps"])))),
    ]


def layer_norm_backward(call: Call) -> list[Rule | None]:
    """r·(gw − mean(gw) − x̂·mean(gw·x̂)); Σ g·x̂; Σ g."""
    source: Operand = call["input"]
    g, average, rstd = call["grad_out"], call["mean"], call["rstd"]
    weight = call.get("weight")
    dims = len(call["normalized_shape"])
    lead = source.rank - dims
    ranges, row = _normalized(source, dims)
    count = number(math.prod(size for _, size in ranges))
    where = tuple(f"i{axis}" for axis in range(source.rank))

    def hat(place: tuple[Expr, ...]) -> Expr:
        stats = (*place[:lead], *([0] * dims))
        return mul(sub(cell(source, place), cell(average, stats)), cell(rstd, stats))

    def weighted(place: tuple[Expr, ...]) -> Expr:
        return mul(cell(g, place), cell(weight, place[lead:])) if weight else cell(g, place)

    first = div(reduce("sum", ranges, weighted(row)), count)
    second = div(reduce("sum", ranges, mul(weighted(row), hat(row))), count)
    stats = (*where[:lead], *([0] * dims))
    body = mul(cell(rstd, stats), sub(sub(weighted(where), "p"), mul(hat(where), "q")))
    rules: list[Rule | None] = [
        Rule("layer_norm_backward", "rowwise", let("p", first, let("q", second, body)))
    ]
    outer = [
        (f"t{axis}" if lead > 1 else "t", size) for axis, size in enumerate(source.shape[:lead])
    ]
    place = (*(name for name, _ in outer), *(f"i{axis}" for axis in range(dims)))
    rules.append(
        Rule(
            "norm_weight_backward",
            "reduction",
            reduce("sum", outer, mul(cell(g, place), hat(place))),
        )
    )
    rules.append(Rule("sum", "reduction", reduce("sum", outer, cell(g, place))))
    return rules


def batch_norm(call: Call) -> list[Rule | None]:
    """(x − μ)·r·w + b a channel, from the batch's moments or the running ones."""
    source: Operand = call["input"]
    where = call.outputs[0].index
    channel = where[1]
    training = bool(call.get("training", call.get("train", False)))
    outer = [(f"t{axis}", size) for axis, size in enumerate(source.shape) if axis != 1]
    place = tuple("i0" if axis == 1 else f"t{axis}" for axis in range(source.rank))
    count = math.prod(size for _, size in outer)
    x = at(source.position, *place)
    eps = number(call["eps"])
    if training:
        average, scale = at(-2, channel), at(-3, channel)
    else:
        average = cell(call["running_mean"], (channel,))
        scale = ("rsqrt", add(cell(call["running_var"], (channel,)), eps))
    expr = mul(sub(cell(source, where), average), scale)
    if call.get("weight") is not None:
        expr = mul(expr, cell(call["weight"], (channel,)))
    if call.get("bias") is not None:
        expr = add(expr, cell(call["bias"], (channel,)))
    rules: list[Rule | None] = [Rule("batch_norm", "rowwise", expr)]
    if not training:
        return [*rules, *([None] * (len(call.outputs) - 1))]
    off = sub(x, at(-2, "i0"))
    squares = reduce("sum", outer, mul(off, off))
    rules.append(Rule("mean", "reduction", div(reduce("sum", outer, x), number(count))))
    rules.append(Rule("rstd", "reduction", ("rsqrt", add(div(squares, number(count)), eps))))
    momentum = float(call["momentum"])
    for name in ("running_mean", "running_var"):
        running = call.get(name)
        if running is None or len(rules) >= len(call.outputs):
            continue
        if name == "running_mean":
            fresh: Expr = at(-2, "i0")
        else:
            fresh = div(squares, number(count - 1))
        blend = add(
            mul(number(1 - momentum), at(running.position, "i0")), mul(number(momentum), fresh)
        )
        rules.append(Rule("lerp", "pointwise", blend))
    return rules


def batch_norm_backward(call: Call) -> list[Rule | None]:
    """r·w·(g − mean(g) − x̂·mean(g·x̂)) in training, g·r·w otherwise; Σ g·x̂; Σ g."""
    source: Operand = call["input"]
    g, weight = call["grad_out"], call.get("weight")
    training = bool(call["train"])
    outer = [(f"t{axis}", size) for axis, size in enumerate(source.shape) if axis != 1]
    count = number(math.prod(size for _, size in outer))
    eps = number(call["eps"])

    def stats(channel: Expr) -> tuple[Expr, Expr]:
        if training:
            return cell(call["save_mean"], (channel,)), cell(call["save_invstd"], (channel,))
        variance = cell(call["running_var"], (channel,))
        return cell(call["running_mean"], (channel,)), ("rsqrt", add(variance, eps))

    def place(channel: Expr) -> tuple[Expr, ...]:
        return tuple(channel if axis == 1 else f"t{axis}" for axis in range(source.rank))

    def hat(where: tuple[Expr, ...], channel: Expr) -> Expr:
        average, scale = stats(channel)
        return mul(sub(cell(source, where), average), scale)

    where = tuple(f"i{axis}" for axis in range(source.rank))
    scale = stats("i1")[1]
    factor = mul(scale, cell(weight, ("i1",))) if weight else scale
    if training:
        first = div(reduce("sum", outer, cell(g, place("i1"))), count)
        second = div(reduce("sum", outer, mul(cell(g, place("i1")), hat(place("i1"), "i1"))), count)
        body = mul(factor, sub(sub(cell(g, where), "p"), mul(hat(where, "i1"), "q")))
        expr: Expr = let("p", first, let("q", second, body))
    else:
        expr = mul(factor, cell(g, where))
    return [
        Rule("batch_norm_backward", "rowwise", expr),
        Rule(
            "norm_weight_backward",
            "reduction",
            reduce("sum", outer, mul(cell(g, place("i0")), hat(place("i0"), "i0"))),
        ),
        Rule("sum", "reduction", reduce("sum", outer, cell(g, place("i0")))),
    ]


def group_norm(call: Call) -> list[Rule | None]:
    """(x − μ)·r·w + b, with mean and spread of each group of channels."""
    source: Operand = call["input"]
    groups = call["group"]
    wide = source.shape[1] // groups
    where = call.outputs[0].index
    group: Expr = ("idiv", "i1", wide)
    stats = ("i0", group)
    expr: Expr = mul(sub(cell(source, where), at(-2, *stats)), at(-3, *stats))
    if call.get("weight") is not None:
        expr = mul(expr, cell(call["weight"], ("i1",)))
    if call.get("bias") is not None:
        expr = add(expr, cell(call["bias"], ("i1",)))
    ranges = [("c", wide), *((f"t{axis}", size) for axis, size in enumerate(source.shape[2:]))]
    inside = tuple(name for name, _ in ranges[1:])
    count = number(math.prod(size for _, size in ranges))
    x = at(source.position, "i0", add(mul("i1", wide), "c"), *inside)
    off = sub(x, at(-2, "i0", "i1"))
    spread = div(reduce("sum", ranges, mul(off, off)), count)
    return [
        Rule("layer_norm", "rowwise", expr),
        Rule("mean", "reduction", div(reduce("sum", ranges, x), count)),
        Rule("rstd", "reduction", ("rsqrt", add(spread, number(call["eps"])))),
    ]


def group_norm_backward(call: Call) -> list[Rule | None]:
    """As for layer norm, a group of channels at a time."""
    source: Operand = call["input"]
    g, average, rstd, weight = call["grad_out"], call["mean"], call["rstd"], call.get("weight")
    wide = source.shape[1] // call["group"]
    inner = [(f"t{axis}", size) for axis, size in enumerate(source.shape[2:])]
    names = tuple(name for name, _ in inner)

    def hat(place: tuple[Expr, ...], group: Expr) -> Expr:
        stats = (place[0], group)
        return mul(sub(cell(source, place), cell(average, stats)), cell(rstd, stats))

    def weighted(place: tuple[Expr, ...]) -> Expr:
        return mul(cell(g, place), cell(weight, (place[1],))) if weight else cell(g, place)

    where = tuple(f"i{axis}" for axis in range(source.rank))
    group: Expr = ("idiv", "i1", wide)
    row = ("i0", add(mul(group, wide), "c"), *names)
    ranges = [("c", wide), *inner]
    count = number(math.prod(size for _, size in ranges))
    first = div(reduce("sum", ranges, weighted(row)), count)
    second = div(reduce("sum", ranges, mul(weighted(row), hat(row, group))), count)
    body = mul(
        cell(rstd, ("i0", group)), sub(sub(weighted(where), "p"), mul(hat(where, group), "q"))
    )
    outer = [("n", source.shape[0]), *inner]
    place = ("n", "i0", *names)
    own: Expr = ("idiv", "i0", wide)
    return [
        Rule("layer_norm_backward", "rowwise", let("p", first, let("q", second, body))),
        Rule(
            "norm_weight_backward",
            "reduction",
            reduce("sum", outer, mul(cell(g, place), hat(place, own))),
        ),
        Rule("sum", "reduction", reduce("sum", outer, cell(g, place))),
    ]


TABLE: dict[str, RuleMaker] = {
    "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_backward,
    "_softmax": softmax,
    "softmax": softmax,
    "_safe_softmax": safe_softmax,
    "_log_softmax": log_softmax,
    "log_softmax": log_softmax,
    "_softmax_backward_data": softmax_backward,
    "_log_softmax_backward_data": log_softmax_backward,
    "native_layer_norm": layer_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": batch_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "native_batch_norm_backward": batch_norm_backward,
}
