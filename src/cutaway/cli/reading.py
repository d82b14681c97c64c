"""Texts from an argument or, line by line, from standard input."""

import sys
from collections.abc import Iterator

from cutaway.cli.translate import decoded


def texts_of(argument: str | None) -> Iterator[str]:
    """The one text given, or every line of standard input as it comes."""
    if argument is not None and argument != "-":
        yield argument
        return
    for number, line in enumerate(sys.stdin.buffer, start=1):
        yield decoded(line, number, "standard input").removesuffix("\n")
