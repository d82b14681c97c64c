"""One number, where it came from: arithmetic with real operands, formula, line and words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import TraceError
from cutaway.glass.address import Cell, spell
from cutaway.glass.evaluate import Evaluator, evaluate
from cutaway.glass.expr import Expr, children
from cutaway.glass.mathml import mathml
from cutaway.glass.names import Site, shown_path, source_of
from cutaway.glass.rules import Rule
from cutaway.glass.values import Value
from cutaway.glass.words import fill, words
from cutaway.glass.write import Token, Writer, show, substitute

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

Array = NDArray[Any]


@dataclass(frozen=True)
class Operand:
    """A number that went into another, and its address."""

    address: str
    value: float


@dataclass(frozen=True)
class Source:
    """The line that computed a value."""

    file: str
    function: str
    line: int
    statement: str
    first: int  # line number of the function's first line
    text: str  # the whole function


@dataclass
class Explanation:
    """Everything about one cell."""

    trace: "Trace" = field(repr=False)
    cell: Cell = field(repr=False)
    through: list[str]  # views between the address asked for and the value that was computed
    rule: Rule = field(repr=False)
    value: float
    recomputed: float | None
    tokens: list[list[Token]] = field(repr=False)  # lines: the cell first, then its named parts

    @property
    def address(self) -> str:
        """The address of the cell that was computed; `asked` if it was reached directly."""
        return self.cell.address

    @property
    def asked(self) -> str:
        """The address that was asked for."""
        return self.through[0] if self.through else self.address

    @property
    def difference(self) -> float | None:
        """Recomputed minus value; None for what has no arithmetic."""
        if self.recomputed is None:
            return None
        if self.recomputed == self.value or (
            self.recomputed != self.recomputed and self.value != self.value
        ):
            return 0.0
        return self.recomputed - self.value

    @property
    def text(self) -> str:
        """The arithmetic as a person would write it."""
        return "\n".join("".join(token.text for token in line) for line in self.tokens)

    @property
    def kind(self) -> str:
        """The rule's kind."""
        return self.rule.kind

    @property
    def module(self) -> str:
        """Path of the module whose code computed it."""
        return self.cell.value.path

    @cached_property
    def operands(self) -> "Operands":
        """Every number it was made of, in reading order, with addresses to go on from."""
        return Operands(self._operands())

    @property
    def formula(self) -> str:
        """The rule as MathML, with the names of the operands."""
        if self.rule.expr is None:
            return ""
        value = self.cell.value
        formula = mathml(self.rule.expr, len(value.shape), "{out}")
        names = [short_name(self.trace, self.trace.values[arg]) for arg in self._args]
        return fill(formula, escape(short_name(self.trace, value)), [escape(n) for n in names], 0)

    @property
    def words(self) -> dict[str, str]:
        """A sentence for a student, in English and Chinese."""
        names = [short_name(self.trace, self.trace.values[arg]) for arg in self._args]
        out = short_name(self.trace, self.cell.value)
        count = terms_of(self.rule.expr)
        return {
            language: fill(sentence, out, names, count)
            for language, sentence in words(self.rule.name).items()
        }

    @property
    def source(self) -> Source | None:
        """The line of code that computed it."""
        site = self.cell.value.site
        if site is None and self.through:
            site = self.trace.cell(self.through[0]).value.site
        return None if site is None else described(self.trace, site)

    @property
    def labels(self) -> list[str | None]:
        """The words along the axes at this cell, of the address asked for."""
        cell = self.trace.cell(self.asked)
        axes = cell.value.axes or [None] * len(cell.indices)
        found: list[str | None] = []
        for axis, place in zip(axes, cell.indices, strict=True):
            listed = self.trace.labels.get(axis or "", [])
            found.append(listed[place] if place < len(listed) else None)
        return found

    @property
    def _args(self) -> tuple[int, ...]:
        return self.trace.rule(self.cell.value)[1]

    def _operands(self) -> "Iterator[_Read]":
        inputs = [self.trace.values[arg] for arg in self._args]
        if self.rule.expr is None:
            for each in inputs:
                if each.cells == 1:
                    yield _Read(each, [np.zeros(1, np.int64)] * len(each.shape), each.array())
            return
        arrays = [each.array() for each in inputs]
        known = {f"i{axis}": place for axis, place in enumerate(self.cell.indices)}
        for number, places in reads(substitute(self.rule.expr, known), arrays):
            yield named_read(self.trace, inputs[number], arrays[number], places)

    def to_dict(self, *, limit: int = 200) -> dict[str, Any]:
        """Plain data, ready for JSON; at most `limit` operands."""
        source = self.source
        shown = []
        for line in self.tokens:
            parts: list[Any] = []
            for token in line:
                if token.operand is None:
                    parts.append(token.text)
                else:
                    value = self.trace.values[self._args[token.operand]]
                    cell = named_cell(self.trace, Cell(value, token.indices))
                    parts.append(
                        {
                            "text": token.text,
                            "value": plain(token.value or 0.0),
                            "address": cell.address,
                        }
                    )
            shown.append(parts)
        return {
            "asked": self.asked,
            "address": self.address,
            "through": self.through,
            "kind": self.kind,
            "rule": self.rule.name,
            "source_kind": self.rule.source,
            "value": plain(self.value),
            "recomputed": None if self.recomputed is None else plain(self.recomputed),
            "difference": None if self.difference is None else plain(self.difference),
            "text": self.text,
            "tokens": shown,
            "operands": [
                {"address": each.address, "value": plain(each.value)}
                for each in self.operands[:limit]
            ],
            "operand_count": len(self.operands),
            "formula": self.formula,
            "module": self.module,
            "phase": self.cell.value.phase,
            "op": self.cell.value.op,
            "words": self.words,
            "labels": self.labels,
            "source": None if source is None else vars(source).copy(),
        }

    def __str__(self) -> str:
        return self.text


