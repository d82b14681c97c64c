"""A step in a notebook: its matrices, pictures, claims and answer, as the terminal shows them."""

from io import StringIO

from rich.console import Console, Group, RenderableType

from cutaway.lessons.lesson import Step
from cutaway.lessons.paragraph import Paragraph
from cutaway.lessons.render import rendered


class Shown:
    """Something a notebook displays as HTML and a terminal as text."""

    def __init__(self, step: Step, language: str) -> None:
        self.step = step
        self.language = language

    def _console(self) -> Console:
        parts: list[RenderableType] = []
        if self.step.question is not None:
            parts.append(Paragraph("→ " + self.step.question.answer.in_language(self.language)))
        parts.append(rendered(self.step, self.language))
        # Recorded, not printed. No markup: a piece of a tokenizer may be written as a link.
        console = Console(record=True, width=110, file=StringIO(), markup=False, emoji=False)
        console.print(Group(*parts))
        return console

    def __repr__(self) -> str:
        return self._console().export_text()

    def _repr_html_(self) -> str:
        html = self._console().export_html(
            inline_styles=True, code_format='<pre style="line-height:1.3">{code}</pre>'
        )
        if self.step.trace is None:
            return html
        return html + str(self.step.trace._repr_html_())


def show(step: Step, *, language: str = "en") -> Shown:
    """What a notebook cell ends with."""
    return Shown(step, language)
