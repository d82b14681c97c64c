"""A step in a notebook: its matrices, pictures, claims and answer, as the terminal shows them."""

from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.text import Text

from cutaway.lessons.lesson import Step
from cutaway.lessons.render import rendered


class Shown:
    """Something a notebook displays as HTML and a terminal as text."""

    def __init__(self, step: Step, language: str) -> None:
        self.step = step
        self.language = language

    def _console(self) -> Console:
        parts: list[RenderableType] = []
        if self.step.question is not None:
            parts.append(Text("→ " + self.step.question.answer.within(self.language)))
        parts.append(rendered(self.step, self.language))
        console = Console(record=True, width=110, file=StringIO())  # recorded, not printed
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
