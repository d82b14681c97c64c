"""Arithmetic as a person would write it, with the real numbers.

The result is a list of tokens: pieces of text, and operands that know their address.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutaway.glass.evaluate import Evaluator
from cutaway.glass.expr import Expr

Array = NDArray[Any]
FEW = 6  # a sum of so many terms is written out


@dataclass(frozen=True)
class Token:
    """A piece of the arithmetic; an operand's number carries where it lies."""

    text: str
    operand: int | None = None
    indices: tuple[int, ...] = ()
    value: float | None = None


def substitute(expr: Expr, known: dict[str, Any]) -> Expr:
    """The expression with variables replaced by numbers; bound names hide outer ones."""
    if isinstance(expr, str):
        return known.get(expr, expr)
    if not isinstance(expr, tuple):
        return expr
    head = expr[0]
    if head == "at":
        where = tuple(substitute(part, known) for part in expr[2])
        return ("at", expr[1], where, *(substitute(part, known) for part in expr[3:]))
    if head == "let":
        inner = {name: value for name, value in known.items() if name != expr[1]}
        return ("let", expr[1], substitute(expr[2], known), substitute(expr[3], inner))
    if head in ("sum", "prod", "max", "min", "argmax", "argmin", "kth", "argkth"):
        bound = {name for name, _ in expr[1]}
        inner = {name: value for name, value in known.items() if name not in bound}
        parts = [substitute(expr[2], inner)]
        if head in ("argmax", "argmin"):
            parts.append(substitute(expr[3], inner))
        elif head in ("kth", "argkth"):
            parts += [substitute(expr[3], known), expr[4]]
            if head == "argkth":
                parts.append(substitute(expr[5], inner))
        return (head, expr[1], *parts)
    if head == "cast":
        return ("cast", expr[1], substitute(expr[2], known))
    return (head, *(substitute(part, known) for part in expr[1:]))


