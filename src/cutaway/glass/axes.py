"""Words along the axes: labels given to inputs, carried to everything computed from them.

A module class may declare names for axes that carry no words: `recorded_axes` lists them for
values of each rank, as in `recorded_axes = ((None, "head", None, None),)`.

An output axis that indexes an operand's axis plainly (`["at", 0, ["i0", …]]`) *is* that axis, so
labels are passed on along the rules; merged and split axes follow by their sizes.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cutaway.errors import TraceError
from cutaway.glass.expr import At, Expr, Op, walk
from cutaway.glass.values import Value

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

Axes = list[str | None]


def label(
    trace: "Trace", words: Mapping[str, Sequence[str]], patterns: Mapping[str, Sequence[str | None]]
) -> None:
    """Put words on the inputs they belong to and let them flow."""
    for name, listed in words.items():
        trace.labels[name] = [str(word) for word in listed]
        _start(trace, name, len(listed))
    for value in trace.values:
        value.axes = _axes(trace, value)
        for declared in trace.declared.get(value.path, ()):
            if len(declared) == len(value.shape):
                named = zip(value.axes, declared, value.shape, strict=True)
                value.axes = [old or (new if size > 1 else None) for old, new, size in named]
        for pattern, axes in patterns.items():
            if len(axes) == len(value.shape) and fnmatch.fnmatchcase(value.address, pattern):
                value.axes = [new or old for new, old in zip(axes, value.axes, strict=True)]
    for value in trace.values:
        value.axes = [
            None if name is not None and "?" in name else name for name in value.axes or []
        ]


def _start(trace: "Trace", name: str, count: int) -> None:
    """The input called `name`: words run along its last axis, sentences along the first."""
    if name not in trace._addresses:
        return  # an axis the caller names by pattern
    value = trace.value(name)
    if not value.shape or value.shape[-1] != count:
        raise TraceError(
            f"{count} labels for {name}, whose last axis has {list(value.shape)[-1:]} positions"
        )
    value.axes = [None] * len(value.shape)
    value.axes[-1] = name
    if len(value.shape) > 1:
        value.axes[0] = "batch"


def _axes(trace: "Trace", value: Value) -> Axes:
    """The axis names a value inherits from its operands."""
    axes: Axes = list(value.axes) if value.axes else [None] * len(value.shape)
    if (
        value.of is not None
        and trace.values[value.of].axes
        and (trace.values[value.of].shape == value.shape)
    ):
        source = trace.values[value.of].axes or []
        return [old or new for old, new in zip(axes, source, strict=True)]
    rule, args = trace.rule(value)
    if rule.expr is None:
        if value.before is not None and trace.values[value.before].shape == value.shape:
            return list(trace.values[value.before].axes or axes)
        return axes
    for part in walk(rule.expr):
        if isinstance(part, At):
            read = trace.values[args[part.operand]]
            for place, name in zip(part.where, read.axes or [None] * len(read.shape), strict=True):
                _give(place, name, axes)
    return [name if name is None or not name.endswith("*") else None for name in axes]


def _output_axis(part: Expr) -> int | None:
    if isinstance(part, str) and part.startswith("i") and part[1:].isdigit():
        return int(part[1:])
    return None


def _give(part: Expr, name: str | None, axes: Axes) -> None:
    """An operand's axis called `name` is indexed by `part`: which output axes are that axis?"""
    place = _output_axis(part)
    if place is not None:
        axes[place] = axes[place] or name
        return
    match part:
        case Op("add", pieces) if name is not None and "*" in name:  # split: i·n + j on i*j
            outer, _, inner = name.rpartition("*")
            for piece in pieces:
                match piece:
                    case Op("mul", (variable, *_)):
                        _give(variable, None if outer == "?" else outer, axes)
                    case _:
                        _give(piece, None if inner == "?" else inner, axes)
        case Op("idiv" | "mod" as head, (inside, _)):  # merged: i // n and i % n
            place = _output_axis(inside)
            held = axes[place] if place is not None else None
            if place is not None and head == "idiv" and held is None:
                axes[place] = f"{name or '?'}*"
            elif place is not None and head == "mod" and held is not None and held.endswith("*"):
                axes[place] = f"{held}{name or '?'}"
