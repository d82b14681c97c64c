"""Cell by cell: an output cell depends on the cells at the same place."""

import math
from typing import Any

from cutaway.glass.expr import INF, NEG_INF, Expr, add, div, mul, number, sub
from cutaway.glass.rules.call import INTEGERS, Call, Rule, RuleMaker, cell, shaped, value

SQRT_2 = math.sqrt(2.0)
GELU_OUTER = math.sqrt(2.0 / math.pi)
GELU_INNER = 0.044715


def _point(expr: Expr, name: str) -> Rule:
    return Rule(name, "pointwise", expr)


def unary(operator: str) -> RuleMaker:
    """out = f(x)."""

    def rule(call: Call) -> Rule:
        source = call["self"]
        return _point(
            shaped((operator, cell(source, call.out.index)), call.out.dtype, source), operator
        )

    return rule


def binary(operator: str, name: str | None = None) -> RuleMaker:
    """out = f(a, b)."""

    def rule(call: Call) -> Rule:
        left, right = call["self"], call["other"] if "other" in call.arguments else call["exponent"]
        where = call.out.index
        return _point((operator, value(left, where), value(right, where)), name or operator)

    return rule


def of_x(make: Any, name: str) -> RuleMaker:
    """out = an expression in x."""
    return lambda call: _point(make(cell(call["self"], call.out.index), call), name)


def plus(call: Call) -> Rule:
    """a + α·b."""
    where = call.out.index
    left, right = value(call["self"], where), value(call["other"], where)
    scaled = mul(number(call.get("alpha", 1)), right)
    expr = ("add", left, scaled)
    if call.out.dtype == "bool":
        expr = ("cast", "bool", expr)
    return _point(expr, "add")


def minus(call: Call) -> Rule:
    """a − α·b."""
    where = call.out.index
    left, right = value(call["self"], where), value(call["other"], where)
    return _point(("sub", left, mul(number(call.get("alpha", 1)), right)), "sub")


def reversed_minus(call: Call) -> Rule:
    """b − α·a."""
    where = call.out.index
    left, right = value(call["other"], where), value(call["self"], where)
    return _point(("sub", left, mul(number(call.get("alpha", 1)), right)), "sub")


def quotient(call: Call) -> Rule:
    """a / b, rounded if asked."""
    where = call.out.index
    expr: Expr = ("div", value(call["self"], where), value(call["other"], where))
    mode = call.get("rounding_mode")
    if mode == "floor":
        expr = ("floor", expr)
    elif mode == "trunc":
        expr = ("trunc", expr)
    return _point(expr, "div")


def floor_divide(call: Call) -> Rule:
    """⌊a / b⌋."""
    where = call.out.index
    return _point(
        ("floor", ("div", value(call["self"], where), value(call["other"], where))), "div"
    )


def power(call: Call) -> Rule:
    """a to the b."""
    where = call.out.index
    base, exponent = value(call["self"], where), value(call["exponent"], where)
    if exponent == 2:
        return _point(("mul", base, base), "square")
    return _point(("pow", base, exponent), "pow")


def clamp(call: Call) -> Rule:
    """min(max(x, low), high)."""
    where = call.out.index
    expr = cell(call["self"], where)
    if call.get("min") is not None:
        expr = ("maximum", expr, value(call["min"], where))
    if call.get("max") is not None:
        expr = ("minimum", expr, value(call["max"], where))
    return _point(expr, "clamp")


def hardtanh(call: Call) -> Rule:
    """min(max(x, low), high)."""
    low, high = number(call.get("min_val", -1)), number(call.get("max_val", 1))
    return _point(("minimum", ("maximum", cell(call["self"], call.out.index), low), high), "clamp")


def choose(call: Call) -> Rule:
    """a where the condition holds, else b."""
    where = call.out.index
    return _point(
        (
            "where",
            value(call["condition"], where),
            value(call["self"], where),
            value(call["other"], where),
        ),
        "where",
    )


def masked_fill(call: Call) -> Rule:
    """A constant where the mask is set, else x."""
    where = call.out.index
    expr = (
        "where",
        cell(call["mask"], where),
        value(call["value"], where),
        cell(call["self"], where),
    )
    return _point(expr, "masked_fill")


