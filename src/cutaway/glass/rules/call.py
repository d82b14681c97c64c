"""One recorded operation as a rule sees it: arguments by name, operands instead of tensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cutaway.glass.expr import Expr, at, index, number

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
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True)
class Output:
    """Shape and element type of one result."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def index(self) -> tuple[str, ...]:
        """Its index variables."""
        return index(len(self.shape))


@dataclass(frozen=True)
class Call:
    """An operation with bound arguments and the results it had."""

    op: str  # "aten.add.Tensor"
    arguments: dict[str, Any]
    outputs: list[Output]

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or the default if it was not given."""
        value = self.arguments.get(name)
        return default if value is None else value

    @property
    def out(self) -> Output:
        """The first result."""
        return self.outputs[0]


@dataclass(frozen=True)
class Rule:
    """What one cell of an output is made of."""

    name: str
    kind: str
    expr: Expr = None
    source: str | None = None


RuleMaker = Callable[[Call], "Rule | list[Rule | None]"]


def cell(operand: Operand, where: Sequence[Expr]) -> Expr:
    """The operand's cell under an output cell, by the rules of broadcasting."""
    own = where[len(where) - operand.rank :] if operand.rank else ()
    return at(
        operand.position,
        *(0 if size == 1 else part for part, size in zip(own, operand.shape, strict=True)),
    )


def value(argument: Any, where: Sequence[Expr]) -> Expr:
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
        return ("cast", "bool", expr)
    if dtype in INTEGERS and (floats or kinds - INTEGERS):
        return ("cast", dtype, expr)
    return expr
