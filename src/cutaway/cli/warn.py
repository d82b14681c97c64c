"""Warnings on standard error: the first few of each kind as they come, the others in one line."""

from collections import defaultdict
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

if TYPE_CHECKING:
    from cutaway.decode import Translation

SHOWN = 3  # warnings of a kind printed in full
RANGES = 6  # groups of line numbers named in the last line


class Warnings:
    """The warnings of a command; what was held back is summed up at the end of the block."""

    def __init__(self) -> None:
        self.printed: dict[str, int] = defaultdict(int)
        self.held: dict[str, list[int]] = defaultdict(list)  # kind → lines
        self.first: dict[str, int] = {}

    def report(self, translation: "Translation", line: int | None = None) -> None:
        """Print the warnings of a translation; standard output stays the translation."""
        for notice in translation.warnings:
            if notice.kind == "unchanged":
                continue
            if line is not None and self.printed[notice.kind] >= SHOWN:
                self.held[notice.kind].append(line)
                continue
            self.printed[notice.kind] += 1
            where = f"line {line}: " if line is not None else ""
            self.first.setdefault(notice.kind, line or 0)
            typer.echo(f"{where}warning: {notice.message}", err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, lines in self.held.items():
            noun = "line has" if len(lines) == 1 else "lines have"
            typer.echo(
                f"warning: {len(lines):,} more {noun} the warning of line {self.first[name]}: "
                f"{ranges(lines)}",
                err=True,
            )


def ranges(numbers: list[int]) -> str:
    """Rising numbers in few words: 4–9, 12, 30–31."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][1] + 1:
            groups[-1][1] = number
        else:
            groups.append([number, number])
    words = [str(a) if a == b else f"{a}–{b}" for a, b in groups]
    return ", ".join(words[:RANGES] + ["…"] * (len(words) > RANGES))
