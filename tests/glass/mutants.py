"""Rules changed in one place: each constant, sign, index and operand, one at a time.

The changes are made to a rule's JSON, as nested tuples.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cutaway.glass.expr import ARGUMENTS
from cutaway.glass.expr import Expr as Typed
from cutaway.glass.wire import from_json, to_json

Expr = Any  # nested tuples
Path = tuple[Any, ...]  # operators and places, from the root
Mutant = tuple[Path, str, Expr]  # where, what was done, the changed rule

OTHER = {  # an operator and the one that takes its place
    "add": "sub", "sub": "add", "mul": "div", "div": "mul", "pow": "mul",
    "maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "sum": "max",
    "prod": "sum", "argmax": "argmin", "argmin": "argmax", "lt": "ge", "ge": "lt", "gt": "le",
    "le": "gt", "eq": "ne", "ne": "eq", "and": "or", "or": "and", "xor": "and", "idiv": "mod",
    "mod": "idiv", "fmod": "add", "atan2": "sub", "bitand": "bitor", "bitor": "bitand",
    "bitxor": "bitand", "inf": "-inf", "-inf": "inf", "largest": "smallest",
    "smallest": "largest",
}  # fmt: skip


@dataclass(frozen=True)
class Rewriting:
    """What is known of the rule while it is changed."""

    shapes: Sequence[tuple[int, ...]]  # of the operands
    summed: frozenset[str] = frozenset()  # variables of the reductions around


def mutants(
    expr: Typed, shapes: Sequence[tuple[int, ...]]
) -> Iterator[tuple[Path, str, Callable[[], Typed]]]:
    """Every rule that differs from this one in one place: where, what was done, how to make it."""
    for path, change, mutant in _changed(_tuples(to_json(expr)), Rewriting(shapes), ()):
        yield path, change, partial(from_json, mutant)


def _tuples(data: Any) -> Any:
    return tuple(map(_tuples, data)) if isinstance(data, list) else data


def _changed(expr: Expr, rule: Rewriting, path: Path) -> Iterator[Mutant]:
    if isinstance(expr, (int, float)):
        yield path, "constant", expr * 2 if expr else 1
        return
    if not isinstance(expr, tuple) or not expr:
        return
    head = expr[0]
    path = (*path, head)
    if head == "at":
        yield from _read(expr, rule, path)
        return
    if ARGUMENTS.get(head) == 1:
        yield path, "left out", expr[1]
    elif head in OTHER:
        args = expr[1:]
        if head in ("add", "mul") and len(args) > 2:  # its other takes two
            args = ((head, *args[:-1]), args[-1])
        yield path, f"to {OTHER[head]}", (OTHER[head], *args)
    if head in ("sub", "div", "pow", "idiv", "mod", "fmod", "atan2") and len(expr) == 3:
        yield path, "operands exchanged", (head, expr[2], expr[1])
    if head == "where":
        yield path, "branches exchanged", (head, expr[1], expr[3], expr[2])
    if head in ("kth", "argkth"):
        yield path, "order", (*expr[:4], OTHER[expr[4]], *expr[5:])
    if head in ("sum", "prod", "max", "min", "argmax", "argmin", "kth", "argkth"):
        yield from _ranges(expr, path)
        rule = replace(rule, summed=rule.summed | {name for name, _ in expr[1]})
    for place in _parts(expr):
        for deeper, what, part in _changed(expr[place], rule, (*path, place)):
            yield deeper, what, (*expr[:place], part, *expr[place + 1 :])


def _parts(expr: Expr) -> list[int]:
    """Which places of a node hold expressions."""
    head = expr[0]
    if head == "let":
        return [2, 3]
    if head == "cast":
        return [2]
    if head in ("sum", "prod", "max", "min"):
        return [2]
    if head in ("argmax", "argmin", "kth"):
        return [2, 3]
    if head == "argkth":
        return [2, 3, 5]
    return list(range(1, len(expr)))


def _ranges(expr: Expr, path: Path) -> Iterator[Mutant]:
    """One term too few."""
    for place, (name, size) in enumerate(expr[1]):
        if size > 1:
            shorter = (*expr[1][:place], (name, size - 1), *expr[1][place + 1 :])
            yield (*path, 1, place), "a term left out", (expr[0], shorter, *expr[2:])


def _read(expr: Expr, rule: Rewriting, path: Path) -> Iterator[Mutant]:
    """Another operand, or another cell of it."""
    _, operand, where, *rest = expr
    shapes, summed = rule.shapes, rule.summed
    for other, shape in enumerate(shapes):
        if other != operand and len(shape) == len(where):
            yield (*path, 1), f"operand {other}", ("at", other, where, *rest)
            break
    for place, part in enumerate(where):
        size = shapes[operand][place]
        if size == 1:
            continue
        if isinstance(part, str) and part in summed:  # a shift would only change the order
            moved: Any = 0
        else:
            moved = ("mod", ("add", part, 1), size)
        yield (*path, 2, place), "another cell", (
            "at", operand, (*where[:place], moved, *where[place + 1 :]), *rest,
        )  # fmt: skip
        for deeper, what, inner in _changed(part, rule, (*path, 2, place)):
            yield deeper, what, (
                "at", operand, (*where[:place], inner, *where[place + 1 :]), *rest,
            )  # fmt: skip
    for part in rest:
        for deeper, what, inner in _changed(part, rule, (*path, 3)):
            yield deeper, what, ("at", operand, where, inner)
