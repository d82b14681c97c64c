"""Words along the axes: labels given to inputs, carried to everything computed from them.

An output axis that indexes an operand's axis plainly (`["at", 0, ["i0", …]]`) *is* that axis, so
the rules themselves tell where labels go; merged and split axes follow by their sizes.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cutaway.errors import TraceError
from cutaway.glass.expr import Expr, children
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
        four = len(value.shape) == 4 and value.shape[1] > 1
        if four and "attention" in value.path and value.axes[1] is None:
            value.axes[1] = "head"  # between sentences and positions
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
    inputs = [trace.values[arg] for arg in args]
    _collect(rule.expr, inputs, axes)
    return [name if name is None or not name.endswith("*") else None for name in axes]


def _collect(expr: Expr, inputs: list[Value], axes: Axes) -> None:
    if not isinstance(expr, tuple):
        return
    if expr[0] == "at":
        source = inputs[expr[1]]
        names = source.axes or [None] * len(source.shape)
        for part, name in zip(expr[2], names, strict=True):
            _give(part, name, axes)
    for part in children(expr):
        _collect(part, inputs, axes)


def _output_axis(part: Expr) -> int | None:
    plain = isinstance(part, str) and part.startswith("i") and part[1:].isdigit()
    return int(part[1:]) if plain else None


def _give(part: Expr, name: str | None, axes: Axes) -> None:
    """An operand's axis called `name` is indexed by `part`: which output axes are that axis?"""
    place = _output_axis(part)
    if place is not None:
        axes[place] = axes[place] or name
        return
    if not isinstance(part, tuple):
        return
    if part[0] == "add" and name is not None and "*" in name:  # split: i·n + j on i*j
        outer, _, inner = name.rpartition("*")
        for piece in part[1:]:
            if isinstance(piece, tuple) and piece[0] == "mul":
                _give(piece[1], None if outer == "?" else outer, axes)
            else:
                _give(piece, None if inner == "?" else inner, axes)
    elif part[0] in ("idiv", "mod"):  # merged: i // n and i % n
        place = _output_axis(part[1])
        if place is None:
            return
        held = axes[place]
        if part[0] == "idiv" and held is None:
            axes[place] = f"{name or '?'}*"
        elif part[0] == "mod" and held is not None and held.endswith("*"):
            axes[place] = f"{held}{name or '?'}"
