"""Text of strangers is shown as it is written: never markup, never a link, never a crash.

A tokenizer's pieces reach tables of the terminal and, in a notebook, HTML.
"""

from html.parser import HTMLParser
from io import StringIO
from types import SimpleNamespace
from typing import Any

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console
from torch import nn

from cutaway import glass
from cutaway.cli.demo import show_attention
from cutaway.cli.explain import matrices, print_cell
from cutaway.cli.progress import LiveView
from cutaway.lessons.lesson import Claim, LocalizedText, Matrix, Picture, Question, Series, Step
from cutaway.lessons.show import show
from cutaway.training.events import Note

LINK = '[link=javascript:x"onclick="alert(1)]x[/link]'
pieces = st.lists(
    st.sampled_from(
        [LINK, "[/x]", "[bold", "[red]", "]", "[", "\\", "\\[", "[@click=app.bell]", "<b>", "&lt;",
         "<script>alert(1)</script>", ":smile:", "cat", " "]
    ),
    min_size=1,
    max_size=4,
).map("".join)  # fmt: skip


class Tags(HTMLParser):
    """Every element and attribute of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"{tag} {name}" for name, _ in attrs)}

    def handle_data(self, data: str) -> None:
        self.text += data


def step(piece: str) -> Step:
    """A step that has the piece wherever a lesson puts words."""
    said = LocalizedText({"en": piece, "zh": piece})
    matrix = Matrix(piece, [[0.5, 0.25]], rows=[piece], columns=[piece, piece], note=said)
    lines = Picture(said, "curves", (Series(piece, (0, 1), (2, 3), (piece, piece)),), piece, piece)
    bars = Picture(said, "bars", (Series(piece, (0, 1), (2, 3), (piece, piece)),))
    return Step(
        said, said, (matrix,), (lines, bars), (Claim(said, True),), question=Question(said, said)
    )


@settings(max_examples=60, deadline=None)
@example(LINK)
@example("[/x]")
@given(pieces)
def test_a_notebook_gets_the_piece_and_no_element_of_its_own(piece: str) -> None:
    tags = Tags()
    tags.feed(show(step(piece))._repr_html_())
    assert tags.found <= {"pre", "pre style", "span", "span style"}
    assert "".join(piece.split()) in "".join(tags.text.split())  # a long one is wrapped


def printed(*parts: object) -> str:
    """What a terminal would show, by a console that does take markup."""
    console = Console(file=StringIO(), width=500, record=True)
    for part in parts:
        console.print(part)
    return console.export_text()


class Square(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * x
        return y


@settings(max_examples=40, deadline=None)
@example("[/x]")
@given(pieces)
def test_a_matrix_and_a_cell_of_a_trace(piece: str) -> None:
    model = Square()
    with glass.record(model) as trace:
        model(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    trace.label(axes={"y": ["row", "column"]}, row=[piece, "b"], column=[piece, "d"])
    shown = printed(*matrices(trace["y"]))
    if piece.strip():
        assert shown.count(piece.strip()) >= 2
    console = Console(file=StringIO(), width=500, record=True)
    print_cell(console, trace, trace.explain("y[0,0]"), "en")
    assert piece.strip() in console.export_text()


@settings(max_examples=40, deadline=None)
@example("[/x]")
@given(pieces)
def test_the_demos_table_of_attention(piece: str) -> None:
    token = SimpleNamespace(piece=piece)
    translation = SimpleNamespace(
        alignment=[[0.75, 0.25]], source_tokens=[piece, "."], tokens=[token]
    )
    translator: Any = SimpleNamespace(translate=lambda texts, **options: [translation])
    console = Console(file=StringIO(), width=500, record=True)
    show_attention(translator, console)
    assert console.export_text().count(piece.strip() or "75") >= 1


@settings(max_examples=40, deadline=None)
@example("[/x]")
@given(pieces)
def test_a_note_of_a_run(piece: str) -> None:
    console = Console(file=StringIO(), width=500, record=True)
    LiveView(console).watch(Note(f"sentence {piece} is odd"))
    assert piece.rstrip() in console.export_text()
