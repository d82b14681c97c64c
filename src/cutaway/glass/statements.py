"""Names inside functions of torch whose own calls are not seen: of each statement the last result.

`multi_head_attention_forward` is written as formulas worth reading, but as torch's own code its
calls pass the function mode by. The operations they become are seen, and the last one of a
statement is what the statement assigns.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cutaway.glass.names import READABLE_FUNCTIONS, Naming
from cutaway.glass.trace import Trace
from cutaway.glass.values import Value


class Statements:
    """Follows statements while it is asked to."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.following = False
        self.statement: tuple[int, int] = (0, 0)  # the one under way: frame and line
        self.last: tuple[Value, str, int, str] | None = None  # its result, and how to name it

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Within this block the last operation of each statement gets the statement's name."""
        self.following = True
        try:
            yield
        finally:
            self._settle()
            self.following = False

    def note(self, value: Value, frame: Any, found: Naming, scope: tuple[str, int]) -> None:
        """An operation was recorded: it may be the last of its statement."""
        if not self.following:
            return
        statement = (id(frame), found.site.line)
        if statement != self.statement:
            self._settle()
        self.statement = statement
        named = len(found.names) == 1 and found.names[0] != "output"
        if named and frame.f_code.co_qualname in READABLE_FUNCTIONS:
            self.last = (value, *scope, found.names[0])

    def _settle(self) -> None:
        if self.last is not None:
            self.trace.give_name(*self.last)
            self.last = None
