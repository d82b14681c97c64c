"""Cells taken from elsewhere: the place is itself looked up."""

from collections.abc import Sequence

import numpy as np

from cutaway.glass.expr import Expr, add, choose, op
from cutaway.glass.rules.call import OPAQUE, Call, Operand, Rule, RuleMaker, cell, table
from cutaway.glass.rules.reduction import nonzero_place


def embedding(call: Call) -> Expr:
    """table[ids[…], d]."""
    rows, ids = call["weight"], call["indices"]
    where = call.out.index
    return rows.at(ids.at(*where[: ids.rank]), where[-1])  # type: ignore[no-any-return]


def gather(call: Call) -> Expr:
    """x at the place the index cell says."""
    source: Operand = call["self"]
    if source.rank == 0:
        return source.at()
    chosen = call["index"].at(*call.out.index)
    return source.at(*call.out.along(call["dim"] % source.rank, chosen))


def index_select(call: Call) -> Expr:
    """Rows chosen by a list."""
    source: Operand = call["self"]
    indices: Operand = call["index"]
    axis = call["dim"] % source.rank
    chosen = indices.at(*([call.out.index[axis]] if indices.rank else []))
    return source.at(*call.out.along(axis, chosen))


def wrapped(operand: Operand, place: Expr, size: int) -> Expr:
    """An index cell, counted from the end if the operand holds negative ones."""
    if operand.cells and int(operand.read().min()) < 0:
        return choose(op("lt", place, 0), add(place, size), place)
    return place


class Advanced:
    """NumPy-style indexing: which source axis each index tensor replaces, and where it lands."""

    def __init__(self, source: Operand, indices: Sequence[Operand | None]) -> None:
        self.source = source
        self.parts: list[tuple[int, Operand, int | None]] = []  # source axis, tensor, mask axis
        axis = 0
        for part in indices:
            if part is None:
                axis += 1
            elif part.dtype in ("bool", "uint8"):
                for own in range(part.rank):
                    self.parts.append((axis + own, part, own))
                axis += part.rank
            else:
                self.parts.append((axis, part, None))
                axis += 1
        self.taken = {axis for axis, _, _ in self.parts}
        # A mask stands for the list of its places.
        shapes = [
            part.shape if own is None else (int((part.read() != 0).sum()),)
            for _, part, own in self.parts
        ]
        self.shape = np.broadcast_shapes(*shapes)
        order = sorted(self.taken)
        adjacent = order == list(range(order[0], order[0] + len(order))) if order else True
        self.first = order[0] if order and adjacent else 0  # of the index axes in the result

    def place(self, axis: int, where: tuple[Expr, ...]) -> Expr:
        """The source index on a replaced axis, given the position in the index tensors."""
        for target, part, own in self.parts:
            if target == axis:
                if own is not None:
                    return nonzero_place(part, where[-1], own)
                return wrapped(part, cell(part, where), self.source.shape[axis])
        raise AssertionError(axis)

    def split(self, out: Sequence[Expr]) -> tuple[tuple[Expr, ...], list[Expr]]:
        """The result's index as (position in the index tensors, indices of the kept axes)."""
        rank = len(self.shape)
        inner = tuple(out[self.first : self.first + rank])
        kept = [*out[: self.first], *out[self.first + rank :]]
        return inner, kept


def index(call: Call) -> Expr:
    """x[indices]."""
    source: Operand = call["self"]
    advanced = Advanced(source, call["indices"])
    inner, kept = advanced.split(call.out.index)
    where = [
        advanced.place(axis, inner) if axis in advanced.taken else kept.pop(0)
        for axis in range(source.rank)
    ]
    return source.at(*where)


def masked_select(call: Call) -> Rule:
    """The cells whose mask is set, in reading order."""
    source: Operand = call["self"]
    mask: Operand = call["mask"]
    if source.shape != mask.shape:
        return OPAQUE
    where = [nonzero_place(mask, "i0", axis) for axis in range(mask.rank)]
    return Rule("lookup", "lookup", source.at(*where))


TABLE: dict[str, RuleMaker] = {
    **table(
        "lookup",
        "lookup",
        {"embedding": embedding, "gather": gather, "index_select": index_select, "index": index},
    ),
    "masked_select": masked_select,
}