def lerp(call: Call) -> Rule:
    """a + w·(b − a)."""
    where = call.out.index
    start, end = cell(call["self"], where), cell(call["end"], where)
    return _point(add(start, mul(value(call["weight"], where), sub(end, start))), "lerp")


def addcmul(call: Call) -> Rule:
    """x + c·a·b."""
    where = call.out.index
    product = mul(
        number(call.get("value", 1)), cell(call["tensor1"], where), cell(call["tensor2"], where)
    )
    return _point(("add", cell(call["self"], where), product), "addcmul")


def addcdiv(call: Call) -> Rule:
    """x + c·a/b."""
    where = call.out.index
    ratio = ("div", cell(call["tensor1"], where), cell(call["tensor2"], where))
    return _point(
        ("add", cell(call["self"], where), mul(number(call.get("value", 1)), ratio)), "addcdiv"
    )


def copy(call: Call) -> Rule:
    """The source's cell, in the target's type."""
    source = call["src"] if "src" in call.arguments else call["self"]
    expr = cell(source, call.out.index)
    if source.dtype == call.out.dtype:
        return Rule("copy", "view", expr)
    exact = source.dtype in INTEGERS and call.out.dtype in ("float64", "int64")
    return _point(expr if exact else ("cast", call.out.dtype, expr), "cast")


def gelu(call: Call) -> Rule:
    """x·Φ(x), or its tanh approximation."""
    x = cell(call["self"], call.out.index)
    if call.get("approximate", "none") == "tanh":
        inner = mul(GELU_OUTER, add(x, mul(GELU_INNER, x, x, x)))
        return _point(mul(0.5, x, add(1, ("tanh", inner))), "gelu")
    return _point(mul(0.5, x, add(1, ("erf", div(x, SQRT_2)))), "gelu")


def gelu_backward(call: Call) -> Rule:
    """g·(Φ(x) + x·φ(x)), or that of the tanh approximation."""
    where = call.out.index
    g, x = cell(call["grad_output"], where), cell(call["self"], where)
    if call.get("approximate", "none") == "tanh":
        inner = mul(GELU_OUTER, add(x, mul(GELU_INNER, x, x, x)))
        slope = mul(GELU_OUTER, add(1, mul(3 * GELU_INNER, x, x)))
        body = add(mul(0.5, add(1, "t")), mul(0.5, x, sub(1, mul("t", "t")), slope))
        return _point(("let", "t", ("tanh", inner), mul(g, body)), "gelu_backward")
    density = mul(1 / math.sqrt(2 * math.pi), ("exp", mul(-0.5, x, x)))
    body = add(mul(0.5, add(1, ("erf", div(x, SQRT_2)))), mul(x, density))
    return _point(mul(g, body), "gelu_backward")


def threshold_backward(call: Call) -> Rule:
    """g where x > threshold, else 0."""
    where = call.out.index
    x, limit = cell(call["self"], where), number(call["threshold"])
    return _point(("where", ("gt", x, limit), cell(call["grad_output"], where), 0), "relu_backward")


def threshold(call: Call) -> Rule:
    """x where x > threshold, else a constant."""
    x = cell(call["self"], call.out.index)
    return _point(
        ("where", ("le", x, number(call["threshold"])), number(call["value"]), x), "threshold"
    )


def tanh_backward(call: Call) -> Rule:
    """g·(1 − y²)."""
    where = call.out.index
    y = cell(call["output"], where)
    return _point(mul(cell(call["grad_output"], where), sub(1, mul(y, y))), "tanh_backward")


def sigmoid_backward(call: Call) -> Rule:
    """g·y·(1 − y)."""
    where = call.out.index
    y = cell(call["output"], where)
    return _point(mul(cell(call["grad_output"], where), sub(1, y), y), "sigmoid_backward")


def leaky_relu(call: Call) -> Rule:
    """x, or a small slope of it below 0."""
    x = cell(call["self"], call.out.index)
    slope = number(call.get("negative_slope", 0.01))
    return _point(("where", ("gt", x, 0), x, mul(slope, x)), "leaky_relu")


def leaky_relu_backward(call: Call) -> Rule:
    """g, or a small slope of it where x was below 0."""
    where = call.out.index
    g, x = cell(call["grad_output"], where), cell(call["self"], where)
    return _point(("where", ("gt", x, 0), g, mul(number(call["negative_slope"]), g)), "leaky_relu")


