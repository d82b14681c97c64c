"""One number, where it came from: arithmetic with real operands, formula, line and words."""

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from cutaway.errors import TraceError
from cutaway.glass.address import Cell
from cutaway.glass.evaluator import evaluate
from cutaway.glass.expr import Expr, Node, Reduction, at_cell
from cutaway.glass.mathml import mathml
from cutaway.glass.reads import Operands, behind, named_cell
from cutaway.glass.rules import Rule
from cutaway.glass.values import Value
from cutaway.glass.words import fill, words
from cutaway.glass.write import Token, Writer
from cutaway.numbers import plain, short

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace


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
    def operands(self) -> Operands:
        """Every number it was made of, in reading order, with addresses to go on from."""
        return Operands.of(self.trace, self.rule.expr, self._args, self.cell.indices)

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
        if site is None:
            return None
        function = site.function
        return Source(
            function.file, function.name, site.line, site.statement, function.first, function.text
        )

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

    def to_dict(self, *, limit: int = 200) -> dict[str, Any]:
        """Plain data, ready for JSON; at most `limit` operands."""
        shown = []
        for line in self.tokens:
            parts: list[Any] = []
            for token in line:
                if token.operand is None:
                    parts.append(token.text)
                else:
                    value = self.trace.values[self._args[token.operand]]
                    cell = named_cell(self.trace, Cell(value, token.indices))
                    number = plain(token.value or 0.0)
                    parts.append({"text": token.text, "value": number, "address": cell.address})
            shown.append(parts)
        return {
            "asked": self.asked,
            "address": self.address,
            "through": self.through,
            "kind": self.kind,
            "rule": self.rule.name,
            "source_kind": self.rule.source,
            "value": plain(self.value),
            "recomputed": plain(self.recomputed),
            "difference": plain(self.difference),
            "text": self.text,
            "tokens": shown,
            "operands": plain(self.operands[:limit]),
            "operand_count": len(self.operands),
            "formula": self.formula,
            "module": self.module,
            "phase": self.cell.value.phase,
            "op": self.cell.value.op,
            "words": self.words,
            "labels": self.labels,
            "source": plain(self.source),
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
    opening = f"{short(value)} = "
    if rule.expr is None:
        what = words(rule.name)["en"]
        return Explanation(
            trace, cell, through, rule, value, None, [[Token(f"{short(value)}: {what}")]]
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
    writer = Writer(arrays, terms)
    body = writer.write(at_cell(rule.expr, cell.indices))
    tokens = [[Token(opening), *body], *writer.lines]
    return Explanation(trace, cell, through, rule, value, recomputed, tokens)


def terms_of(expr: Expr | None) -> int:
    """How many terms the largest outermost reduction of an expression has."""
    if isinstance(expr, Reduction):
        return expr.terms
    return max(map(terms_of, expr.parts), default=1) if isinstance(expr, Node) else 1


def short_name(trace: "Trace", value: Value) -> str:
    """A value's name in a formula: the variable's, or the parameter's last two parts."""
    while value.name is None and trace.rule(value)[0].kind == "view":
        value = trace.values[trace.rule(value)[1][0]]
    if value.source in ("parameter", "buffer"):
        return ".".join(value.address.split(".")[-2:])
    if value.name == "grad" and value.of is not None:
        return f"∂{short_name(trace, trace.values[value.of])}"
    return value.name or value.address.rpartition(":")[2].partition("~")[0].rpartition(".")[2]
