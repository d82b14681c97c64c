"""Arithmetic as a person would write it, with the real numbers.

The result is a list of tokens: pieces of text, and operands that know their address.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cutaway.glass.evaluator import Evaluator
from cutaway.glass.expr import (
    Arg,
    At,
    Cast,
    Expr,
    Fold,
    Kth,
    Let,
    Op,
    Ranges,
    Reduction,
    number,
    substitute,
)
from cutaway.glass.functions import Array
from cutaway.numbers import root, short

FEW = 6  # a sum of so many terms is written out


@dataclass(frozen=True)
class Token:
    """A piece of the arithmetic; an operand's number carries where it lies."""

    text: str
    operand: int | None = None
    indices: tuple[int, ...] = ()
    value: float | None = None


def constant(value: float) -> str:
    """A constant of the program."""
    inside = root(value)
    return short(value) if inside is None else f"√{inside}"


class Writer:
    """One cell's arithmetic; all variables are numbers by the time a part is written."""

    def __init__(self, operands: Sequence[Array], terms: int) -> None:
        self.operands = operands
        self.terms = terms
        self.inside = 0  # how deep in a reduction
        self.lines: list[list[Token]] = []  # one for each named part

    def evaluate(self, expr: Expr) -> float:
        """The value of an expression without free variables."""
        with np.errstate(all="ignore"):
            return float(Evaluator(self.operands, []).run(expr))

    def write(self, expr: Expr, level: int = 0) -> list[Token]:
        """Tokens of an expression; `level` is how tightly its surroundings bind."""
        match expr:
            case Op():
                return self._operator(expr, level)
            case At():
                return self._at(expr, level)
            case Cast(dtype, value):
                return [Token(f"{dtype}("), *self.write(value), Token(")")]
            case Let():
                return self._let(expr, level)
            case Fold(kind="sum"):
                return self._sum(expr, level)
            case Fold(kind="prod"):
                return self._listed(expr, "·", "")
            case Fold():
                return self._listed(expr, ", ", expr.kind)
            case Arg():
                return [Token("place of "), *self._listed(expr, ", ", expr.kind[3:])]
            case Kth():
                nth = int(self.evaluate(expr.nth)) + 1
                place = "" if expr.result is None else "place of "
                name = "max" if expr.order == "largest" else "min"
                return [Token(f"{place}no. {nth} of "), *self._listed(expr, ", ", name)]
            case int() | float():
                return [Token(_signed(constant(float(expr)), level))]
        raise TypeError(f"{expr!r:.80} cannot be written")

    def _operator(self, expr: Op, level: int) -> list[Token]:
        match expr.head, expr.args:
            case "add", args:
                tokens = self.write(args[0], 1)
                for part in args[1:]:
                    tokens += _plus(self.write(part, 1))
                return _grouped(tokens, level > 1)
            case "sub", (left, right):
                tokens = [*self.write(left, 1), Token(" − "), *self.write(right, 2)]
                return _grouped(tokens, level > 1)
            case "mul", args:
                tokens = self.write(args[0], 2)
                for part in args[1:]:
                    tokens += [Token("·"), *self.write(part, 3)]
                return _grouped(tokens, level > 2)
            case "div", (left, right):
                tokens = [*self.write(left, 2), Token(" / "), *self.write(right, 3)]
                return _grouped(tokens, level > 2)
            case "neg", (x,):
                return _grouped([Token("−"), *self.write(x, 3)], level > 1)
            case "sqrt", (x,):
                return self._root(x)
            case "rsqrt", (x,):
                return _grouped([Token("1 / "), *self._root(x)], level > 2)
            case "recip", (x,):
                return _grouped([Token("1 / "), *self.write(x, 3)], level > 2)
            case "abs", (x,):
                return [Token("|"), *self.write(x), Token("|")]
            case "pow", (base, power):
                return [*self.write(base, 3), Token("^"), *self.write(power, 3)]
            case "where", (test, yes, no):
                return self._where(test, yes, no, level)
            case ("inf" | "-inf" | "nan") as head, _:
                return [Token(_signed(short(float(head)), level))]
            case head, (left, right) if head in _INFIX:
                sign = Token(f" {_INFIX[head]} ")
                return _grouped([*self.write(left, 2), sign, *self.write(right, 2)], level > 0)
            case head, args:
                inside: list[Token] = []
                for place, part in enumerate(args):
                    inside += [Token(", ")] * (place > 0) + self.write(part)
                return [Token(f"{_FUNCTIONS.get(head, head)}("), *inside, Token(")")]

    def _at(self, expr: At, level: int) -> list[Token]:
        indices = tuple(int(self.evaluate(part)) for part in expr.where)
        array = self.operands[expr.operand]
        if expr.default is not None and any(
            not 0 <= place < size for place, size in zip(indices, array.shape, strict=True)
        ):
            return self.write(expr.default, level)
        value = float(array[indices])
        return [Token(_signed(short(value), level), expr.operand, indices, value)]

    def _root(self, inside: Expr) -> list[Token]:
        inner = self.write(inside)
        return [Token("√"), *inner] if len(inner) == 1 else [Token("√("), *inner, Token(")")]

    def _where(self, test: Expr, yes: Expr, no: Expr, level: int) -> list[Token]:
        holds = self.evaluate(test) != 0
        if not self.inside:
            verdict = "true" if holds else "false"
            self.lines.append([Token("condition: "), *self.write(test), Token(f" ({verdict})")])
        return self.write(yes if holds else no, level)

    def _let(self, expr: Let, level: int) -> list[Token]:
        value = self.evaluate(expr.value)
        if not self.inside:
            line = [Token(f"{expr.name} = "), *self.write(expr.value)]
            if not isinstance(expr.value, At):
                line.append(Token(f" = {short(value)}"))
            self.lines.append(line)
        return self.write(substitute(expr.body, {expr.name: number(value)}), level)

    def _places(self, ranges: Ranges, body: Expr) -> tuple[Array, Array]:
        """Values of the body at every place, and the flat numbers of those that count as terms."""
        evaluator = Evaluator(self.operands, [])
        with np.errstate(all="ignore"), evaluator.bound(ranges):
            values = evaluator.full(evaluator.run(body), ranges).astype(np.float64)
            match body:
                case Op("where", (test, _, 0)):
                    return values, np.flatnonzero(evaluator.full(evaluator.run(test) != 0, ranges))
        return values, np.arange(values.size)

    def _terms(
        self, expr: Reduction, places: Array, shape: tuple[int, ...]
    ) -> Iterator[list[Token]]:
        """The body at some places, each as tokens."""
        self.inside += 1
        for flat in places:
            spots = np.unravel_index(flat, shape)
            known = {name: int(spot) for name, spot in zip(expr.binds, spots, strict=True)}
            yield self.write(substitute(expr.body, known), 1)
        self.inside -= 1

    def _sum(self, expr: Fold, level: int) -> list[Token]:
        values, counted = self._places(expr.ranges, expr.body)
        if not len(counted):
            return [Token("0")]
        shown = self._first(counted, np.abs(values))
        tokens: list[Token] = []
        for term in self._terms(expr, shown, values.shape):
            tokens += _plus(term) if tokens else term
        if len(counted) > len(shown):
            tokens.append(Token(f" + … {len(counted) - len(shown)} more terms"))
        return _grouped(tokens, level > 1 and len(counted) > 1)

    def _listed(self, expr: Reduction, between: str, name: str) -> list[Token]:
        values, counted = self._places(expr.ranges, expr.body)
        shown = self._first(counted, -values if name == "min" else values)
        tokens: list[Token] = []
        for term in self._terms(expr, shown, values.shape):
            tokens += [Token(between)] * bool(tokens) + term
        if len(counted) > len(shown):
            tokens.append(Token(f"{between}… {len(counted) - len(shown)} more"))
        return [Token(f"{name}("), *tokens, Token(")")]

    def _first(self, counted: Array, weights: Array) -> Array:
        """Of many places those of the largest weights, in order of place; NaN before all."""
        if len(counted) <= FEW:
            return counted
        heavy = np.nan_to_num(weights.ravel()[counted], nan=np.inf)
        return np.sort(counted[np.argsort(-heavy, kind="stable")[: self.terms]])


_INFIX = {
    "eq": "=",
    "ne": "≠",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "mod": "mod",
    "fmod": "mod",
    "idiv": "div",
}
_FUNCTIONS = {"maximum": "max", "minimum": "min", "sigmoid": "σ", "not": "not "}


def _signed(text: str, level: int) -> str:
    return f"({text})" if text.startswith("−") and level >= 2 else text


def _grouped(tokens: list[Token], needed: bool) -> list[Token]:
    return [Token("("), *tokens, Token(")")] if needed else tokens


def _plus(term: list[Token]) -> list[Token]:
    """+ term, or − |term| where the term begins with a minus sign."""
    first = term[0]
    if first.text.startswith("−") and first.text != "−∞":
        rest = replace(first, text=first.text[1:])
        return [Token(" − "), *([rest] if rest.text else []), *term[1:]]
    return [Token(" + "), *term]
