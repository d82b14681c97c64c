"""Compare two runs: the first operation whose results differ."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from cutaway.glass.address import spell
from cutaway.glass.values import Value
from cutaway.numbers import short

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

# Two honest computations of the same thing stay within this, relative to the largest cell.
CLOSE = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}


@dataclass(frozen=True)
class Parting:
    """A value both runs have, and how far apart they are there."""

    address: str  # the cell that differs most
    other_address: str
    ours: float
    theirs: float
    error: float  # largest difference, relative to the largest cell of the value
    cells: int  # how many cells differ beyond the tolerance
    op: str


@dataclass
class Difference:
    """What comparing two runs found."""

    partings: list[Parting] = field(default_factory=list)  # all values that differ, in order
    compared: int = 0
    only_ours: list[str] = field(default_factory=list)
    only_theirs: list[str] = field(default_factory=list)
    reshaped: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    largest: float = 0.0  # the largest relative difference of all

    @property
    def first(self) -> Parting | None:
        """The first value that differs."""
        return self.partings[0] if self.partings else None

    @property
    def same(self) -> bool:
        """Whether no compared value differs, and there was something to compare."""
        return self.compared > 0 and not self.partings and not self.reshaped

    def __repr__(self) -> str:
        if self.first is None:
            return f"<Difference: none in {self.compared} values, largest {short(self.largest, 2)}>"
        return (
            f"<Difference: {len(self.partings)} of {self.compared} values, first "
            f"{self.first.address}: {short(self.first.ours, 6)} and {short(self.first.theirs, 6)}>"
        )


def diff(
    ours: "Trace",
    theirs: "Trace",
    *,
    tolerance: float | None = None,
    check: Callable[[], None] = lambda: None,
) -> Difference:
    """Compare the named values of two runs in the order the first computed them.

    Values are paired by address; two implementations that share no names are paired by shape and
    order of appearance instead, so that a port can be compared with its original. `check` is called
    before each pair; an error it raises ends the comparison.
    """
    found = Difference()
    mine, yours = _named(ours), _named(theirs)
    pairs = [(value, yours[address]) for address, value in mine.items() if address in yours]
    parameters = sum(left.source is not None for left, _ in pairs)
    if len(pairs) - parameters < min(len(mine), len(yours)) // 10:
        pairs = _by_shape(list(mine.values()), list(yours.values()))
        paired = {left.id for left, _ in pairs}, {right.id for _, right in pairs}
        found.only_ours = [value.address for value in mine.values() if value.id not in paired[0]]
        found.only_theirs = [v.address for v in yours.values() if v.id not in paired[1]]
    else:
        found.only_ours = [address for address in mine if address not in yours]
        found.only_theirs = [address for address in yours if address not in mine]
    once = {(left.id, right.id): (left, right) for left, right in pairs}  # aliases name twice
    for left, right in once.values():
        check()
        _compare(left, right, tolerance, found)
    return found


def _named(trace: "Trace") -> dict[str, Value]:
    named = {
        value.address: value
        for value in trace.values
        if value.name is not None and value.buffer is not None
    }
    for address, place in trace.aliases.items():
        value = trace.values[place]
        if value.buffer is not None:
            named.setdefault(address, value)
    return dict(sorted(named.items(), key=lambda pair: pair[1].id))


def _by_shape(mine: list[Value], yours: list[Value]) -> list[tuple[Value, Value]]:
    """Pair computed values of equal shape and nearest numbers, keeping the order of both runs."""
    pairs = []
    start = 0
    computed = [value for value in yours if value.source is None]
    for left in mine:
        if left.source is not None:
            continue
        for place in range(start, len(computed)):
            right = computed[place]
            if right.shape == left.shape and _near(left, right):
                pairs.append((left, right))
                start = place + 1
                break
    return pairs


def _near(left: Value, right: Value) -> bool:
    a, b = left.tensor().double(), right.tensor().double()
    finite = torch.isfinite(a) & torch.isfinite(b)
    if not bool(finite.any()):
        return True
    gap = (a - b)[finite].abs().max()
    size = torch.maximum(a[finite].abs().max(), b[finite].abs().max())
    return bool(gap <= 0.1 * size)


def _compare(left: Value, right: Value, tolerance: float | None, found: Difference) -> None:
    found.compared += 1
    if left.shape != right.shape:
        found.reshaped.append((left.address, left.shape, right.shape))
        return
    if left.cells == 0:
        return
    a, b = left.tensor().double(), right.tensor().double()
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    gap = torch.where(same, torch.zeros_like(a), (a - b).abs())
    gap = torch.nan_to_num(gap, nan=float("inf"))
    finite = a[torch.isfinite(a)]
    size = float(finite.abs().max()) if finite.numel() else 0.0
    error = float(gap.max()) / size if size else float(gap.max())
    found.largest = max(found.largest, error)
    limit = tolerance
    if limit is None:
        limit = max(CLOSE.get(left.dtype, 0.0), CLOSE.get(right.dtype, 0.0))
    if error <= limit:
        return
    place = tuple(int(part) for part in torch.unravel_index(gap.argmax(), gap.shape))
    found.partings.append(
        Parting(
            spell(left.address, place),
            spell(right.address, place),
            float(a[place]),
            float(b[place]),
            error,
            int((gap > limit * (size or 1.0)).sum()),
            left.op,
        )
    )
