"""Writes to chosen places: each cell finds the writes that target it; gradients of lookups."""

from cutaway.glass.expr import (
    Arg,
    At,
    Expr,
    Let,
    Place,
    Ranges,
    add,
    all_of,
    choose,
    flat,
    fold,
    mul,
    number,
    op,
    sub,
)
from cutaway.glass.rules.call import Call, Operand, RuleMaker, cell, table, value
from cutaway.glass.rules.lookup import Advanced, wrapped


def _before(call: Call) -> Expr:
    """What stood here."""
    return cell(call["self"], call.out.index)


def _added(ranges: Ranges, match: Expr, brings: Expr) -> Expr:
    """Σ of the writes that target this cell."""
    return fold("sum", ranges, choose(match, brings, 0))


def _replaced(ranges: Ranges, match: Expr, brings: Expr, order: Expr, before: Expr) -> Expr:
    """The last write that targets this cell, in the order given; without one, what stood here."""
    if not ranges:
        return choose(match, brings, before)
    last = Arg(ranges, choose(match, order, -1), "argmax", brings)
    return choose(fold("max", ranges, match), last, before)


def embedding_backward(call: Call) -> Expr:
    """Σ of the gradient rows whose id is this row; none for the padding id."""
    g, ids = call["grad_output"], call["indices"]
    ranges = tuple((f"t{axis}", size) for axis, size in enumerate(ids.shape))
    place = [name for name, _ in ranges]
    expr = _added(ranges, op("eq", ids.at(*place), "i0"), g.at(*place, "i1"))
    padding = call.get("padding_idx", -1)
    return choose(op("eq", "i0", padding), 0, expr) if padding >= 0 else expr


def index_put(call: Call) -> Expr:
    """x with cells replaced by, or increased by, the given ones."""
    source, values, indices = call["self"], call["values"], call["indices"]
    where = call.out.index
    before = _before(call)
    masks = [part for part in indices if part is not None and part.dtype == "bool"]
    if len(masks) == 1 and values.cells == 1 and not call.get("accumulate"):
        lead = next(axis for axis, part in enumerate(indices) if part is not None)
        return choose(masks[0].at(*where[lead : lead + masks[0].rank]), values.first, before)
    advanced = Advanced(source, indices)
    ranges = tuple((f"p{axis}", size) for axis, size in enumerate(advanced.shape))
    if not all(size for _, size in ranges):
        return before
    place = tuple(name for name, _ in ranges)
    match = all_of(
        *(op("eq", advanced.place(axis, place), f"i{axis}") for axis in sorted(advanced.taken))
    )
    kept = [f"i{axis}" for axis in range(source.rank) if axis not in advanced.taken]
    given = cell(values, [*kept[: advanced.first], *place, *kept[advanced.first :]])
    if call.get("accumulate"):
        return add(before, _added(ranges, match, given))
    return _replaced(ranges, match, given, flat(place, advanced.shape), before)


def _aimed(call: Call, given: object) -> tuple[Ranges, Expr, Expr]:
    """Ranges, the condition that a place of the index tensor aims here, and what it brings."""
    source, indices = call["self"], call["index"]
    if source.rank == 0:
        return (), 1, value(given, ())
    axis = call["dim"] % source.rank
    where = tuple(call.out.along(axis, "t"))
    match = op("eq", At(indices.position, where, -1), f"i{axis}")
    brings = At(given.position, where, 0) if isinstance(given, Operand) else value(given, ())
    return (("t", indices.shape[axis]),), match, brings


def scatter(call: Call) -> Expr:
    """x with the cells the index aims at replaced."""
    given = call["src"] if "src" in call.arguments else call["value"]
    ranges, match, brings = _aimed(call, given)
    if call.get("reduce") in ("add", "sum"):
        return add(_before(call), _added(ranges, match, brings))
    return _replaced(ranges, match, brings, "t", _before(call)) if ranges else brings


