"""Cell by cell: an output cell depends on the cells at the same place."""

from collections.abc import Mapping
from typing import get_args

from cutaway.glass.expr import Cast, Expr, Head, One, Two, mul, number, op
from cutaway.glass.rules.call import INTEGERS, Call, Rule, RuleMaker, cell, shaped, value
from cutaway.glass.rules.formula import Formula, Scope, cellwise

FORMULAS = {
    "sub": "x - alpha*other",
    "rsub": "other - alpha*x",
    "floor_divide": "floor(x/other)",
    "exp2": "2**x",
    "log10": "log(x)/log(10)",
    "isinf": "abs(x) == inf",
    "isneginf": "x == -inf",
    "isposinf": "x == inf",
    "clamp": "minimum(maximum(x, min), max)",
    "where": "x if condition else other",
    "masked_fill": "value if mask else x",
    "lerp": "x + weight*(end - x)",
    "addcmul": "x + value*tensor1*tensor2",
    "addcdiv": "x + value*(tensor1/tensor2)",
    "relu": "maximum(x, 0)",
    "silu": "x*sigmoid(x)",
    "threshold": "value if x <= threshold else x",
    "threshold_backward": "g if x > threshold else 0",
    "tanh_backward": "g*(1 - y*y)",
    "sigmoid_backward": "g*(1 - y)*y",
    "leaky_relu": "x if x > 0 else negative_slope*x",
    "leaky_relu_backward": "g if x > 0 else negative_slope*g",
    "elu": "scale*x if x > 0 else alpha*scale*expm1(input_scale*x)",
    "softplus": "x if beta*x > threshold else log1p(exp(beta*x))/beta",
    "softplus_backward": "g if beta*x > threshold else g*sigmoid(beta*x)",
    "hardtanh": "minimum(maximum(x, min_val), max_val)",
    "hardtanh_backward": "g if x > min_val and x < max_val else 0",
    "hardswish": "x*minimum(maximum(x + 3, 0), 6)/6",
    "log_sigmoid_backward": "g*sigmoid(-x)",
    "native_dropout_backward": "g*mask*scale",
}
BY_SETTING: dict[str, tuple[str, dict[object, str]]] = {  # a formula for each value of an argument
    "gelu": (
        "approximate",
        {
            "none": "0.5*x*(1 + erf(x/sqrt(2)))",
            "tanh": "0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x*x*x)))",
        },
    ),
    "gelu_backward": (
        "approximate",
        {
            "none": "g*(0.5*(1 + erf(x/sqrt(2))) + x*(1/sqrt(2*pi)*exp(-0.5*x*x)))",
            "tanh": "t = tanh(sqrt(2/pi)*(x + 0.044715*x*x*x));"
            "g*(0.5*(1 + t) + 0.5*x*(1 - t*t)*(sqrt(2/pi)*(1 + 3*0.044715*x*x)))",
        },
    ),
    "elu_backward": (
        "is_result",
        {
            True: "g*input_scale*(y + alpha*scale) if y <= 0 else g*scale",
            False: "g*input_scale*alpha*scale*exp(input_scale*y) if y <= 0 else g*scale",
        },
    ),
}
BINARY: dict[str, Head] = {  # f(self, other)
    "mul": "mul", "maximum": "maximum", "minimum": "minimum", "atan2": "atan2",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "remainder": "mod", "fmod": "fmod",
    "logical_and": "and", "logical_or": "or", "logical_xor": "xor",
}  # fmt: skip
NAMED = {  # rules that share the words of another
    "rsub": "sub",
    "floor_divide": "div",
    "exp2": "exp",
    "log10": "log",
    "isneginf": "isinf",
    "isposinf": "isinf",
    "hardtanh": "clamp",
    "threshold_backward": "relu_backward",
    "leaky_relu_backward": "leaky_relu",
    "hardtanh_backward": "clamp_backward",
    "log_sigmoid_backward": "log_sigmoid",
    "native_dropout_backward": "dropout",
}


def unary(operator: One) -> RuleMaker:
    """out = f(x)."""

    def rule(call: Call) -> Rule:
        source = call["self"]
        expr = op(operator, cell(source, call.out.index))
        return Rule(operator, "pointwise", shaped(expr, call.out.dtype, source))

    return rule


def _pair(call: Call) -> tuple[Expr, Expr]:
    where = call.out.index
    return value(call["self"], where), value(call["other"], where)


def binary(operator: Head) -> RuleMaker:
    """out = f(a, b)."""
    return lambda call: Rule(operator, "pointwise", op(operator, *_pair(call)))


