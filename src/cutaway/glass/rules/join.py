"""Cells moved as they are: tensors laid side by side, padded, turned and repeated."""

from cutaway.glass.expr import At, Expr, choose, flat, number, op, sub
from cutaway.glass.rules.call import Call, Operand, RuleMaker, table
from cutaway.glass.views import row_major


def cat(call: Call) -> Expr:
    """The operands one after another along an axis."""
    tensors = [part for part in call["tensors"] if part.shape != (0,)] or call["tensors"]
    axis = call["dim"] % max(tensors[0].rank, 1)
    start = 0
    pieces: list[tuple[int, Expr]] = []
    for part in tensors:
        place = call.out.along(axis, sub(f"i{axis}", start))
        start += part.shape[axis]
        if part.shape[axis]:
            pieces.append((start, part.at(*place)))
    expr = pieces[-1][1] if pieces else 0
    for end, piece in reversed(pieces[:-1]):
        expr = choose(op("lt", f"i{axis}", end), piece, expr)
    return expr


def stack(call: Call) -> Expr:
    """The operands side by side on a new axis."""
    *tensors, last = call["tensors"]
    axis = call["dim"] % (last.rank + 1)
    where = call.out.without(axis)
    expr: Expr = last.at(*where)
    for place, tensor in reversed(list(enumerate(tensors))):
        expr = choose(op("eq", f"i{axis}", place), tensor.at(*where), expr)
    return expr


def pad(call: Call) -> Expr:
    """x surrounded by a constant."""
    source: Operand = call["self"]
    before = call["pad"][::2]  # of the last axis first
    where: list[Expr] = list(call.out.index)
    for place, width in enumerate(before):
        axis = source.rank - 1 - place
        where[axis] = sub(f"i{axis}", width)
    return At(source.position, tuple(where), number(call.get("value", 0)))


def flip(call: Call) -> Expr:
    """x read backwards."""
    source: Operand = call["self"]
    where: list[Expr] = list(call.out.index)
    for axis in (dim % source.rank for dim in call["dims"]):
        where[axis] = sub(source.shape[axis] - 1, f"i{axis}")
    return source.at(*where)


def roll(call: Call) -> Expr:
    """x shifted round an axis, or in reading order."""
    source: Operand = call["self"]
    shifts, dims = call["shifts"], call.get("dims", [])
    where: list[Expr] = list(call.out.index)
    if not dims:
        turned = op("mod", sub(flat(where, source.shape), shifts[0]), source.cells)
        steps = zip(row_major(source.shape), source.shape, strict=True)
        return source.at(*(op("mod", op("idiv", turned, step), size) for step, size in steps))
    for shift, dim in zip(shifts, dims, strict=True):
        axis = dim % source.rank
        where[axis] = op("mod", sub(where[axis], shift), source.shape[axis])
    return source.at(*where)


def repeat(call: Call) -> Expr:
    """x over and over along its axes."""
    source: Operand = call["self"]
    own = call.out.index[len(call.out.shape) - source.rank :]
    return source.at(*(op("mod", part, size) for part, size in zip(own, source.shape, strict=True)))


TABLE: dict[str, RuleMaker] = {
    **table("join", "join", {"cat": cat, "stack": stack}),
    **table("pad", "join", {"constant_pad_nd": pad}),
    **table("copy", "view", {"flip": flip, "roll": roll, "repeat": repeat}),
}
