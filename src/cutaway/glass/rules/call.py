"""One recorded operation as a rule sees it: arguments by name, operands instead of tensors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch

from cutaway.glass.expr import At, Cast, Expr, Place, index, number

INTEGERS = frozenset(["int64", "int32", "int16", "int8", "uint8", "bool"])


@dataclass(frozen=True)
class Operand:
    """A tensor argument: its number among the operands, shape and element type."""

    position: int
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], Any] = field(compare=False, repr=False)  # its numbers, as a NumPy array

    @property
    def rank(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return math.prod(self.shape)

    def at(self, *where: Expr) -> At:
        """Its cell at an index."""
        return At(self.position, where)

    @property
    def first(self) -> At:
        """Its first cell, of a tensor that holds one number."""
        return At(self.position, (0,) * self.rank)


@dataclass(frozen=True)
class Output:
    """Shape and element type of one result."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def index(self) -> tuple[str, ...]:
        """Its index variables."""
        return index(len(self.shape))

    def along(self, axis: int, part: Expr) -> list[Expr]:
        """Its index with one axis replaced."""
        return [part if each == axis else name for each, name in enumerate(self.index)]

    def without(self, axis: int) -> list[str]:
        """Its index without one axis."""
        return [name for each, name in enumerate(self.index) if each != axis]


@dataclass(frozen=True)
class Call:
    """An operation with bound arguments and the results it had."""

    op: str  # "aten.add.Tensor"
    arguments: dict[str, Any]
    outputs: list[Output]

    def __getitem__(self, name: str) -> Any:
        """An argument, or what the operation's schema gives it."""
        return self.arguments[name] if name in self.arguments else defaults(self.op)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or the default if neither call nor schema has a value for it."""
        found = self.arguments.get(name)
        found = defaults(self.op).get(name) if found is None else found
        return default if found is None else found

    def result(self, place: int) -> "Operand":
        """Another result of this very call, to be read as an operand."""
        given = self.outputs[place]
        return Operand(-1 - place, given.shape, given.dtype, _unread)

    @property
    def out(self) -> Output:
        """The first result."""
        return self.outputs[0]


@dataclass(frozen=True)
class Rule:
    """What one cell of an output is made of."""

    name: str
    kind: str
    expr: Expr | None = None
    source: str | None = None

    @property
    def arithmetic(self) -> Expr:
        """The expression of a rule that has one: all but opaque ones and most sources."""
        assert self.expr is not None
        return self.expr


RuleMaker = Callable[[Call], "Rule | list[Rule | None]"]


OPAQUE = Rule("opaque", "opaque")


def table(name: str, kind: str, made: dict[str, Callable[[Call], Expr]]) -> dict[str, RuleMaker]:
    """Rules of one name and kind, by operation, from functions that give the expression."""

    def maker(expr: Callable[[Call], Expr]) -> RuleMaker:
        return lambda call: Rule(name, kind, expr(call))

    return {op: maker(expr) for op, expr in made.items()}


def _unread() -> Any:
    raise LookupError("a result is not known before its rule is")


@cache
def defaults(op: str) -> dict[str, Any]:
    """The arguments an operation need not be given, as its schema has them."""
    namespace, name, overload = (*op.split("."), "", "")[:3]
    packet = getattr(getattr(torch.ops, namespace), name, None)
    schema = getattr(getattr(packet, overload, None), "_schema", None)
    if schema is None:
        return {}
    given = {each.name: each.default_value for each in schema.arguments if each.has_default_value()}
    return given


def cell(operand: Operand, where: Place) -> At:
    """The operand's cell under an output cell, by the rules of broadcasting."""
    own = where[len(where) - operand.rank :] if operand.rank else ()
    return operand.at(
        *(0 if size == 1 else part for part, size in zip(own, operand.shape, strict=True))
    )


def value(argument: Any, where: Place) -> Expr:
    """A tensor's cell, or a Python number as itself."""
    return cell(argument, where) if isinstance(argument, Operand) else number(argument)


def axes_of(dims: int | Sequence[int] | None, rank: int) -> list[int]:
    """Axis numbers from 0, sorted; all axes for None or an empty list."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(rank))
    listed = [dims] if isinstance(dims, int) else list(dims)
    return sorted(axis % rank if rank else 0 for axis in listed)


def shaped(expr: Expr, dtype: str, *sources: Any) -> Expr:
    """Cast to the output's type where that changes the number: to bool, or float to integer."""
    kinds = {source.dtype for source in sources if isinstance(source, Operand)}
    floats = any(isinstance(source, float) for source in sources)
    if dtype == "bool" and kinds - {"bool"}:
        return Cast("bool", expr)
    if dtype in INTEGERS and (floats or kinds - INTEGERS):
        return Cast(dtype, expr)
    return expr
