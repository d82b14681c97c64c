"""The expression language of the rules: what one cell of a result is made of.

A number is itself, a string a variable, everything else a node. Nodes never change and compare by
what they hold. `wire` reads and writes them as JSON.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

One = Literal[
    "neg", "abs", "sign", "exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "recip", "sin",
    "cos", "tan", "tanh", "sigmoid", "erf", "floor", "ceil", "trunc", "round", "isnan", "not",
]  # fmt: skip
Two = Literal[
    "sub", "div", "pow", "maximum", "minimum", "atan2", "idiv", "mod", "fmod", "eq", "ne", "lt",
    "le", "gt", "ge", "and", "or", "xor", "bitand", "bitor", "bitxor",
]  # fmt: skip
Head = One | Two | Literal["add", "mul", "where", "inf", "-inf", "nan"]

ARGUMENTS: dict[str, int] = {  # how many an operator takes; add and mul take two or more
    **dict.fromkeys(get_args(One), 1),
    **dict.fromkeys(get_args(Two), 2),
    "where": 3,
    "inf": 0,
    "-inf": 0,
    "nan": 0,
}

FoldKind = Literal["sum", "prod", "max", "min"]
ArgKind = Literal["argmax", "argmin"]
Order = Literal["largest", "smallest"]


class Node:
    """An expression made of others."""

    __slots__ = ()

    @property
    def parts(self) -> "tuple[Expr, ...]":
        """The expressions it is made of."""
        raise NotImplementedError

    @property
    def binds(self) -> tuple[str, ...]:
        """The variables it gives a meaning to, in its inner parts."""
        return ()

    def map(self, outer: "Change", inner: "Change") -> "Node":
        """The node with its parts changed: `inner` those that see the variables it binds."""
        raise NotImplementedError


Expr: TypeAlias = int | float | str | Node
Place: TypeAlias = Sequence[Expr]  # an index, one expression per axis
Ranges: TypeAlias = tuple[tuple[str, int], ...]  # variables and how many values each takes
Change: TypeAlias = Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class Op(Node):
    """An operator and its arguments: arithmetic, functions, comparisons, `where`, constants."""

    head: Head
    args: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.args

    def map(self, outer: Change, inner: Change) -> "Op":
        return Op(self.head, tuple([outer(arg) for arg in self.args]))


@dataclass(frozen=True, slots=True)
class At(Node):
    """The cell of an operand; outside it the default, where one is given."""

    operand: int
    where: tuple[Expr, ...]
    default: Expr | None = None

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.where if self.default is None else (*self.where, self.default)

    def map(self, outer: Change, inner: Change) -> "At":
        where = tuple([outer(part) for part in self.where])
        return At(self.operand, where, None if self.default is None else outer(self.default))


@dataclass(frozen=True, slots=True)
class Let(Node):
    """A part with a name."""

    name: str
    value: Expr
    body: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.value, self.body

    @property
    def binds(self) -> tuple[str, ...]:
        return (self.name,)

    def map(self, outer: Change, inner: Change) -> "Let":
        """The name is known in the body only."""
        return Let(self.name, outer(self.value), inner(self.body))


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A number in another element type."""

    dtype: str
    value: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.value,)

    def map(self, outer: Change, inner: Change) -> "Cast":
        return Cast(self.dtype, outer(self.value))


@dataclass(frozen=True, slots=True)
class Reduction(Node):
    """Many values of the body, one for each value of the bound variables, to one."""

    ranges: Ranges
    body: Expr

    @property
    def binds(self) -> tuple[str, ...]:
        return tuple([name for name, _ in self.ranges])

    @property
    def terms(self) -> int:
        """How many values the body takes."""
        return math.prod([size for _, size in self.ranges])


@dataclass(frozen=True, slots=True)
class Fold(Reduction):
    """Σ, ∏, the largest or the smallest."""

    kind: FoldKind

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.body,)

    def map(self, outer: Change, inner: Change) -> "Fold":
        return Fold(self.ranges, inner(self.body), self.kind)


@dataclass(frozen=True, slots=True)
class Arg(Reduction):
    """The result where the body is largest (smallest)."""

    kind: ArgKind
    result: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.body, self.result

    def map(self, outer: Change, inner: Change) -> "Arg":
        """Both parts see the variables that run."""
        return Arg(self.ranges, inner(self.body), self.kind, inner(self.result))


@dataclass(frozen=True, slots=True)
class Kth(Reduction):
    """The nth value of the body in order, or the result at its place."""

    nth: Expr
    order: Order
    result: Expr | None = None

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.body, self.nth) if self.result is None else (self.body, self.nth, self.result)

    def map(self, outer: Change, inner: Change) -> "Kth":
        """Which one is asked for does not depend on the variables that run."""
        result = None if self.result is None else inner(self.result)
        return Kth(self.ranges, inner(self.body), outer(self.nth), self.order, result)