def elu(call: Call) -> Rule:
    """x above 0, α·(eˣ − 1) below."""
    x = cell(call["self"], call.out.index)
    alpha, scale = number(call.get("alpha", 1)), number(call.get("scale", 1))
    slope = number(call.get("input_scale", 1))
    below = mul(alpha, scale, ("expm1", mul(slope, x)))
    return _point(("where", ("gt", x, 0), mul(scale, x), below), "elu")


def elu_backward(call: Call) -> Rule:
    """g above 0, g·(y + α) below."""
    where = call.out.index
    g, y = cell(call["grad_output"], where), cell(call["self_or_result"], where)
    alpha, scale = number(call["alpha"]), number(call["scale"])
    slope = number(call["input_scale"])
    if call["is_result"]:
        below = mul(g, slope, add(y, mul(alpha, scale)))
    else:
        below = mul(g, slope, alpha, scale, ("exp", mul(slope, y)))
    return _point(("where", ("le", y, 0), below, mul(g, scale)), "elu_backward")


def softplus(call: Call) -> Rule:
    """log(1 + e^βx)/β, x itself where that is large."""
    x = cell(call["self"], call.out.index)
    beta, limit = number(call.get("beta", 1)), number(call.get("threshold", 20))
    soft = div(("log1p", ("exp", mul(beta, x))), beta)
    return _point(("where", ("gt", mul(beta, x), limit), x, soft), "softplus")


def softplus_backward(call: Call) -> Rule:
    """g·σ(βx), g where βx is large."""
    where = call.out.index
    g, x = cell(call["grad_output"], where), cell(call["self"], where)
    beta, limit = number(call["beta"]), number(call["threshold"])
    soft = mul(g, ("sigmoid", mul(beta, x)))
    return _point(("where", ("gt", mul(beta, x), limit), g, soft), "softplus_backward")


def hardtanh_backward(call: Call) -> Rule:
    """g strictly inside the limits, else 0."""
    where = call.out.index
    x = cell(call["self"], where)
    inside = ("and", ("gt", x, number(call["min_val"])), ("lt", x, number(call["max_val"])))
    return _point(("where", inside, cell(call["grad_output"], where), 0), "clamp_backward")


def log_sigmoid(call: Call) -> list[Rule | None]:
    """log σ(x) = min(x, 0) − log(1 + e^−|x|)."""
    x = cell(call["self"], call.outputs[0].index)
    expr = sub(("minimum", x, 0), ("log1p", ("exp", ("neg", ("abs", x)))))
    rules: list[Rule | None] = [_point(expr, "log_sigmoid")]
    for extra in call.outputs[1:]:
        if extra.shape == call.outputs[0].shape:
            rules.append(_point(("exp", ("neg", ("abs", x))), "exp"))
        else:
            rules.append(None)
    return rules


def log_sigmoid_backward(call: Call) -> Rule:
    """g·σ(−x)."""
    where = call.out.index
    x = cell(call["self"], where)
    return _point(mul(cell(call["grad_output"], where), ("sigmoid", ("neg", x))), "log_sigmoid")


def hardswish(call: Call) -> Rule:
    """x·min(max(x + 3, 0), 6)/6."""
    x = cell(call["self"], call.out.index)
    return _point(div(mul(x, ("minimum", ("maximum", add(x, 3), 0), 6)), 6), "hardswish")


def dropout_backward(call: Call) -> Rule:
    """g·mask·scale."""
    where = call.out.index
    return _point(
        mul(cell(call["grad_output"], where), cell(call["mask"], where), number(call["scale"])),
        "dropout",
    )


def native_dropout(call: Call) -> list[Rule | None]:
    """x·mask/(1 − p); the mask is a random draw, and the second result."""
    where = call.outputs[0].index
    p = float(call["p"])
    scale = 0.0 if p == 1 else 1 / (1 - p)
    kept = ("at", -2, where)  # output 1 of this very call
    return [
        _point(mul(cell(call["input"], where), kept, number(scale)), "dropout"),
        Rule("random", "source", None, "random"),
    ]


