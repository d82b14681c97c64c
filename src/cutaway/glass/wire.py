"""Expressions as JSON, as traces and the page hold them: docs/trace-format.md describes it."""

from typing import Any, get_args

from cutaway.glass.expr import (
    ARGUMENTS,
    Arg,
    ArgKind,
    At,
    Cast,
    Expr,
    Fold,
    FoldKind,
    Kth,
    Let,
    Node,
    Op,
    Order,
    Ranges,
)


def to_json(expr: Expr) -> Any:
    """Numbers and variables as themselves, nodes as lists that begin with their operator."""
    match expr:
        case Op(head, args):
            return [head, *map(to_json, args)]
        case At(operand, where, default):
            rest = [] if default is None else [to_json(default)]
            return ["at", operand, [to_json(part) for part in where], *rest]
        case Let(name, value, body):
            return ["let", name, to_json(value), to_json(body)]
        case Cast(dtype, value):
            return ["cast", dtype, to_json(value)]
        case Fold(ranges, body, kind):
            return [kind, [list(each) for each in ranges], to_json(body)]
        case Arg(ranges, body, kind, result):
            return [kind, [list(each) for each in ranges], to_json(body), to_json(result)]
        case Kth(ranges, body, nth, order, result):
            start = [[list(each) for each in ranges], to_json(body), to_json(nth), order]
            return ["kth", *start] if result is None else ["argkth", *start, to_json(result)]
        case Node():
            raise TypeError(f"{type(expr).__name__} has no JSON form")
    return expr


def from_json(data: Any) -> Expr:
    """The expression that `to_json` wrote; a ValueError for anything else."""
    if isinstance(data, (int, float, str)):
        return data
    if not isinstance(data, (list, tuple)) or not data or not isinstance(data[0], str):
        raise ValueError(f"{data!r:.80} is no expression")
    head, *rest = data
    kind: Any = head  # one of the literals, by the tests below
    order: Any
    match head, rest:
        case "at", [int(operand), list() | tuple() as where]:
            return At(operand, tuple(map(from_json, where)))
        case "at", [int(operand), list() | tuple() as where, default]:
            return At(operand, tuple(map(from_json, where)), from_json(default))
        case "let", [str(name), value, body]:
            return Let(name, from_json(value), from_json(body))
        case "cast", [str(dtype), value]:
            return Cast(dtype, from_json(value))
        case "kth", [ranges, body, nth, order] if order in get_args(Order):
            return Kth(_ranges(ranges), from_json(body), from_json(nth), order)
        case "argkth", [ranges, body, nth, order, result] if order in get_args(Order):
            made = from_json(result)
            return Kth(_ranges(ranges), from_json(body), from_json(nth), order, made)
        case _, [ranges, body] if head in get_args(FoldKind):
            return Fold(_ranges(ranges), from_json(body), kind)
        case _, [ranges, body, result] if head in get_args(ArgKind):
            return Arg(_ranges(ranges), from_json(body), kind, from_json(result))
    if (head in ("add", "mul") and len(rest) > 1) or ARGUMENTS.get(head) == len(rest):
        return Op(kind, tuple(map(from_json, rest)))
    raise ValueError(f"{data!r:.80} is no expression")


def _ranges(data: Any) -> Ranges:
    return tuple((str(name), int(size)) for name, size in data)