def show(value: float) -> str:
    """A number with four significant digits, a real minus sign, and ∞ as itself."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value)}".replace("-", "−")
    text = f"{value:.4g}".replace("-", "−")
    if "e" in text:
        mantissa, _, power = text.partition("e")
        sign = "−" if power.startswith("−") else ""
        return f"{mantissa}e{sign}{power.lstrip('+−').lstrip('0') or '0'}"
    return text


def constant(value: float) -> str:
    """A constant of the program; √64 reads better than 8.246."""
    square = value * value
    if value > 1 and not float(value).is_integer() and abs(square - round(square)) < 1e-12 * square:
        return f"√{round(square)}"
    return show(value)


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
        if not isinstance(expr, tuple):
            return [Token(_signed(constant(float(expr)), level))]
        head = expr[0]
        maker: Callable[[Expr, int], list[Token]] | None = getattr(self, f"_{head}", None)
        if maker is not None:
            return maker(expr, level)
        if head in _INFIX:
            return _grouped(
                [*self.write(expr[1], 2), Token(f" {_INFIX[head]} "), *self.write(expr[2], 2)],
                level > 0,
            )
        if head in ("inf", "-inf", "nan"):
            return [Token(_signed(show(float(head)), level))]
        name = _FUNCTIONS.get(head, head)
        inside: list[Token] = []
        for place, part in enumerate(expr[1:]):
            inside += [Token(", ")] * (place > 0) + self.write(part)
        return [Token(f"{name}("), *inside, Token(")")]

    def _at(self, expr: Expr, level: int) -> list[Token]:
        indices = tuple(int(self.evaluate(part)) for part in expr[2])
        array = self.operands[expr[1]]
        if len(expr) == 4 and any(
            not 0 <= place < size for place, size in zip(indices, array.shape, strict=True)
        ):
            return self.write(expr[3], level)
        value = float(array[indices])
        return [Token(_signed(show(value), level), expr[1], indices, value)]

    def _add(self, expr: Expr, level: int) -> list[Token]:
        tokens = self.write(expr[1], 1)
        for part in expr[2:]:
            tokens += _plus(self.write(part, 1))
        return _grouped(tokens, level > 1)

    def _sub(self, expr: Expr, level: int) -> list[Token]:
        tokens = [*self.write(expr[1], 1), Token(" − "), *self.write(expr[2], 2)]
        return _grouped(tokens, level > 1)

    def _mul(self, expr: Expr, level: int) -> list[Token]:
        tokens: list[Token] = []
        for place, part in enumerate(expr[1:]):
            tokens += [Token("·")] * (place > 0) + self.write(part, 2 if place == 0 else 3)
        return _grouped(tokens, level > 2)

    def _div(self, expr: Expr, level: int) -> list[Token]:
        tokens = [*self.write(expr[1], 2), Token(" / "), *self.write(expr[2], 3)]
        return _grouped(tokens, level > 2)

    def _neg(self, expr: Expr, level: int) -> list[Token]:
        return _grouped([Token("−"), *self.write(expr[1], 3)], level > 1)

    def _sqrt(self, expr: Expr, level: int) -> list[Token]:
        inner = self.write(expr[1], 0)
        single = len(inner) == 1
        return [Token("√"), *inner] if single else [Token("√("), *inner, Token(")")]

    def _rsqrt(self, expr: Expr, level: int) -> list[Token]:
        return _grouped([Token("1 / "), *self._sqrt(("sqrt", expr[1]), 3)], level > 2)

    def _recip(self, expr: Expr, level: int) -> list[Token]:
        return _grouped([Token("1 / "), *self.write(expr[1], 3)], level > 2)

    def _abs(self, expr: Expr, level: int) -> list[Token]:
        return [Token("|"), *self.write(expr[1]), Token("|")]

    def _pow(self, expr: Expr, level: int) -> list[Token]:
        return [*self.write(expr[1], 3), Token("^"), *self.write(expr[2], 3)]

    def _cast(self, expr: Expr, level: int) -> list[Token]:
        return [Token(f"{expr[1]}("), *self.write(expr[2]), Token(")")]

    def _where(self, expr: Expr, level: int) -> list[Token]:
        holds = self.evaluate(expr[1]) != 0
        if not self.inside:
            verdict = "true" if holds else "false"
            self.lines.append([Token("condition: "), *self.write(expr[1]), Token(f" ({verdict})")])
        return self.write(expr[2] if holds else expr[3], level)

    def _let(self, expr: Expr, level: int) -> list[Token]:
        _, name, inner, body = expr
        value = self.evaluate(inner)
        plain = isinstance(inner, tuple) and inner[0] == "at"
        if not self.inside:
            line = [Token(f"{name} = "), *self.write(inner)]
            if not plain:
                line.append(Token(f" = {show(value)}"))
            self.lines.append(line)
        exact = int(value) if float(value).is_integer() and abs(value) < 2**53 else _literal(value)
        return self.write(substitute(body, {name: exact}), level)

    def _places(self, ranges: Sequence[tuple[str, int]], body: Expr) -> tuple[Array, Array]:
        """Values of the body at every place, and which places count as terms."""
        evaluator = Evaluator(self.operands, [])
        evaluator._bind(ranges)
        with np.errstate(all="ignore"):
            values = evaluator._full(evaluator.run(body), ranges).astype(np.float64)
            counts = np.ones(values.shape, dtype=bool)
            if isinstance(body, tuple) and body[0] == "where" and body[3] == 0:
                counts = evaluator._full(evaluator.run(body[1]) != 0, ranges)
        return values, counts

    def _chosen(self, values: Array, counts: Array) -> tuple[list[tuple[int, ...]], int]:
        """The places to show, in order, and how many are left out."""
        flat = np.flatnonzero(counts)
        if len(flat) > FEW:
            weight = np.nan_to_num(np.abs(values.ravel()[flat]), nan=np.inf)
            flat = np.sort(flat[np.argsort(-weight, kind="stable")[: self.terms]])
        places = [
            tuple(int(part) for part in np.unravel_index(place, values.shape)) for place in flat
        ]
        return places, int(np.count_nonzero(counts)) - len(places)

    def _sum(self, expr: Expr, level: int) -> list[Token]:
        _, ranges, body = expr
        values, counts = self._places(ranges, body)
        places, more = self._chosen(values, counts)
        if not places:
            return [Token("0")]
        tokens: list[Token] = []
        self.inside += 1
        for number, place in enumerate(places):
            known = {name: spot for (name, _), spot in zip(ranges, place, strict=True)}
            term = self.write(substitute(body, known), 1)
            tokens += term if number == 0 else _plus(term)
        self.inside -= 1
        if more:
            tokens.append(Token(f" + … {more} more terms"))
        return _grouped(tokens, level > 1 and len(places) + more > 1)

    def _prod(self, expr: Expr, level: int) -> list[Token]:
        return self._listed(expr, "·", "")

    def _max(self, expr: Expr, level: int) -> list[Token]:
        return self._listed(expr, ", ", "max")

    def _min(self, expr: Expr, level: int) -> list[Token]:
        return self._listed(expr, ", ", "min")

    def _listed(self, expr: Expr, between: str, name: str) -> list[Token]:
        _, ranges, body = expr[:3]
        values, counts = self._places(ranges, body)
        order = -values if name == "min" else values
        flat = np.flatnonzero(counts)
        if len(flat) > FEW:
            best = np.argsort(-np.nan_to_num(order.ravel()[flat], nan=np.inf), kind="stable")
            flat = np.sort(flat[best[: self.terms]])
        more = int(np.count_nonzero(counts)) - len(flat)
        tokens: list[Token] = []
        self.inside += 1
        for number, flat_place in enumerate(flat):
            place = np.unravel_index(flat_place, values.shape)
            known = {key: int(spot) for (key, _), spot in zip(ranges, place, strict=True)}
            tokens += [Token(between)] * (number > 0) + self.write(substitute(body, known), 1)
        self.inside -= 1
        if more:
            tokens.append(Token(f"{between}… {more} more"))
        return [Token(f"{name}("), *tokens, Token(")")]

    def _argmax(self, expr: Expr, level: int) -> list[Token]:
        return [Token("place of "), *self._listed(expr, ", ", "max")]

    def _argmin(self, expr: Expr, level: int) -> list[Token]:
        return [Token("place of "), *self._listed(expr, ", ", "min")]

    def _kth(self, expr: Expr, level: int) -> list[Token]:
        nth = int(self.evaluate(expr[3])) + 1
        name = "max" if expr[4] == "largest" else "min"
        return [Token(f"no. {nth} of "), *self._listed(expr[:3], ", ", name)]

    def _argkth(self, expr: Expr, level: int) -> list[Token]:
        return [Token("place of "), *self._kth(expr, level)]


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
_FUNCTIONS = {"maximum": "max", "minimum": "min", "sigmoid": "σ", "round": "round", "not": "not "}


def _literal(value: float) -> Expr:
    from cutaway.glass.expr import number

    return number(value)


def _signed(text: str, level: int) -> str:
    return f"({text})" if text.startswith("−") and level >= 2 else text


def _grouped(tokens: list[Token], needed: bool) -> list[Token]:
    return [Token("("), *tokens, Token(")")] if needed else tokens


def _plus(term: list[Token]) -> list[Token]:
    """+ term, or − |term| where the term begins with a minus sign."""
    first = term[0]
    if first.text.startswith("−") and first.text != "−∞":
        rest = Token(first.text[1:], first.operand, first.indices, first.value)
        return [Token(" − "), *([rest] if rest.text else []), *term[1:]]
    return [Token(" + "), *term]
