"""The expression language of the rules: nested tuples, the same data that JSON carries.

A number is itself, a string a variable, anything else ("operator", argument, …).
"""

from collections.abc import Iterator
from typing import Any

Expr = Any  # int | float | str | tuple[Any, ...]; recursive, so not spelt out

POINTWISE_ONE = frozenset(
    [
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
        "recip",
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
        "not",
    ]
)
POINTWISE_TWO = frozenset(
    [
        "sub",
        "div",
        "pow",
        "maximum",
        "minimum",
        "atan2",
        "idiv",
        "mod",
        "fmod",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and",
        "or",
        "xor",
        "bitand",
        "bitor",
        "bitxor",
    ]
)
REDUCTIONS = frozenset(["sum", "prod", "max", "min"])

INF: Expr = ("inf",)
NEG_INF: Expr = ("-inf",)
NAN: Expr = ("nan",)


def index(rank: int) -> tuple[str, ...]:
    """The output's index variables: i0, i1, …"""
    return tuple(f"i{axis}" for axis in range(rank))


def at(operand: int, *where: Expr) -> Expr:
    """The cell of an operand."""
    return ("at", operand, tuple(where))


def at_or(operand: int, where: tuple[Expr, ...], default: Expr) -> Expr:
    """The cell of an operand, or the default outside it."""
    return ("at", operand, where, default)


def number(value: complex | float | int | bool) -> Expr:
    """A constant, also the three that JSON cannot write."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    real = float(value.real)
    if real != real:
        return NAN
    if real in (float("inf"), float("-inf")):
        return INF if real > 0 else NEG_INF
    return int(real) if real.is_integer() and abs(real) < 2**53 else real


def is_number(expr: Expr) -> bool:
    """Whether an expression is a plain number."""
    return isinstance(expr, (int, float))


def add(*terms: Expr) -> Expr:
    """A sum without its zeros."""
    kept = [term for term in terms if not (is_number(term) and term == 0)]
    return 0 if not kept else kept[0] if len(kept) == 1 else ("add", *kept)


def mul(*factors: Expr) -> Expr:
    """A product without its ones."""
    if any(is_number(factor) and factor == 0 and isinstance(factor, int) for factor in factors):
        pass  # 0·inf is NaN: a zero must stay
    kept = [factor for factor in factors if not (is_number(factor) and factor == 1)]
    return 1 if not kept else kept[0] if len(kept) == 1 else ("mul", *kept)


def sub(left: Expr, right: Expr) -> Expr:
    """A difference."""
    return left if is_number(right) and right == 0 else ("sub", left, right)


def div(left: Expr, right: Expr) -> Expr:
    """A quotient."""
    return left if is_number(right) and right == 1 else ("div", left, right)


def let(name: str, value: Expr, body: Expr) -> Expr:
    """A part with a name."""
    return ("let", name, value, body)


def reduce(kind: str, ranges: list[tuple[str, int]], body: Expr) -> Expr:
    """A reduction over bound indices; over none it is its body."""
    return (kind, tuple(ranges), body) if ranges else body


def children(expr: Expr) -> Iterator[Expr]:
    """The sub-expressions, whatever the operator."""
    if not isinstance(expr, tuple):
        return
    head = expr[0]
    if head == "at":
        yield from expr[2]
        yield from expr[3:]
    elif head == "let":
        yield expr[2]
        yield expr[3]
    elif head in REDUCTIONS:
        yield expr[2]
    elif head in ("argmax", "argmin") or head == "kth":
        yield expr[2]
        yield expr[3]
    elif head == "argkth":
        yield expr[2]
        yield expr[3]
        yield expr[5]
    elif head == "cast":
        yield expr[2]
    else:
        yield from expr[1:]


def operands(expr: Expr) -> list[int]:
    """The operands an expression reads, in order of first use."""
    found: list[int] = []

    def walk(part: Expr) -> None:
        if isinstance(part, tuple):
            if part[0] == "at" and part[1] not in found:
                found.append(part[1])
            for child in children(part):
                walk(child)

    walk(expr)
    return found


def renumber(expr: Expr, mapping: dict[int, int]) -> Expr:
    """The same expression with its operands numbered anew."""
    if not isinstance(expr, tuple):
        return expr
    if expr[0] == "at":
        where = tuple(renumber(part, mapping) for part in expr[2])
        return ("at", mapping[expr[1]], where, *(renumber(part, mapping) for part in expr[3:]))
    return tuple(renumber(part, mapping) if isinstance(part, tuple) else part for part in expr)


def from_json(data: Any) -> Expr:
    """Lists back to tuples."""
    return tuple(from_json(part) for part in data) if isinstance(data, list) else data
