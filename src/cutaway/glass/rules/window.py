"""The geometry of windows that slide over a tensor's last axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from cutaway.glass.expr import Expr, Place, add, all_of, choose, mul, op, sub


def spread(value: int | Sequence[int], dims: int) -> list[int]:
    """One setting per axis; a single one holds for all."""
    listed = [value] if isinstance(value, int) else list(value)
    return listed * dims if len(listed) == 1 else listed


@dataclass(frozen=True)
class Window:
    """Tap k of the window at output position o lies on input position o·stride + k·dilation − p."""

    kernel: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]

    @property
    def names(self) -> list[str]:
        """The variables of the taps."""
        return [f"k{axis}" for axis in range(len(self.kernel))]

    @property
    def taps(self) -> list[tuple[str, int]]:
        """All places of the window."""
        return list(zip(self.names, self.kernel, strict=True))

    def seen(self, outputs: Place, taps: Place | None = None) -> list[Expr]:
        """The input position that a tap of an output position looks at."""
        taps = self.names if taps is None else taps
        axes = zip(outputs, taps, self.stride, self.dilation, self.padding, strict=True)
        return [add(mul(o, step), mul(k, wide), -p) for o, k, step, wide, p in axes]

    def seen_by(self, inputs: Place) -> tuple[list[Expr], list[Expr]]:
        """Conditions for, and the output position that, looks at an input position by tap k."""
        tests: list[Expr] = []
        places: list[Expr] = []
        axes = zip(inputs, self.names, self.stride, self.dilation, self.padding, strict=True)
        for place, tap, step, wide, p in axes:
            shifted = sub(add(place, p), mul(tap, wide))
            places.append(shifted if step == 1 else op("idiv", shifted, step))
            if step > 1:
                tests.append(op("eq", op("mod", shifted, step), 0))
        return tests, places


def between(place: Expr, first: Expr, end: Expr) -> Expr:
    """Whether first ≤ place < end."""
    return op("and", op("ge", place, first), op("lt", place, end))


def where(tests: Sequence[Expr], term: Expr) -> Expr:
    """A term if all conditions hold, else nothing."""
    return choose(all_of(*tests), term, 0) if tests else term
