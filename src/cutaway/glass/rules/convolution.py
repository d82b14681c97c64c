"""Windows that slide: convolution and pooling, with their gradients."""

import math
from typing import Any

from cutaway.glass.expr import NEG_INF, Expr, add, at, at_or, div, mul, number, reduce, sub
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell


def _spread(value: Any, dims: int) -> list[int]:
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    return [int(listed[0])] * dims if len(listed) == 1 else [int(part) for part in listed]


class _Window:
    """The geometry both directions of a convolution share."""

    def __init__(self, call: Call, kernel: tuple[int, ...]) -> None:
        self.dims = len(kernel)
        self.kernel = kernel
        self.stride = _spread(call["stride"], self.dims)
        self.padding = _spread(call["padding"], self.dims)
        self.dilation = _spread(call["dilation"], self.dims)
        self.taps = [(f"k{axis}", size) for axis, size in enumerate(kernel)]

    def seen(self, out: list[Expr]) -> list[Expr]:
        """The input position that tap k of output position `out` looks at."""
        return [
            add(
                mul(place, self.stride[axis]),
                mul(f"k{axis}", self.dilation[axis]),
                -self.padding[axis],
            )
            for axis, place in enumerate(out)
        ]

    def seen_by(self, where: list[Expr]) -> tuple[Expr, list[Expr]]:
        """Whether, and which, output position looks at input position `where` through tap k."""
        test: Expr = 1
        places: list[Expr] = []
        for axis, place in enumerate(where):
            shifted = sub(add(place, self.padding[axis]), mul(f"k{axis}", self.dilation[axis]))
            step = self.stride[axis]
            if step == 1:
                places.append(shifted)
                continue
            places.append(("idiv", shifted, step))
            fits = ("eq", ("mod", shifted, step), 0)
            test = fits if test == 1 else ("and", test, fits)
        return test, places