def scatter_add(call: Call) -> Expr:
    """x plus all cells aimed here."""
    return add(_before(call), _added(*_aimed(call, call["src"])))


def index_add(call: Call) -> Expr:
    """x plus α times the rows aimed here."""
    indices, given = call["index"], call["source"]
    axis = call["dim"] % call["self"].rank
    match = op("eq", indices.at(*(["t"] if indices.rank else [])), f"i{axis}")
    brings = mul(number(call["alpha"]), given.at(*call.out.along(axis, "t")))
    return add(_before(call), _added((("t", given.shape[axis]),), match, brings))


def index_fill(call: Call) -> Expr:
    """x with whole rows, chosen by a list, set to one number."""
    source, indices = call["self"], call["index"]
    axis = call["dim"] % max(source.rank, 1)
    ranges = [("t", size) for size in indices.shape]
    place = wrapped(indices, indices.at(*(name for name, _ in ranges)), source.shape[axis])
    hit = fold("max", ranges, op("eq", place, f"i{axis}")) if indices.cells else 0
    return choose(hit, value(call["value"], ()), _before(call))


def masked_scatter(call: Call) -> Expr:
    """Where the mask is set, the source's cells in reading order; elsewhere x."""
    mask, given = call["mask"], call["source"]
    where, shape = call.out.index, call.out.shape
    ranges = [(f"q{axis}", size) for axis, size in enumerate(shape)]
    there = tuple(name for name, _ in ranges)
    earlier = op("lt", flat(there, shape), flat(where, shape))
    count = fold("sum", ranges, choose(op("and", earlier, cell(mask, there)), 1, 0))
    place: list[Expr] = []
    below = given.cells
    for size in given.shape:
        below //= max(size, 1)
        place.append(op("mod", op("idiv", "n", below), size) if given.rank > 1 else "n")
    return choose(cell(mask, where), Let("n", count, given.at(*place)), _before(call))


def select_backward(call: Call) -> Expr:
    """The gradient in one slice, 0 elsewhere."""
    axis = call["dim"] % len(call.out.shape)
    here = op("eq", f"i{axis}", call["index"] % call.out.shape[axis])
    return choose(here, call["grad_output"].at(*call.out.without(axis)), 0)


def _on_slice(call: Call, part: Operand, outside: Expr) -> Expr:
    """A cell of the part that a slice of an axis holds; elsewhere what lies outside."""
    axis = call["dim"] % len(call.out.shape)
    size, step = call.out.shape[axis], call["step"]
    start = call.get("start", 0)
    start = min(max(start + size if start < 0 else start, 0), size)
    shifted = sub(f"i{axis}", start)
    own = shifted if step == 1 else op("idiv", shifted, step)
    test = op("and", op("ge", shifted, 0), op("lt", own, part.shape[axis]))
    if step > 1:
        test = op("and", op("eq", op("mod", shifted, step), 0), test)
    return choose(test, part.at(*call.out.along(axis, own)), outside)


def slice_backward(call: Call) -> Expr:
    """The gradient on the slice, 0 elsewhere."""
    return _on_slice(call, call["grad_output"], 0)


def slice_scatter(call: Call) -> Expr:
    """x with a slice replaced."""
    return _on_slice(call, call["src"], _before(call))


def unfold_backward(call: Call) -> Expr:
    """Σ of the gradients of all windows that held this cell."""
    g: Operand = call["grad_in"]
    axis = call["dim"] % len(call.out.shape)
    inside = sub(f"i{axis}", mul("w", call["step"]))
    where: Place = (*call.out.along(axis, "w"), inside)
    return fold("sum", [("w", g.shape[axis])], At(g.position, tuple(where), 0))


TABLE: dict[str, RuleMaker] = table(
    "scatter",
    "scatter",
    {
        "masked_scatter": masked_scatter,
        "embedding_dense_backward": embedding_backward,
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
    },
)