def explain(trace: "Trace", address: str, *, terms: int = 4) -> Explanation:
    """Explain the cell at an address."""
    cell = trace.cell(address)
    through: list[str] = []
    rule, args = trace.rule(cell.value)
    while rule.kind == "view":
        through.append(cell.address)
        cell = behind(trace, cell)
        rule, args = trace.rule(cell.value)
    held = trace.numbers(cell.value)
    value = float(held[cell.indices])
    opening = f"{show(value)} = "
    if rule.expr is None:
        what = words(rule.name)["en"]
        return Explanation(
            trace, cell, through, rule, value, None, [[Token(f"{show(value)}: {what}")]]
        )
    inputs = [trace.values[arg] for arg in args]
    try:
        arrays = [each.array() for each in inputs]
    except LookupError as missing:
        raise TraceError(
            f"the numbers of {missing.args[0]} were not kept; record with a wider select"
        ) from None
    spans = [(place, place + 1) for place in cell.indices]
    recomputed = float(evaluate(rule.expr, arrays, cell.value.shape, spans).reshape(()))
    known = {f"i{axis}": place for axis, place in enumerate(cell.indices)}
    writer = Writer(arrays, terms)
    body = writer.write(substitute(rule.expr, known))
    tokens = [[Token(opening), *body], *writer.lines]
    return Explanation(trace, cell, through, rule, value, recomputed, tokens)


def behind(trace: "Trace", cell: Cell) -> Cell:
    """The cell a view's cell is."""
    rule, args = trace.rule(cell.value)
    known = {f"i{axis}": place for axis, place in enumerate(cell.indices)}
    where = substitute(rule.expr, known)[2]
    indices = tuple(int(Evaluator([], []).run(part)) for part in where)
    return Cell(trace.values[args[0]], indices)


def named_cell(trace: "Trace", cell: Cell) -> Cell:
    """Follow views without a name, so that the reader meets the author's."""
    while cell.value.name is None and trace.rule(cell.value)[0].kind == "view":
        cell = behind(trace, cell)
    return cell


@dataclass(frozen=True)
class _Read:
    """Many cells of one value."""

    value: Value
    places: list[Array]  # one flat array of indices an axis
    numbers: Array


def named_read(trace: "Trace", value: Value, array: Array, places: list[Array]) -> _Read:
    """Cells of a value, views without a name followed for all of them at once."""
    count = len(places[0]) if places else 1
    numbers = array[tuple(places)] if places else array.reshape(1)
    while value.name is None:
        rule, args = trace.rule(value)
        if rule.kind != "view":
            break
        evaluator = Evaluator([], [(0, count)])
        for axis, place in enumerate(places):
            evaluator.variables[f"i{axis}"] = place
            evaluator.axes.pop(f"i{axis}", None)
        places = [
            np.broadcast_to(evaluator.run(part), (count,)).astype(np.int64) for part in rule.expr[2]
        ]
        value = trace.values[args[0]]
    return _Read(value, places, numbers)


class Operands(Sequence[Operand]):
    """The operands of a cell, each once; addresses are spelt when they are looked at."""

    def __init__(self, reads: Iterator[_Read]) -> None:
        self._reads = list(reads)
        owners, flats, homes, spots = [], [], [], []
        for number, read in enumerate(self._reads):
            count = len(read.numbers)
            flat = np.zeros(count, np.int64)
            for place, size in zip(read.places, read.value.shape, strict=True):
                flat = flat * size + place
            owners.append(np.full(count, read.value.id))
            flats.append(flat)
            homes.append(np.full(count, number))
            spots.append(np.arange(count))
        if not owners:
            self._order = np.zeros((0, 2), np.int64)
            return
        keys = np.stack([np.concatenate(owners), np.concatenate(flats)], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        kept = np.sort(first)
        self._order = np.stack([np.concatenate(homes), np.concatenate(spots)], axis=1)[kept]

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, which: int) -> Operand: ...
    @overload
    def __getitem__(self, which: slice) -> list[Operand]: ...
    def __getitem__(self, which: int | slice) -> Operand | list[Operand]:
        if isinstance(which, slice):
            return [self[place] for place in range(*which.indices(len(self)))]
        home, spot = self._order[which]
        read = self._reads[home]
        indices = tuple(int(place[spot]) for place in read.places)
        return Operand(spell(read.value.address, indices), float(read.numbers[spot]))