def convolution(call: Call) -> Rule:
    """Σ over channels and taps of input·weight, plus bias."""
    source, weight, bias = call["input"], call["weight"], call.get("bias")
    groups = call["groups"]
    window = _Window(call, weight.shape[2:])
    where = call.out.index
    space = list(where[2:])
    if call["transposed"]:
        channels_out = weight.shape[1]
        inner = source.shape[1] // groups
        test, places = window.seen_by(space)
        group: Expr = ("idiv", "i1", channels_out) if groups > 1 else 0
        channel = add(mul(group, inner), "c")
        term = mul(
            at_or(source.position, ("i0", channel, *places), 0),
            at(
                weight.position,
                channel,
                ("mod", "i1", channels_out) if groups > 1 else "i1",
                *(name for name, _ in window.taps),
            ),
        )
        body = term if test == 1 else ("where", test, term, 0)
        ranges = [("c", inner), *window.taps]
    else:
        inner = weight.shape[1]
        group = ("idiv", "i1", weight.shape[0] // groups) if groups > 1 else 0
        channel = add(mul(group, inner), "c")
        body = mul(
            at_or(source.position, ("i0", channel, *window.seen(space)), 0),
            at(weight.position, "i1", "c", *(name for name, _ in window.taps)),
        )
        ranges = [("c", inner), *window.taps]
    expr = reduce("sum", ranges, body)
    if bias is not None:
        expr = add(expr, cell(bias, ("i1",)))
    return Rule("convolution", "contraction", expr)


def convolution_backward(call: Call) -> list[Rule | None]:
    """Gradients by the input, the weight and the bias."""
    g, source, weight = call["grad_output"], call["input"], call["weight"]
    if call["transposed"]:
        return [Rule("opaque", "opaque") for _ in call.outputs]
    groups = call["groups"]
    window = _Window(call, weight.shape[2:])
    taps = [name for name, _ in window.taps]
    inner, outer = weight.shape[1], weight.shape[0] // groups
    space = [f"i{axis + 2}" for axis in range(window.dims)]
    test, places = window.seen_by(list(space))
    group: Expr = ("idiv", "i1", inner) if groups > 1 else 0
    filter_ = add(mul(group, outer), "o")
    own = ("mod", "i1", inner) if groups > 1 else "i1"
    term = mul(
        at_or(g.position, ("i0", filter_, *places), 0), at(weight.position, filter_, own, *taps)
    )
    body = term if test == 1 else ("where", test, term, 0)
    by_input = reduce("sum", [("o", outer), *window.taps], body)

    ranges = [("n", g.shape[0]), *((f"o{axis}", size) for axis, size in enumerate(g.shape[2:]))]
    spots: list[Expr] = [f"o{axis}" for axis in range(window.dims)]
    seen = [
        add(
            mul(spot, window.stride[axis]),
            mul(f"i{axis + 2}", window.dilation[axis]),
            -window.padding[axis],
        )
        for axis, spot in enumerate(spots)
    ]
    section: Expr = ("idiv", "i0", outer) if groups > 1 else 0
    product = mul(
        at(g.position, "n", "i0", *spots),
        at_or(source.position, ("n", add(mul(section, inner), "i1"), *seen), 0),
    )
    by_weight = reduce("sum", ranges, product)
    by_bias = reduce("sum", ranges, at(g.position, "n", "i0", *spots))
    return [
        Rule("convolution_backward", "contraction", by_input),
        Rule("convolution_backward", "contraction", by_weight),
        Rule("sum", "reduction", by_bias),
    ]


class _Pool:
    """The geometry of a pooling window, with or without a batch axis."""

    def __init__(self, call: Call, source: Operand) -> None:
        dims = 2
        self.lead = source.rank - dims
        self.size = source.shape[self.lead :]
        self.kernel = _spread(call["kernel_size"], dims)
        stride = call.get("stride", [])
        self.stride = _spread(stride, dims) if stride else self.kernel
        self.padding = _spread(call.get("padding", 0), dims)
        self.dilation = _spread(call.get("dilation", 1), dims)
        self.taps = [(f"k{axis}", size) for axis, size in enumerate(self.kernel)]

    def seen(self, where: tuple[Expr, ...]) -> list[Expr]:
        return [
            add(
                mul(place, self.stride[axis]),
                mul(f"k{axis}", self.dilation[axis]),
                -self.padding[axis],
            )
            for axis, place in enumerate(where[self.lead :])
        ]


def max_pool(call: Call) -> list[Rule | None]:
    """The largest cell of each window, and where in the plane it stands."""
    source: Operand = call["self"]
    pool = _Pool(call, source)
    where = call.outputs[0].index
    lead = where[: pool.lead]
    seen = pool.seen(where)
    body = at_or(source.position, (*lead, *seen), NEG_INF)
    flat = add(mul(seen[0], pool.size[1]), seen[1])
    return [
        Rule("max_pool", "reduction", reduce("max", pool.taps, body)),
        Rule("argmax", "reduction", ("argmax", tuple(pool.taps), body, flat)),
    ]


def max_pool_backward(call: Call) -> Rule:
    """Σ of the gradients of the windows whose largest cell this was."""
    g, indices = call["grad_output"], call["indices"]
    source: Operand = call["self"]
    lead = source.rank - 2
    where = call.out.index
    ranges = [("o0", g.shape[-2]), ("o1", g.shape[-1])]
    place = (*where[:lead], "o0", "o1")
    flat = add(mul(where[lead], source.shape[-1]), where[lead + 1])
    hit = ("eq", at(indices.position, *place), flat)
    expr = reduce("sum", ranges, ("where", hit, at(g.position, *place), 0))
    return Rule("max_pool_backward", "scatter", expr)


def _share(call: Call, pool: _Pool, where: list[Expr]) -> Expr:
    """How many cells a window's sum is divided by."""
    override = call.get("divisor_override")
    if override:
        return number(override)
    if call.get("count_include_pad", True) and not call.get("ceil_mode", False):
        return number(math.prod(pool.kernel))
    sides: list[Expr] = []
    for axis, place in enumerate(where):
        start = sub(mul(place, pool.stride[axis]), pool.padding[axis])
        limit = pool.size[axis] + (pool.padding[axis] if call.get("count_include_pad", True) else 0)
        end = ("minimum", add(start, pool.kernel[axis]), limit)
        first = start if call.get("count_include_pad", True) else ("maximum", start, 0)
        sides.append(sub(end, first))
    return mul(*sides)


def avg_pool(call: Call) -> Rule:
    """The mean of each window."""
    source: Operand = call["self"]
    pool = _Pool(call, source)
    where = call.out.index
    body = at_or(source.position, (*where[: pool.lead], *pool.seen(where)), 0)
    expr = div(reduce("sum", pool.taps, body), _share(call, pool, list(where[pool.lead :])))
    return Rule("avg_pool", "reduction", expr)


def avg_pool_backward(call: Call) -> Rule:
    """Σ of the shares of the gradients of all windows that held this cell."""
    g = call["grad_output"]
    source: Operand = call["self"]
    pool = _Pool(call, source)
    where = call.out.index
    ranges = [("o0", g.shape[-2]), ("o1", g.shape[-1])]
    test: Expr = 1
    for axis in range(2):
        start = sub(mul(f"o{axis}", pool.stride[axis]), pool.padding[axis])
        here = where[pool.lead + axis]
        inside = ("and", ("ge", here, start), ("lt", here, add(start, pool.kernel[axis])))
        test = inside if test == 1 else ("and", test, inside)
    cell_ = at(g.position, *where[: pool.lead], "o0", "o1")
    term = ("where", test, div(cell_, _share(call, pool, ["o0", "o1"])), 0)
    return Rule("avg_pool_backward", "scatter", reduce("sum", ranges, term))


def _bounds(place: Expr, outputs: int, inputs: int) -> tuple[Expr, Expr]:
    """First and one past the last input cell of an adaptive window."""
    start = ("idiv", mul(place, inputs), outputs)
    stop = ("idiv", sub(add(mul(add(place, 1), inputs), outputs), 1), outputs)
    return start, stop


def adaptive_avg_pool(call: Call) -> Rule:
    """The mean of each of n windows that together cover the plane."""
    source: Operand = call["self"]
    lead = source.rank - 2
    where = call.out.index
    ranges = [("k0", source.shape[-2]), ("k1", source.shape[-1])]
    test: Expr = 1
    sides: list[Expr] = []
    for axis in range(2):
        start, stop = _bounds(
            where[lead + axis], call.out.shape[lead + axis], source.shape[lead + axis]
        )
        inside = ("and", ("ge", f"k{axis}", start), ("lt", f"k{axis}", stop))
        test = inside if test == 1 else ("and", test, inside)
        sides.append(sub(stop, start))
    term = ("where", test, at(source.position, *where[:lead], "k0", "k1"), 0)
    return Rule("avg_pool", "reduction", div(reduce("sum", ranges, term), mul(*sides)))


def adaptive_avg_pool_backward(call: Call) -> Rule:
    """Σ of the shares of the gradients of all windows that held this cell."""
    g = call["grad_output"]
    source: Operand = call["self"]
    lead = source.rank - 2
    where = call.out.index
    ranges = [("o0", g.shape[-2]), ("o1", g.shape[-1])]
    test: Expr = 1
    sides: list[Expr] = []
    for axis in range(2):
        start, stop = _bounds(f"o{axis}", g.shape[lead + axis], source.shape[lead + axis])
        inside = ("and", ("ge", where[lead + axis], start), ("lt", where[lead + axis], stop))
        test = inside if test == 1 else ("and", test, inside)
        sides.append(sub(stop, start))
    term = ("where", test, div(at(g.position, *where[:lead], "o0", "o1"), mul(*sides)), 0)
    return Rule("avg_pool_backward", "scatter", reduce("sum", ranges, term))


TABLE: dict[str, RuleMaker] = {
    "convolution": convolution,
    "_convolution": convolution,
    "convolution_backward": convolution_backward,
    "max_pool2d_with_indices": max_pool,
    "max_pool2d_with_indices_backward": max_pool_backward,
    "avg_pool2d": avg_pool,
    "avg_pool2d_backward": avg_pool_backward,
    "_adaptive_avg_pool2d": adaptive_avg_pool,
    "_adaptive_avg_pool2d_backward": adaptive_avg_pool_backward,
}