INF, NEG_INF, NAN = Op("inf", ()), Op("-inf", ()), Op("nan", ())


# -- walking and changing ---------------------------------------------------------------------


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all it is made of, in reading order."""
    pending = [expr]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Node):
            pending.extend(reversed(part.parts))


def rewrite(expr: Expr, change: Callable[[Node], Expr]) -> Expr:
    """Every node changed, from the inside out."""
    if not isinstance(expr, Node):
        return expr

    def inside(part: Expr) -> Expr:
        return rewrite(part, change)

    return change(expr.map(inside, inside))


def substitute(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    """The expression with variables replaced; bound names hide outer ones."""
    if isinstance(expr, str):
        return known.get(expr, expr)
    if not isinstance(expr, Node):
        return expr

    def outer(part: Expr) -> Expr:
        return substitute(part, known)

    if known.keys().isdisjoint(expr.binds):
        return expr.map(outer, outer)
    hidden = {name: value for name, value in known.items() if name not in expr.binds}
    return expr.map(outer, lambda part: substitute(part, hidden))


def at_cell(expr: Expr, indices: Sequence[int]) -> Expr:
    """The expression of one output cell."""
    return substitute(expr, {f"i{axis}": place for axis, place in enumerate(indices)})


def mentions(expr: Expr, names: Sequence[str] | Mapping[str, object]) -> bool:
    """Whether any of the variables occurs."""
    return any(isinstance(part, str) and part in names for part in walk(expr))


def operands(expr: Expr) -> list[int]:
    """The operands an expression reads, in order of first use."""
    return list(dict.fromkeys(part.operand for part in walk(expr) if isinstance(part, At)))


def renumber(expr: Expr, mapping: Mapping[int, int]) -> Expr:
    """The same expression with its operands numbered anew."""
    if all(old == new for old, new in mapping.items()):
        return expr

    def change(node: Node) -> Expr:
        if isinstance(node, At):
            return At(mapping[node.operand], node.where, node.default)
        return node

    return rewrite(expr, change)


# -- building ---------------------------------------------------------------------------------


def index(rank: int) -> tuple[str, ...]:
    """The output's index variables: i0, i1, …"""
    return tuple(f"i{axis}" for axis in range(rank))


def at(operand: int, *where: Expr) -> At:
    """The cell of an operand."""
    return At(operand, where)


def op(head: Head, *args: Expr) -> Op:
    """An operator on its arguments."""
    return Op(head, args)


def number(value: complex | float | int | bool) -> Expr:
    """A constant, also the three that JSON cannot write."""
    if isinstance(value, int):
        return int(value)
    real = float(value.real)
    if real != real:
        return NAN
    if real in (float("inf"), float("-inf")):
        return INF if real > 0 else NEG_INF
    return int(real) if real.is_integer() and abs(real) < 2**53 else real


def is_number(expr: Expr | None) -> bool:
    """Whether an expression is a plain number."""
    return isinstance(expr, (int, float))


def add(*terms: Expr) -> Expr:
    """A sum without its zeros."""
    kept = [term for term in terms if not (is_number(term) and term == 0)]
    return 0 if not kept else kept[0] if len(kept) == 1 else Op("add", tuple(kept))


def mul(*factors: Expr) -> Expr:
    """A product without its ones; a zero stays, for 0·∞ is NaN."""
    kept = [factor for factor in factors if not (is_number(factor) and factor == 1)]
    return 1 if not kept else kept[0] if len(kept) == 1 else Op("mul", tuple(kept))


def sub(left: Expr, right: Expr) -> Expr:
    """A difference."""
    return left if is_number(right) and right == 0 else Op("sub", (left, right))


def div(left: Expr, right: Expr) -> Expr:
    """A quotient."""
    return left if is_number(right) and right == 1 else Op("div", (left, right))


def choose(test: Expr, yes: Expr, no: Expr) -> Op:
    """One of two, by a condition."""
    return Op("where", (test, yes, no))


def all_of(*tests: Expr) -> Expr:
    """Whether every condition holds; 1 if there is none."""
    found: Expr = 1
    for place, test in enumerate(tests):
        found = Op("and", (found, test)) if place else test
    return found


def fold(kind: FoldKind, ranges: Sequence[tuple[str, int]], body: Expr) -> Expr:
    """A reduction over bound indices; over none it is its body."""
    return Fold(tuple(ranges), body, kind) if ranges else body


def flat(place: Place, shape: Sequence[int]) -> Expr:
    """The number of a cell in reading order."""
    total: Expr = 0
    for part, size in zip(place, shape, strict=True):
        total = add(total if total == 0 else mul(total, size), part)
    return total
