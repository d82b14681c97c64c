"""A paragraph for the terminal, broken between Chinese characters as well as between words."""

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

WIDE = "\u2e80-\u9fff\uff00-\uffef"  # Chinese characters and their punctuation
OPENING, CLOSING = "（《“‘", "，。、：；！？）》”’…"
PART = re.compile(rf"\s+|[{OPENING}]*[{WIDE}]|[^\s{WIDE}]+")


class Paragraph:
    """Text in one style; Rich itself breaks lines at spaces only."""

    def __init__(self, text: str, style: str = "") -> None:
        self.text = text
        self.style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in lines(self.text, options.max_width):
            yield Text(line, style=self.style)


def lines(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most so many cells, unless one word is wider."""
    line = ""
    for part in _parts(text):
        if line.strip() and cell_len(line + part.rstrip()) > width:
            yield line.rstrip()
            line = part.lstrip()
        else:
            line += part
    yield line.rstrip()


def _parts(text: str) -> list[str]:
    """Words, single Chinese characters, and spaces; closing punctuation stays with what it ends."""
    parts: list[str] = []
    for part in PART.findall(text):
        if parts and part[0] in CLOSING and not parts[-1].isspace():
            parts[-1] += part
        else:
            parts.append(part)
    return parts
