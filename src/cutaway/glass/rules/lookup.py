"""Cells taken from elsewhere, put elsewhere, or laid side by side."""

from collections.abc import Sequence

from cutaway.glass.expr import Expr, add, at, at_or, mul, number, reduce, sub
from cutaway.glass.rules.call import Call, Operand, Rule, RuleMaker, cell, value
from cutaway.glass.rules.reduction import nonzero_place


def embedding(call: Call) -> Rule:
    """table[ids[…], d]."""
    table, ids = call["weight"], call["indices"]
    where = call.out.index
    row = at(ids.position, *where[: ids.rank])
    return Rule("lookup", "lookup", at(table.position, row, where[-1]))


def embedding_backward(call: Call) -> Rule:
    """Σ of the gradient rows whose id is this row; none for the padding id."""
    g, ids = call["grad_output"], call["indices"]
    ranges = [(f"t{axis}", size) for axis, size in enumerate(ids.shape)]
    place = tuple(name for name, _ in ranges)
    same: Expr = ("eq", at(ids.position, *place), "i0")
    expr = reduce("sum", ranges, ("where", same, at(g.position, *place, "i1"), 0))
    padding = call.get("padding_idx", -1)
    if padding >= 0:
        expr = ("where", ("eq", "i0", padding), 0, expr)
    return Rule("scatter", "scatter", expr)


def _wrapped(operand: Operand, place: Expr, size: int) -> Expr:
    """An index cell, counted from the end if the operand holds negative ones."""
    if operand.cells and int(operand.read().min()) < 0:
        return ("where", ("lt", place, 0), add(place, size), place)
    return place


def gather(call: Call) -> Rule:
    """x at the place the index cell says."""
    source, indices = call["self"], call["index"]
    where: list[Expr] = list(call.out.index)
    chosen = at(indices.position, *where)
    if source.rank:
        where[call["dim"] % source.rank] = chosen
    return Rule("lookup", "lookup", at(source.position, *where[: source.rank]))


def index_select(call: Call) -> Rule:
    """Rows chosen by a list."""
    source, indices = call["self"], call["index"]
    where: list[Expr] = list(call.out.index)
    axis = call["dim"] % source.rank
    where[axis] = at(indices.position, *([where[axis]] if indices.rank else []))
    return Rule("lookup", "lookup", at(source.position, *where))


class _Advanced:
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
        shapes: list[tuple[int, ...]] = []
        for _, part, mask_axis in self.parts:
            if mask_axis is None:
                shapes.append(part.shape)
            else:
                shapes.append((int((part.read() != 0).sum()),))
        rank = max((len(shape) for shape in shapes), default=0)
        self.shape = tuple(
            max(
                (shape[place - rank + len(shape)] if place >= rank - len(shape) else 1)
                for shape in shapes
            )
            for place in range(rank)
        )
        if any(0 in shape for shape in shapes):
            self.shape = tuple(
                0
                if any(place >= rank - len(s) and s[place - rank + len(s)] == 0 for s in shapes)
                else size
                for place, size in enumerate(self.shape)
            )
        order = sorted(self.taken)
        adjacent = order == list(range(order[0], order[0] + len(order))) if order else True
        self.first = (
            order[0] if order and adjacent else 0
        )  # where the index axes stand in the result

    def place(self, axis: int, where: tuple[Expr, ...]) -> Expr:
        """The source index on a replaced axis, given the position in the index tensors."""
        for target, part, own in self.parts:
            if target == axis:
                if own is not None:
                    return nonzero_place(part, where[-1], own)
                return _wrapped(part, cell(part, where), self.source.shape[axis])
        raise AssertionError(axis)

    def split(self, out: Sequence[Expr]) -> tuple[tuple[Expr, ...], list[Expr]]:
        """The result's index as (position in the index tensors, indices of the kept axes)."""
        rank = len(self.shape)
        inner = tuple(out[self.first : self.first + rank])
        kept = [*out[: self.first], *out[self.first + rank :]]
        return inner, kept


def index(call: Call) -> Rule:
    """x[indices]."""
    source: Operand = call["self"]
    advanced = _Advanced(source, call["indices"])
    inner, kept = advanced.split(call.out.index)
    where = [
        advanced.place(axis, inner) if axis in advanced.taken else kept.pop(0)
        for axis in range(source.rank)
    ]
    return Rule("lookup", "lookup", at(source.position, *where))


