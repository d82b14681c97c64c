"""Pooling over windows of the last two axes, and its gradients."""

import math

from cutaway.glass.expr import (
    NEG_INF,
    Arg,
    At,
    Expr,
    Place,
    add,
    div,
    flat,
    fold,
    mul,
    number,
    op,
    sub,
)
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker
from cutaway.glass.rules.window import Window, between, spread, where

OUTPUTS, INPUTS = ("o0", "o1"), ("k0", "k1")


def _window(call: Call) -> Window:
    kernel = spread(call["kernel_size"], 2)
    return Window(
        kernel,
        spread(call.get("stride") or kernel, 2),
        spread(call.get("padding", 0), 2),
        spread(call.get("dilation", 1), 2),
    )


def _ranges(names: tuple[str, str], operand: Operand) -> list[tuple[str, int]]:
    return list(zip(names, operand.shape[-2:], strict=True))


def max_pool(call: Call) -> list[Rule | None]:
    """The largest cell of each window, and where in the plane it stands."""
    source: Operand = call["self"]
    window = _window(call)
    *lead, i, j = call.out.index
    seen = window.seen((i, j))
    body = At(source.position, (*lead, *seen), NEG_INF)
    place = Arg(tuple(window.taps), body, "argmax", flat(seen, source.shape[-2:]))
    return [
        Rule("max_pool", "reduction", fold("max", window.taps, body)),
        Rule("argmax", "reduction", place),
    ]


def max_pool_backward(call: Call) -> Rule:
    """Σ of the gradients of the windows whose largest cell this was."""
    g: Operand = call["grad_output"]
    *lead, i, j = call.out.index
    place = (*lead, *OUTPUTS)
    hit = op("eq", call["indices"].at(*place), flat((i, j), call.out.shape[-2:]))
    expr = fold("sum", _ranges(OUTPUTS, g), where([hit], g.at(*place)))
    return Rule("max_pool_backward", "scatter", expr)


def _share(call: Call, window: Window, outputs: Place) -> Expr:
    """How many cells a window's sum is divided by."""
    padded = call.get("count_include_pad", True)
    if call.get("divisor_override"):
        return number(call["divisor_override"])
    if padded and not call.get("ceil_mode", False):
        return number(math.prod(window.kernel))
    sides: list[Expr] = []
    for axis, place in enumerate(outputs):
        start = sub(mul(place, window.stride[axis]), window.padding[axis])
        limit = call["self"].shape[axis - 2] + (window.padding[axis] if padded else 0)
        end = op("minimum", add(start, window.kernel[axis]), limit)
        sides.append(sub(end, start if padded else op("maximum", start, 0)))
    return mul(*sides)


def avg_pool(call: Call) -> Rule:
    """The mean of each window."""
    window = _window(call)
    *lead, i, j = call.out.index
    body = At(call["self"].position, (*lead, *window.seen((i, j))), 0)
    expr = div(fold("sum", window.taps, body), _share(call, window, (i, j)))
    return Rule("avg_pool", "reduction", expr)


def avg_pool_backward(call: Call) -> Rule:
    """Σ of the shares of the gradients of all windows that held this cell."""
    g: Operand = call["grad_output"]
    window = _window(call)
    *lead, i, j = call.out.index
    tests: list[Expr] = []
    for axis, here in enumerate((i, j)):
        start = sub(mul(OUTPUTS[axis], window.stride[axis]), window.padding[axis])
        tests.append(between(here, start, add(start, window.kernel[axis])))
    share = div(g.at(*lead, *OUTPUTS), _share(call, window, OUTPUTS))
    expr = fold("sum", _ranges(OUTPUTS, g), where(tests, share))
    return Rule("avg_pool_backward", "scatter", expr)


def _adaptive(
    inputs: Place, outputs: Place, source: tuple[int, ...], result: tuple[int, ...]
) -> tuple[list[Expr], Expr]:
    """Whether an input lies in the window of an output, axis by axis, and the window's cells."""
    tests: list[Expr] = []
    sides: list[Expr] = []
    for cell, place, size, count in zip(inputs, outputs, source[-2:], result[-2:], strict=True):
        start = op("idiv", mul(place, size), count)
        stop = op("idiv", sub(add(mul(add(place, 1), size), count), 1), count)
        tests.append(between(cell, start, stop))
        sides.append(sub(stop, start))
    return tests, mul(*sides)


def adaptive_avg_pool(call: Call) -> Rule:
    """The mean of each of n windows that together cover the plane."""
    source: Operand = call["self"]
    *lead, i, j = call.out.index
    tests, cells = _adaptive(INPUTS, (i, j), source.shape, call.out.shape)
    total = fold("sum", _ranges(INPUTS, source), where(tests, source.at(*lead, *INPUTS)))
    return Rule("avg_pool", "reduction", div(total, cells))


def adaptive_avg_pool_backward(call: Call) -> Rule:
    """Σ of the shares of the gradients of all windows that held this cell."""
    g: Operand = call["grad_output"]
    *lead, i, j = call.out.index
    tests, cells = _adaptive((i, j), OUTPUTS, call["self"].shape, g.shape)
    share = div(g.at(*lead, *OUTPUTS), cells)
    expr = fold("sum", _ranges(OUTPUTS, g), where(tests, share))
    return Rule("avg_pool_backward", "scatter", expr)


TABLE: dict[str, RuleMaker] = {
    "max_pool2d_with_indices": max_pool,
    "max_pool2d_with_indices_backward": max_pool_backward,
    "avg_pool2d": avg_pool,
    "avg_pool2d_backward": avg_pool_backward,
    "_adaptive_avg_pool2d": adaptive_avg_pool,
    "_adaptive_avg_pool2d_backward": adaptive_avg_pool_backward,
}
