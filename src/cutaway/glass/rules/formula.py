"""Rules as formulas: text parsed once, filled with the cells of a call.

    0.5*x*(1 + erf(x/sqrt(2)))
    m = max(x[k] for k in row); z = sum(exp(x[k] - m) for k in row); exp(x - m)/z

The notation is Python's; it is parsed, never run. A name is an argument of the operation: a
tensor's cell at the output's place, or a number; x, g and y are short for self (or input), the
gradient given and the output. `name = …;` names a part, `a if c else b` chooses, a function is an
operator of the expression language. `sum(… for k in row)` runs over the places of a row, and `x[k]`
is the cell there. An argument that was not given drops out of its sum, product or extreme.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from cutaway.glass.expr import (
    ARGUMENTS,
    INF,
    NEG_INF,
    Expr,
    Fold,
    FoldKind,
    Let,
    Op,
    Place,
    Ranges,
    choose,
    div,
    mentions,
    mul,
    number,
    op,
)
from cutaway.glass.rules.call import Call, Rule, RuleMaker, value

SHORT = {
    "x": ("self", "input"),
    "g": ("grad_output", "grad_out"),
    "y": ("output", "self_or_result"),
}
CONSTANTS = {"sqrt": math.sqrt, "log": math.log}  # functions that formulas apply to numbers
ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}
COMPARISONS: dict[type[ast.cmpop], Any] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


Own = Mapping[str, Expr | Callable[[Place], Expr | None] | None]


@dataclass(frozen=True)
class Row:
    """The places a reduction runs over: its variables, and the index they form."""

    ranges: Ranges
    place: Place

    @property
    def terms(self) -> int:
        """How many places there are."""
        return math.prod(size for _, size in self.ranges)


class Scope:
    """What the names of a formula stand for: the call's arguments, or what `own` says instead."""

    def __init__(
        self,
        call: Call,
        place: Place,
        rows: Mapping[str, Row] | None = None,
        own: Own | None = None,
    ) -> None:
        self.call = call
        self.place = place
        self.rows = rows or {}
        self.own = own or {}

    def cell(self, name: str, place: Place) -> Expr | None:
        """An argument's cell, or its number; None if it was not given."""
        if name in self.own:
            given = self.own[name]
            return given(place) if callable(given) else given
        known = [each for each in SHORT.get(name, (name,)) if each in self.call.arguments]
        argument = self.call.get(known[0] if known else name)
        return None if argument is None else value(argument, place)


class Formula:
    """A formula, parsed."""

    def __init__(self, text: str) -> None:
        *named, last = ast.parse(text).body
        self.text = text
        self.named: list[tuple[str, ast.expr]] = []
        for part in named:
            match part:
                case ast.Assign([ast.Name(name)], inside):
                    self.named.append((name, _Folded().visit(inside)))
                case _:
                    raise ValueError(f"{ast.unparse(part)} in a formula; expected name = …")
        if not isinstance(last, ast.Expr):
            raise ValueError(f"the formula {text!r} ends without a result")
        self.body: ast.expr = _Folded().visit(last.value)

    def fill(self, scope: Scope) -> Expr:
        """The expression, with the cells of a call."""
        filler = _Filler(scope, {name for name, _ in self.named})
        expr = filler.expr(self.body)
        for name, part in reversed(self.named):
            expr = _named(name, filler.expr(part), expr)
        return expr