def index_put(call: Call) -> Rule:
    """x with cells replaced by, or increased by, the given ones."""
    source, values = call["self"], call["values"]
    indices = call["indices"]
    where = call.out.index
    before = cell(source, where)
    masks = [part for part in indices if part is not None and part.dtype == "bool"]
    if len(masks) == 1 and values.cells == 1 and not call.get("accumulate"):
        lead = next(axis for axis, part in enumerate(indices) if part is not None)
        mask = at(masks[0].position, *where[lead : lead + masks[0].rank])
        fill = at(values.position, *([0] * values.rank))
        return Rule("scatter", "scatter", ("where", mask, fill, before))
    advanced = _Advanced(source, indices)
    ranges = [(f"p{axis}", size) for axis, size in enumerate(advanced.shape)]
    place = tuple(name for name, _ in ranges)
    match: Expr = 1
    for axis in sorted(advanced.taken):
        hit = ("eq", advanced.place(axis, place), f"i{axis}")
        match = hit if match == 1 else ("and", match, hit)
    kept = [f"i{axis}" for axis in range(source.rank) if axis not in advanced.taken]
    full = [*kept[: advanced.first], *place, *kept[advanced.first :]]
    given = cell(values, full)
    if not all(size for _, size in ranges):
        return Rule("scatter", "scatter", before)
    if call.get("accumulate"):
        return Rule(
            "scatter", "scatter", add(before, reduce("sum", ranges, ("where", match, given, 0)))
        )
    order: Expr = 0
    for name, size in ranges:
        order = add(mul(order, size) if order != 0 else 0, name)
    hits = reduce("max", ranges, match)
    if not ranges:
        return Rule("scatter", "scatter", ("where", match, given, before))
    last = ("argmax", tuple(ranges), ("where", match, order, -1), given)
    return Rule("scatter", "scatter", ("where", hits, last, before))


def _scattered(call: Call, given: object) -> tuple[list[tuple[str, int]], Expr, Expr]:
    """Ranges, the condition that a place of the index tensor aims here, and what it brings."""
    source, indices = call["self"], call["index"]
    if source.rank == 0:
        return [], 1, value(given, ())
    axis = call["dim"] % source.rank
    where: list[Expr] = list(call.out.index)
    where[axis] = "t"
    match: Expr = ("eq", at_or(indices.position, tuple(where), -1), f"i{axis}")
    brings = (
        at_or(given.position, tuple(where), 0) if isinstance(given, Operand) else value(given, ())
    )
    return [("t", indices.shape[axis])], match, brings


def scatter(call: Call) -> Rule:
    """x with the cells the index aims at replaced."""
    given = call["src"] if "src" in call.arguments else call["value"]
    ranges, match, brings = _scattered(call, given)
    before = cell(call["self"], call.out.index)
    kind = call.get("reduce")
    if kind in ("add", "sum"):
        return Rule(
            "scatter", "scatter", add(before, reduce("sum", ranges, ("where", match, brings, 0)))
        )
    if not ranges:
        return Rule("scatter", "scatter", brings)
    last = ("argmax", tuple(ranges), ("where", match, "t", -1), brings)
    hits = reduce("max", ranges, match)
    return Rule("scatter", "scatter", ("where", hits, last, before))


def scatter_add(call: Call) -> Rule:
    """x plus all cells aimed here."""
    ranges, match, brings = _scattered(call, call["src"])
    before = cell(call["self"], call.out.index)
    return Rule(
        "scatter", "scatter", add(before, reduce("sum", ranges, ("where", match, brings, 0)))
    )


def index_add(call: Call) -> Rule:
    """x plus α times the rows aimed here."""
    source, indices, given = call["self"], call["index"], call["source"]
    axis = call["dim"] % source.rank
    where: list[Expr] = list(call.out.index)
    where[axis] = "t"
    match = ("eq", at(indices.position, *(["t"] if indices.rank else [])), f"i{axis}")
    term = ("where", match, mul(number(call.get("alpha", 1)), at(given.position, *where)), 0)
    total = reduce("sum", [("t", given.shape[axis])], term)
    return Rule("scatter", "scatter", add(cell(source, call.out.index), total))