TABLE: dict[str, RuleMaker] = {
    "add": plus,
    "sub": minus,
    "subtract": minus,
    "rsub": reversed_minus,
    "mul": binary("mul"),
    "multiply": binary("mul"),
    "div": quotient,
    "divide": quotient,
    "true_divide": quotient,
    "floor_divide": floor_divide,
    "pow": power,
    "maximum": binary("maximum"),
    "minimum": binary("minimum"),
    "remainder": binary("mod"),
    "fmod": binary("fmod"),
    "atan2": binary("atan2"),
    "eq": binary("eq"),
    "ne": binary("ne"),
    "lt": binary("lt"),
    "le": binary("le"),
    "gt": binary("gt"),
    "ge": binary("ge"),
    "logical_and": binary("and"),
    "logical_or": binary("or"),
    "logical_xor": binary("xor"),
    "logical_not": unary("not"),
    "clamp": clamp,
    "clamp_min": clamp,
    "clamp_max": clamp,
    "hardtanh": hardtanh,
    "where": choose,
    "masked_fill": masked_fill,
    "lerp": lerp,
    "addcmul": addcmul,
    "addcdiv": addcdiv,
    "copy": copy,
    "clone": copy,
    "detach": copy,  # in place, it changes no number
    "contiguous": copy,
    "lift_fresh_copy": copy,
    "detach_copy": copy,
    "_to_copy": copy,
    "to": copy,
    "type_as": copy,
    "relu": of_x(lambda x, _: ("maximum", x, 0), "relu"),
    "silu": of_x(lambda x, _: mul(x, ("sigmoid", x)), "silu"),
    "gelu": gelu,
    "gelu_backward": gelu_backward,
    "threshold": threshold,
    "threshold_backward": threshold_backward,
    "tanh_backward": tanh_backward,
    "sigmoid_backward": sigmoid_backward,
    "leaky_relu": leaky_relu,
    "leaky_relu_backward": leaky_relu_backward,
    "elu": elu,
    "elu_backward": elu_backward,
    "softplus": softplus,
    "softplus_backward": softplus_backward,
    "hardtanh_backward": hardtanh_backward,
    "log_sigmoid_forward": log_sigmoid,
    "log_sigmoid_backward": log_sigmoid_backward,
    "hardswish": hardswish,
    "native_dropout": native_dropout,
    "native_dropout_backward": dropout_backward,
    "isinf": of_x(lambda x, _: ("eq", ("abs", x), INF), "isinf"),
    "isneginf": of_x(lambda x, _: ("eq", x, NEG_INF), "isinf"),
    "isposinf": of_x(lambda x, _: ("eq", x, INF), "isinf"),
    "exp2": of_x(lambda x, _: ("pow", 2, x), "exp"),
    "log10": of_x(lambda x, _: div(("log", x), math.log(10)), "log"),
    "sgn": unary("sign"),
    "reciprocal": unary("recip"),
    **{
        name: unary(name)
        for name in [
            "neg",
            "abs",
            "sign",
            "exp",
            "expm1",
            "log",
            "log1p",
            "log2",
            "sqrt",
            "rsqrt",
            "sin",
            "cos",
            "tan",
            "tanh",
            "sigmoid",
            "erf",
            "floor",
            "ceil",
            "trunc",
            "round",
            "isnan",
        ]
    },
}


def _bitwise(operator: str, logical: str) -> RuleMaker:
    def rule(call: Call) -> Rule:
        where = call.out.index
        chosen = logical if call.out.dtype == "bool" else operator
        return _point((chosen, value(call["self"], where), value(call["other"], where)), logical)

    return rule


def bitwise_not(call: Call) -> Rule:
    """¬x for booleans, −x − 1 for integers."""
    x = cell(call["self"], call.out.index)
    return _point(("not", x) if call.out.dtype == "bool" else sub(("neg", x), 1), "not")


TABLE["bitwise_and"] = _bitwise("bitand", "and")
TABLE["bitwise_or"] = _bitwise("bitor", "or")
TABLE["bitwise_xor"] = _bitwise("bitxor", "xor")
TABLE["bitwise_not"] = bitwise_not
TABLE["__and__"] = TABLE["bitwise_and"]
TABLE["__or__"] = TABLE["bitwise_or"]