class _Folded(ast.NodeTransformer):
    """Constants computed: sqrt(2/pi) is one number."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(math.pi) if node.id == "pi" else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        match self.generic_visit(node):
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return ast.Constant(-number)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        match self.generic_visit(node):
            case ast.BinOp(
                ast.Constant(int() | float() as left),
                operator,
                ast.Constant(int() | float() as right),
            ):
                return ast.Constant(ARITHMETIC[type(operator)](left, right))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match self.generic_visit(node):
            case ast.Call(ast.Name(name), [ast.Constant(int() | float() as number)]) if (
                name in CONSTANTS
            ):
                return ast.Constant(CONSTANTS[name](number))
        return node


class _Filler:
    def __init__(self, scope: Scope, named: set[str]) -> None:
        self.scope = scope
        self.named = named
        self.places: dict[str, Place] = {}  # of the rows around, by their variable

    def expr(self, node: ast.expr) -> Expr:
        """The expression of a part that must be there."""
        found = self.part(node)
        if found is None:
            raise ValueError(f"{ast.unparse(node)} was not given; a formula needs it")
        return found

    def part(self, node: ast.expr) -> Expr | None:
        """The expression of a part; None for an argument that was not given."""
        match node:
            case ast.Constant(int() | float() as constant):
                return number(constant)
            case ast.Name("inf"):
                return INF
            case ast.UnaryOp(ast.USub(), ast.Name("inf")):
                return NEG_INF
            case ast.Name(name):
                return name if name in self.named else self.scope.cell(name, self.scope.place)
            case ast.Subscript(ast.Name(name), ast.Name(variable)):
                return self.scope.cell(name, self.places[variable])
            case ast.UnaryOp(ast.USub(), inside):
                return op("neg", self.expr(inside))
            case ast.UnaryOp(ast.Not(), inside):
                return op("not", self.expr(inside))
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.Compare(left, [operator], [right]):
                return op(COMPARISONS[type(operator)], self.expr(left), self.expr(right))
            case ast.BoolOp(operator, [left, right]):
                head: Any = "and" if isinstance(operator, ast.And) else "or"
                return op(head, self.expr(left), self.expr(right))
            case ast.IfExp(test, yes, no):
                return choose(self.expr(test), self.expr(yes), self.expr(no))
            case ast.Call(ast.Name(name), [ast.GeneratorExp() as terms]):
                return self._reduction(name, terms)
            case ast.Call(ast.Name(name), arguments):
                return self._operator(name, arguments)
        raise ValueError(f"{ast.unparse(node)} means nothing in a formula")

    def _given(self, nodes: Sequence[ast.expr]) -> list[Expr]:
        return [part for part in map(self.part, nodes) if part is not None]

    def _arithmetic(self, node: ast.BinOp) -> Expr | None:
        match node.op:
            case ast.Add():
                terms = self._given(_chain(node, ast.Add))
                return op("add", *terms) if len(terms) > 1 else terms[0]
            case ast.Mult():
                return mul(*self._given(_chain(node, ast.Mult)))
            case ast.Sub():
                return op("sub", self.expr(node.left), self.expr(node.right))
            case ast.Div():
                divisor = self.part(node.right)
                return (
                    self.part(node.left) if divisor is None else div(self.expr(node.left), divisor)
                )
            case ast.Pow():
                return op("pow", self.expr(node.left), self.expr(node.right))
        raise ValueError(f"{ast.unparse(node)} means nothing in a formula")

    def _operator(self, name: str, arguments: Sequence[ast.expr]) -> Expr:
        head: Any = name
        given = self._given(arguments)
        if len(given) == 1 < len(arguments) and name in ("maximum", "minimum"):
            return given[0]
        if ARGUMENTS.get(name) != len(given):
            raise ValueError(f"{name} of {len(given)} arguments is no operator")
        return op(head, *given)

    def _reduction(self, name: str, terms: ast.GeneratorExp) -> Expr:
        match terms.generators:
            case [ast.comprehension(ast.Name(variable), ast.Name(which), [])]:
                row = self.scope.rows[which]
            case _:
                raise ValueError(f"{ast.unparse(terms)}; expected … for k in row")
        self.places[variable] = row.place
        body = self.expr(terms.elt)
        kind: Any = "sum" if name == "mean" else name
        if kind not in get_args(FoldKind):
            raise ValueError(f"{name} is no reduction")
        folded = Fold(row.ranges, body, kind) if row.ranges else body
        return div(folded, number(row.terms)) if name == "mean" else folded


def _named(name: str, part: Expr, body: Expr) -> Expr:
    """A part with a name, in the branch of a choice if only that one uses it."""
    match body:
        case Op("where", (test, yes, no)) if not mentions(test, [name]) and not mentions(
            yes, [name]
        ):
            return choose(test, yes, Let(name, part, no))
    return Let(name, part, body)


def _chain(node: ast.expr, operator: type[ast.operator]) -> list[ast.expr]:
    """The parts of a + b + c, or of a·b·c; a·(b·c) keeps its parentheses."""
    match node:
        case ast.BinOp(left, found, right) if isinstance(found, operator):
            return [*_chain(left, operator), right]
    return [node]


def cellwise(name: str, text: str) -> RuleMaker:
    """A rule that is a formula of the cells at the output's place."""
    formula = Formula(text)
    return lambda call: Rule(name, "pointwise", formula.fill(Scope(call, call.out.index)))