def reads(expr: Expr, arrays: list[Array]) -> Iterator[tuple[int, list[Array]]]:
    """The places each operand is read at, as flat index arrays, in reading order."""
    yield from _Reader(arrays).walk(expr, [], None)


class _Reader:
    """Walks an expression the way it is evaluated, noting what is read."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays

    def walk(
        self, expr: Expr, ranges: list[tuple[str, int]], mask: Expr | None
    ) -> Iterator[tuple[int, list[Array]]]:
        if not isinstance(expr, tuple):
            return
        head = expr[0]
        if head == "at":
            yield from self._read(expr, ranges, mask)
            for part in expr[2]:
                yield from self.walk(part, ranges, mask)
            return
        if head == "let":
            yield from self.walk(expr[2], ranges, mask)
            body = expr[3]
            if _free(expr[2], {name for name, _ in ranges}):
                body = substitute(body, {})
            else:
                value = float(Evaluator(self.arrays, []).run(expr[2]))
                from cutaway.glass.expr import number

                body = substitute(body, {expr[1]: number(value)})
            yield from self.walk(body, ranges, mask)
            return
        if head in ("sum", "prod", "max", "min", "argmax", "argmin", "kth", "argkth"):
            inner = [*ranges, *expr[1]]
            body = expr[2]
            if isinstance(body, tuple) and body[0] == "where" and body[3] == 0:
                limit = body[1] if mask is None else ("and", mask, body[1])
                yield from self.walk(body[2], inner, limit)
                yield from self.walk(body[1], inner, limit)
                return
            yield from self.walk(body, inner, mask)
            return
        if head == "where":
            yield from self._choice(expr, ranges, mask)
            return
        for part in children(expr):
            yield from self.walk(part, ranges, mask)

    def _choice(
        self, expr: Expr, ranges: list[tuple[str, int]], mask: Expr | None
    ) -> Iterator[tuple[int, list[Array]]]:
        if not ranges:
            chosen = expr[2] if float(Evaluator(self.arrays, []).run(expr[1])) != 0 else expr[3]
            yield from self.walk(chosen, ranges, mask)
        else:
            yes = expr[1] if mask is None else ("and", mask, expr[1])
            no = ("not", expr[1]) if mask is None else ("and", mask, ("not", expr[1]))
            yield from self.walk(expr[2], ranges, yes)
            yield from self.walk(expr[3], ranges, no)
        yield from self.walk(expr[1], ranges, mask)

    def _read(
        self, expr: Expr, ranges: list[tuple[str, int]], mask: Expr | None
    ) -> Iterator[tuple[int, list[Array]]]:
        used = [
            (name, size)
            for name, size in ranges
            if _mentions(expr, name) or (mask is not None and _mentions(mask, name))
        ]
        evaluator = Evaluator(self.arrays, [])
        evaluator._bind(used)
        shape = tuple(size for _, size in used)
        with np.errstate(all="ignore"):
            keep = np.ones(shape, dtype=bool)
            if mask is not None:
                keep = keep & (np.broadcast_to(evaluator.run(mask), shape) != 0)
            places = []
            for axis, part in enumerate(expr[2]):
                place = np.broadcast_to(evaluator.run(part), shape).astype(np.int64)
                keep = keep & (place >= 0) & (place < self.arrays[expr[1]].shape[axis])
                places.append(place)
        yield expr[1], [place[keep] for place in places]


def _mentions(expr: Expr, name: str) -> bool:
    if expr == name:
        return True
    return isinstance(expr, tuple) and any(_mentions(part, name) for part in children(expr))


def _free(expr: Expr, names: set[str]) -> bool:
    return any(_mentions(expr, name) for name in names)


def terms_of(expr: Expr) -> int:
    """How many terms the first reduction of an expression has."""
    if not isinstance(expr, tuple):
        return 1
    if expr[0] in ("sum", "prod", "max", "min", "argmax", "argmin", "kth", "argkth"):
        return int(np.prod([size for _, size in expr[1]]))
    return max((terms_of(part) for part in children(expr)), default=1)


def short_name(trace: "Trace", value: Value) -> str:
    """A value's name in a formula: the variable's, or the parameter's last two parts."""
    while value.name is None and trace.rule(value)[0].kind == "view":
        value = trace.values[trace.rule(value)[1][0]]
    if value.source in ("parameter", "buffer"):
        return ".".join(value.address.split(".")[-2:])
    if value.name == "grad" and value.of is not None:
        return f"∂{short_name(trace, trace.values[value.of])}"
    return value.name or value.address.rpartition(":")[2].partition("~")[0].rpartition(".")[2]


def described(trace: "Trace", site: Site) -> Source:
    """A site with the text of its function; a loaded trace brings its own."""
    stored: Source | None = trace.stored_sites.get(id(site))
    if stored is not None:
        return stored
    if site.code is None:
        return Source("", "", site.line, site.statement, site.line, site.statement)
    text, first = source_of(site.code)
    return Source(
        shown_path(site.code), site.code.co_qualname, site.line, site.statement, first, text
    )


def plain(value: float) -> float | str:
    """A number for JSON, which cannot write NaN and infinity."""
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value