def index_fill(call: Call) -> Rule:
    """x with whole rows, chosen by a list, set to one number."""
    source, indices = call["self"], call["index"]
    axis = call["dim"] % max(source.rank, 1)
    ranges = [("t", size) for size in indices.shape]
    place = _wrapped(
        indices, at(indices.position, *(name for name, _ in ranges)), source.shape[axis]
    )
    hit = reduce("max", ranges, ("eq", place, f"i{axis}")) if indices.cells else 0
    fill = value(call["value"], ())
    return Rule("scatter", "scatter", ("where", hit, fill, cell(source, call.out.index)))


def select_backward(call: Call) -> Rule:
    """The gradient in one slice, 0 elsewhere."""
    g = call["grad_output"]
    axis = call["dim"] % len(call.out.shape)
    place = call["index"] % call.out.shape[axis]
    where = [part for number, part in enumerate(call.out.index) if number != axis]
    return Rule(
        "scatter", "scatter", ("where", ("eq", f"i{axis}", place), at(g.position, *where), 0)
    )


def _inside(axis: int, start: int, step: int, size: int) -> tuple[Expr, Expr]:
    """Whether a place lies on the slice, and its number there."""
    shifted = sub(f"i{axis}", start)
    if step == 1:
        own = shifted
        test: Expr = ("and", ("ge", shifted, 0), ("lt", shifted, size))
    else:
        own = ("idiv", shifted, step)
        test = (
            "and",
            ("eq", ("mod", shifted, step), 0),
            ("and", ("ge", shifted, 0), ("lt", own, size)),
        )
    return test, own


def _slice_start(start: int | None, size: int) -> int:
    if start is None:
        return 0
    return min(max(start + size if start < 0 else start, 0), size)


def slice_backward(call: Call) -> Rule:
    """The gradient on the slice, 0 elsewhere."""
    g = call["grad_output"]
    axis = call["dim"] % len(call.out.shape)
    start = _slice_start(call["start"], call.out.shape[axis])
    test, own = _inside(axis, start, call.get("step", 1), g.shape[axis])
    where: list[Expr] = list(call.out.index)
    where[axis] = own
    return Rule("scatter", "scatter", ("where", test, at(g.position, *where), 0))


def slice_scatter(call: Call) -> Rule:
    """x with a slice replaced."""
    source, given = call["self"], call["src"]
    axis = call.get("dim", 0) % source.rank
    start = _slice_start(call.get("start"), source.shape[axis])
    test, own = _inside(axis, start, call.get("step", 1), given.shape[axis])
    where: list[Expr] = list(call.out.index)
    where[axis] = own
    return Rule(
        "scatter",
        "scatter",
        ("where", test, at(given.position, *where), cell(source, call.out.index)),
    )


def unfold_backward(call: Call) -> Rule:
    """Σ of the gradients of all windows that held this cell."""
    g = call["grad_in"]
    axis = call["dim"] % len(call.out.shape)
    size, step = call["size"], call["step"]
    where: list[Expr] = list(call.out.index)
    where[axis] = "w"
    inside = sub(f"i{axis}", mul("w", step))
    term = at_or(g.position, (*where, inside), 0)
    test = ("and", ("ge", inside, 0), ("lt", inside, size))
    expr = reduce("sum", [("w", g.shape[axis])], ("where", test, term, 0))
    return Rule("scatter", "scatter", expr)


def cat(call: Call) -> Rule:
    """The operands one after another along an axis."""
    tensors = [part for part in call["tensors"] if part.shape != (0,)] or call["tensors"]
    axis = call.get("dim", 0) % max(tensors[0].rank, 1)
    where: list[Expr] = list(call.out.index)
    start = 0
    pieces: list[tuple[int, Expr]] = []
    for part in tensors:
        place = list(where)
        place[axis] = sub(f"i{axis}", start)
        start += part.shape[axis]
        if part.shape[axis]:
            pieces.append((start, at(part.position, *place)))
    expr: Expr = pieces[-1][1] if pieces else 0
    for end, piece in reversed(pieces[:-1]):
        expr = ("where", ("lt", f"i{axis}", end), piece, expr)
    return Rule("join", "join", expr)


def stack(call: Call) -> Rule:
    """The operands side by side on a new axis."""
    tensors = call["tensors"]
    axis = call.get("dim", 0) % (tensors[0].rank + 1)
    where = [part for number, part in enumerate(call.out.index) if number != axis]
    expr: Expr = at(tensors[-1].position, *where)
    for place in range(len(tensors) - 2, -1, -1):
        expr = ("where", ("eq", f"i{axis}", place), at(tensors[place].position, *where), expr)
    return Rule("join", "join", expr)