def bitwise(operator: Two, logical: Two) -> RuleMaker:
    """Of integers bit by bit, of booleans as a whole."""

    def rule(call: Call) -> Rule:
        chosen = logical if call.out.dtype == "bool" else operator
        return Rule(logical, "pointwise", op(chosen, *_pair(call)))

    return rule


def by_setting(name: str, argument: str, texts: Mapping[object, str]) -> RuleMaker:
    """The formula that an argument of the call chooses."""
    rules = {setting: cellwise(name, text) for setting, text in texts.items()}
    return lambda call: rules[call.get(argument)](call)


def plus(call: Call) -> Rule:
    """a + α·b."""
    left, right = _pair(call)
    expr = op("add", left, mul(number(call["alpha"]), right))
    return Rule("add", "pointwise", Cast("bool", expr) if call.out.dtype == "bool" else expr)


def quotient(call: Call) -> Rule:
    """a / b, rounded if asked."""
    expr = op("div", *_pair(call))
    mode = call.get("rounding_mode")
    return Rule("div", "pointwise", expr if mode is None else op(mode, expr))


def power(call: Call) -> Rule:
    """a to the b."""
    where = call.out.index
    base, exponent = value(call["self"], where), value(call["exponent"], where)
    if exponent == 2:
        return Rule("square", "pointwise", op("mul", base, base))
    return Rule("pow", "pointwise", op("pow", base, exponent))


def copy(call: Call) -> Rule:
    """The source's cell, in the target's type."""
    source = call["src"] if "src" in call.arguments else call["self"]
    expr = cell(source, call.out.index)
    if source.dtype == call.out.dtype:
        return Rule("copy", "view", expr)
    exact = source.dtype in INTEGERS and call.out.dtype in ("float64", "int64")
    return Rule("cast", "pointwise", expr if exact else Cast(call.out.dtype, expr))


def bitwise_not(call: Call) -> Rule:
    """¬x for booleans, −x − 1 for integers."""
    x = cell(call["self"], call.out.index)
    expr = op("not", x) if call.out.dtype == "bool" else op("sub", op("neg", x), 1)
    return Rule("not", "pointwise", expr)


LOG_SIGMOID = Formula("minimum(x, 0) - log1p(exp(-abs(x)))")
SMALL = Formula("exp(-abs(x))")  # what its kernel keeps for the gradient, where it keeps anything


def log_sigmoid(call: Call) -> list[Rule | None]:
    """log σ(x) = min(x, 0) − log(1 + e^−|x|)."""
    scope = Scope(call, call.out.index)
    kept = [
        Rule("exp", "pointwise", SMALL.fill(scope)) if extra.shape == call.out.shape else None
        for extra in call.outputs[1:]
    ]
    return [Rule("log_sigmoid", "pointwise", LOG_SIGMOID.fill(scope)), *kept]


def native_dropout(call: Call) -> list[Rule | None]:
    """x·mask/(1 − p); the mask is a random draw, and the second result."""
    where = call.out.index
    p = float(call["p"])
    scale = number(0.0 if p == 1 else 1 / (1 - p))
    expr = mul(cell(call["input"], where), call.result(1).at(*where), scale)
    return [Rule("dropout", "pointwise", expr), Rule("random", "source", None, "random")]


TABLE: dict[str, RuleMaker] = {
    **{name: unary(name) for name in get_args(One) if name not in ("recip", "not")},
    "sgn": unary("sign"),
    "reciprocal": unary("recip"),
    "logical_not": unary("not"),
    **{name: cellwise(NAMED.get(name, name), text) for name, text in FORMULAS.items()},
    **{name: by_setting(name, *choice) for name, choice in BY_SETTING.items()},
    **{name: binary(operator) for name, operator in BINARY.items()},
    "bitwise_and": bitwise("bitand", "and"),
    "bitwise_or": bitwise("bitor", "or"),
    "bitwise_xor": bitwise("bitxor", "xor"),
    "bitwise_not": bitwise_not,
    "add": plus,
    "div": quotient,
    "pow": power,
    "copy": copy,
    "log_sigmoid_forward": log_sigmoid,
    "native_dropout": native_dropout,
}
OTHER_SPELLINGS = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "clone": "copy",
    "contiguous": "copy",
    "detach": "copy",  # in place, it changes no number
    "detach_copy": "copy",
    "lift_fresh_copy": "copy",
    "_to_copy": "copy",
    "to": "copy",
    "type_as": "copy",
    "clamp_min": "clamp",
    "clamp_max": "clamp",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
}
TABLE |= {name: TABLE[other] for name, other in OTHER_SPELLINGS.items()}
