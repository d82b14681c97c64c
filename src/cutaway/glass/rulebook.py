"""From a recorded value to its rule and operands."""

from functools import partial
from typing import TYPE_CHECKING, Any

from cutaway.glass.expr import (
    Expr,
    add,
    all_of,
    at,
    choose,
    index,
    mul,
    op,
    operands,
    renumber,
    sub,
)
from cutaway.glass.rules import OPAQUE, Call, Operand, Output, Rule, rules_for
from cutaway.glass.values import OpCall, Ref, Value
from cutaway.glass.views import Layout, remap, solvable

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

Found = tuple[Rule, tuple[int, ...]]


def rule_of(trace: "Trace", value: Value) -> Found:
    """The rule of a value, and the ids of the values it reads."""
    if value.origin == "source":
        kind = value.source or "input"
        return Rule(kind, "source", None, kind), ()
    if value.why or any(trace.values[place].why for place in value.args):
        return OPAQUE, value.args
    if value.origin == "view":
        parent = trace.values[value.args[0]]
        where = remap(value.layout, parent.layout)
        if where is None:
            return _behind(trace, value, parent)
        return Rule("view", "view", at(0, *where)), (parent.id,)
    if value.origin == "overwrite":
        return _overwrite(trace, value)
    if value.call is None:
        return OPAQUE, value.args
    made = trace.calls.get(id(value.call))
    if made is None:
        made = trace.calls[id(value.call)] = _call_rules(trace, value.call)
    return made[value.output] if value.output < len(made) else (OPAQUE, ())


def _behind(trace: "Trace", value: Value, parent: Value) -> Found:
    """A view of overlapping windows: go by the whole behind them."""
    while parent.origin == "view":
        parent = trace.values[parent.args[0]]
        where = remap(value.layout, parent.layout)
        if where is not None:
            return Rule("view", "view", at(0, *where)), (parent.id,)
    return OPAQUE, (parent.id,)


def _call_rules(trace: "Trace", call: OpCall) -> list[Found]:
    ids: list[int] = []

    def operand(argument: Any) -> Any:
        if isinstance(argument, Ref):
            value = trace.values[argument.value]
            ids.append(value.id)
            return Operand(len(ids) - 1, value.shape, value.dtype, partial(_read, value))
        if isinstance(argument, list):
            return [operand(part) for part in argument]
        return argument

    bound = {name: operand(argument) for name, argument in call.arguments.items()}
    outputs = []
    for place in call.outputs:
        if place is None:
            outputs.append(Output((), "float64"))
        else:
            outputs.append(Output(trace.values[place].shape, trace.values[place].dtype))
    if any(trace.values[place].why for place in (*ids, *call.outputs) if place is not None):
        return [(OPAQUE, tuple(ids))] * len(outputs)
    try:
        rules = rules_for(Call(call.op, bound, outputs))
    except LookupError:  # an operand the rule must read was not kept
        rules = [OPAQUE] * len(outputs)
    found: list[Found] = []
    for rule in rules:
        if rule.expr is None:
            used = () if rule.kind == "source" else tuple(ids)
            found.append((rule, used))
            continue
        read = operands(rule.expr)
        mapping = {number: place for place, number in enumerate(read)}
        args = tuple(ids[number] if number >= 0 else _own(call, -1 - number) for number in read)
        expr = renumber(rule.expr, mapping)
        found.append((Rule(rule.name, rule.kind, expr, rule.source), args))
    return found


def _own(call: OpCall, place: int) -> int:
    """Another result of the same call."""
    value = call.outputs[place]
    assert value is not None
    return value


def _read(value: Value) -> Any:
    return value.array()


def _overwrite(trace: "Trace", value: Value) -> Found:
    """A whole of which a part was written: the part where it lies, else what was there before."""
    before, written = (trace.values[place] for place in value.args)
    if not written.cells:
        where = remap(value.layout, before.layout)
        return Rule("view", "view", at(0, *(where or index(len(value.shape))))), (before.id,)
    aligned = _aligned(written.layout, value.layout)
    if aligned is None:
        return _scattered(value, before, written)
    tests: list[Expr] = []
    inner: dict[int, Expr] = {}
    for axis, (start, step, size, own) in enumerate(aligned):
        here = f"i{axis}"
        shifted = sub(here, start)
        if size == value.shape[axis]:
            if own is not None:
                inner[own] = here
            continue
        place = shifted if step == 1 else op("idiv", shifted, step)
        if size == 1:
            inside: Expr = op("eq", here, start)
        else:
            inside = op("and", op("ge", shifted, 0), op("lt", place, size))
            if step > 1:
                inside = op("and", inside, op("eq", op("mod", shifted, step), 0))
        if own is not None:
            inner[own] = place
        tests.append(inside)
    new = [inner.get(axis, 0) for axis in range(len(written.shape))]
    if not tests:
        return Rule("overwrite", "join", at(0, *new)), (written.id,)
    old = remap(value.layout, before.layout) or index(len(value.shape))
    expr = choose(all_of(*tests), at(1, *new), at(0, *old))
    return Rule("overwrite", "join", expr), (before.id, written.id)


def _scattered(value: Value, before: Value, written: Value) -> Found:
    """The part lies across the whole's axes: by position in memory."""
    part = written.layout
    if not solvable(part):
        return OPAQUE, value.args
    rest: Expr = add(
        *(mul(f"i{axis}", stride) for axis, stride in enumerate(value.layout.strides)),
        value.layout.offset - part.offset,
    )
    inner: list[Expr] = [0] * len(part.shape)
    tests: list[Expr] = [op("ge", rest, 0)]
    for axis in sorted(range(len(part.shape)), key=lambda axis: -part.strides[axis]):
        if part.shape[axis] == 1 or part.strides[axis] == 0:
            continue
        inner[axis] = op("idiv", rest, part.strides[axis])
        rest = op("mod", rest, part.strides[axis])
        tests.append(op("lt", inner[axis], part.shape[axis]))
    old = remap(value.layout, before.layout) or index(len(value.shape))
    expr = choose(all_of(*tests, op("eq", rest, 0)), at(1, *inner), at(0, *old))
    return Rule("overwrite", "join", expr), (before.id, written.id)


def _aligned(part: Layout, whole: Layout) -> list[tuple[int, int, int, int | None]] | None:
    """The part as a slice of each axis of the whole: start, step, size, and the part's axis."""
    rest = part.offset - whole.offset
    free = [axis for axis, size in enumerate(part.shape) if size > 1]
    found: list[tuple[int, int, int, int | None]] = [(0, 1, 1, None)] * len(whole.shape)
    order = sorted(range(len(whole.shape)), key=lambda axis: -whole.strides[axis])
    for axis in order:
        stride, size = whole.strides[axis], whole.shape[axis]
        if size == 1 or stride == 0:
            continue
        start, rest = divmod(rest, stride)
        own = next(
            (
                candidate
                for candidate in free
                if part.strides[candidate] % stride == 0
                and start + (part.shape[candidate] - 1) * (part.strides[candidate] // stride) < size
            ),
            None,
        )
        if own is None:
            found[axis] = (start, 1, 1, None)
            continue
        free.remove(own)
        found[axis] = (start, part.strides[own] // stride, part.shape[own], own)
    return found if rest == 0 and not free else None