def pad(call: Call) -> Rule:
    """x surrounded by a constant."""
    source: Operand = call["self"]
    widths = call["pad"]
    where: list[Expr] = list(call.out.index)
    for place in range(len(widths) // 2):
        axis = source.rank - 1 - place
        where[axis] = sub(f"i{axis}", widths[2 * place])
    fill = number(call.get("value", 0))
    return Rule("pad", "join", at_or(source.position, tuple(where), fill))


def flip(call: Call) -> Rule:
    """x read backwards."""
    source: Operand = call["self"]
    where: list[Expr] = list(call.out.index)
    for axis in (dim % source.rank for dim in call["dims"]):
        where[axis] = sub(source.shape[axis] - 1, f"i{axis}")
    return Rule("copy", "view", at(source.position, *where))


def roll(call: Call) -> Rule:
    """x shifted round an axis."""
    source: Operand = call["self"]
    shifts, dims = call["shifts"], call.get("dims", [])
    where: list[Expr] = list(call.out.index)
    if dims:
        for shift, dim in zip(shifts, dims, strict=True):
            axis = dim % source.rank
            where[axis] = ("mod", sub(where[axis], shift), source.shape[axis])
        return Rule("copy", "view", at(source.position, *where))
    flat: Expr = 0
    for axis, size in enumerate(source.shape):
        flat = add(mul(flat, size) if flat != 0 else 0, f"i{axis}")
    flat = ("mod", sub(flat, shifts[0]), source.cells)
    indices: list[Expr] = []
    for axis in range(source.rank):
        below = 1
        for size in source.shape[axis + 1 :]:
            below *= size
        indices.append(("mod", ("idiv", flat, below), source.shape[axis]))
    return Rule("copy", "view", at(source.position, *indices))


def repeat(call: Call) -> Rule:
    """x over and over along its axes."""
    source: Operand = call["self"]
    own = call.out.index[len(call.out.shape) - source.rank :]
    where = [("mod", part, size) for part, size in zip(own, source.shape, strict=True)]
    return Rule("copy", "view", at(source.position, *where))


def masked_select(call: Call) -> Rule:
    """The cells whose mask is set, in reading order."""
    source, mask = call["self"], call["mask"]
    if source.shape != mask.shape:
        return Rule("opaque", "opaque")
    where = [nonzero_place(mask, "i0", axis) for axis in range(mask.rank)]
    return Rule("lookup", "lookup", at(source.position, *where))


def masked_scatter(call: Call) -> Rule:
    """Where the mask is set, the source's cells in reading order; elsewhere x."""
    source, mask, given = call["self"], call["mask"], call["source"]
    where = call.out.index
    ranges = [(f"q{axis}", size) for axis, size in enumerate(call.out.shape)]
    there = tuple(name for name, _ in ranges)
    earlier = ("lt", _flat(there, call.out.shape), _flat(where, call.out.shape))
    count = reduce("sum", ranges, ("where", ("and", earlier, cell(mask, there)), 1, 0))
    place: list[Expr] = []
    below = given.cells
    for size in given.shape:
        below //= max(size, 1)
        place.append(("mod", ("idiv", "n", below), size) if given.rank > 1 else "n")
    taken = ("let", "n", count, at(given.position, *place))
    return Rule("scatter", "scatter", ("where", cell(mask, where), taken, cell(source, where)))


def _flat(where: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The number of a cell in reading order."""
    flat: Expr = 0
    for part, size in zip(where, shape, strict=True):
        flat = add(mul(flat, size) if flat != 0 else 0, part)
    return flat


TABLE: dict[str, RuleMaker] = {
    "masked_scatter": masked_scatter,
    "embedding": embedding,
    "embedding_dense_backward": embedding_backward,
    "gather": gather,
    "index_select": index_select,
    "index": index,
    "index_put": index_put,
    "_index_put_impl": index_put,
    "scatter": scatter,
    "scatter_add": scatter_add,
    "index_add": index_add,
    "index_fill": index_fill,
    "select_backward": select_backward,
    "slice_backward": slice_backward,
    "slice_scatter": slice_scatter,
    "unfold_backward": unfold_backward,
    "cat": cat,
    "stack": stack,
    "constant_pad_nd": pad,
    "flip": flip,
    "roll": roll,
    "repeat": repeat,
    "masked_select": masked_select,
}
