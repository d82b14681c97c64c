"""`cutaway lesson`: the list, a walk without questions in both languages, a notebook that runs."""

import json
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.errors import InputError
from cutaway.lessons import lessons
from cutaway.lessons.lesson import Matrix, localized
from cutaway.lessons.paragraph import lines
from cutaway.lessons.render import MatrixTable
from cutaway.numbers import fixed
from tests.lessons.helpers import steps_of, untrained

runner = CliRunner()


def lesson(*arguments: str) -> str:
    result = runner.invoke(app, ["lesson", *arguments], env={"COLUMNS": "140"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_names_every_lesson(language: str) -> None:
    output = lesson("--lang", language)
    for one in lessons():
        assert one.name in output
        assert one.about.in_language(language)[:12] in output


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [one.name for one in untrained()])
def test_plain_runs_to_the_end(name: str, language: str) -> None:
    output = lesson(name, "--plain", "--lang", language)
    squeezed = "".join(output.split())
    for step in steps_of(name):
        assert "".join(step.title.in_language(language).split()) in squeezed
        if step.question is not None and not step.measured:  # times differ at each telling
            answer = step.question.answer.in_language(language)
            assert "".join(answer.split()) in squeezed
        for matrix in step.matrices:
            assert "".join(localized(matrix.name, language).split()) in squeezed
    assert "✗" not in output


def test_printed_slips_stand_in_brackets_after_the_right_figure() -> None:
    output = lesson("masked-attention", "--plain")
    assert re.search(r"0\.3600 \(0\.3200\)", output)
    assert "−∞" in output


@pytest.mark.parametrize("width", [40, 61, 130])
def test_a_matrix_wider_than_the_terminal_is_shown_in_blocks_with_every_figure_whole(
    width: int,
) -> None:
    columns = [f"column{number}" for number in range(7)]
    values = [[row + column / 8 for column in range(7)] for row in range(3)]
    printed = [[-value for value in row] for row in values]
    matrix = Matrix("M", values, ("a", "bb", "ccc"), columns, printed=printed)
    console = Console(width=width, file=StringIO(), record=True)
    console.print(MatrixTable(matrix, "en"))
    output = console.export_text()
    assert max(map(len, output.splitlines())) <= width
    assert "…" not in output
    for row in values:
        for value in row:
            right, wrong = fixed(value, 4), fixed(-value, 4)
            assert (f"{right} ({wrong})" if value else "0") in output
    assert all(name in output for name in columns)


@given(
    st.text(alphabet="ab ，。“”（）学习我a1", max_size=60).map(lambda text: " ".join(text.split())),
    st.integers(2, 30),
)
def test_lines_of_a_paragraph_keep_every_letter_and_the_width(text: str, width: int) -> None:
    broken = list(lines(text, width))
    assert "".join("".join(broken).split()) == "".join(text.split())
    for line in broken:
        assert cell_len(line) <= width or len(line.split()) == 1


def test_chinese_is_broken_between_characters_and_never_before_a_full_stop() -> None:
    text = "注意力看不见顺序，所以用 sin(pos) 加进去。"
    assert list(lines(text, 12)) == ["注意力看不见", "顺序，所以用", "sin(pos) 加", "进去。"]
    assert list(lines("我们学习编程。", 12)) == ["我们学习编", "程。"]


def test_a_very_wide_matrix_says_how_many_columns_are_left_out() -> None:
    console = Console(width=50, file=StringIO(), record=True)
    console.print(MatrixTable(Matrix("M", [[0.5] * 101]), "en"))
    output = console.export_text()
    assert output.count("0.5000") + int(re.findall(r"\+(\d+) …", output)[0]) == 101


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["by-foot"], "no lesson 'by-foot'; choose one of by-hand"),
        (["by-hand", "--lang", "fr"], "expected en or zh"),
    ],
)
def test_an_unknown_lesson_or_language_is_one_line(arguments: list[str], line: str) -> None:
    result = runner.invoke(app, ["lesson", *arguments])
    assert isinstance(result.exception, InputError)  # what the program prints and ends with
    assert line in str(result.exception)
    assert "\n" not in str(result.exception)


def notebook(path: Path, name: str, language: str) -> dict[str, Any]:
    lesson(name, "--lang", language, "--notebook", str(path))
    book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return book


@pytest.mark.parametrize(("name", "language"), [("masked-attention", "zh"), ("positions", "en")])
def test_the_notebook_computes_every_number_anew(tmp_path: Path, name: str, language: str) -> None:
    """Its code cells, run in order by a fresh interpreter, show each step's numbers."""
    book = notebook(tmp_path / "lesson.ipynb", name, language)
    assert book["nbformat"] == 4
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    program = []
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []
        *lines, last = cell["source"].splitlines()
        if last.startswith("show("):  # what a notebook displays: text and HTML
            last = f"shown = {last}\nprint(repr(shown))\nassert '<pre' in shown._repr_html_()"
        program += [*lines, last]
    script = tmp_path / "cells.py"
    script.write_text("\n".join(program), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    squeezed = "".join(result.stdout.split())
    words = "".join(cell["source"] for cell in book["cells"] if cell["cell_type"] == "markdown")
    for step in steps_of(name):
        assert step.title.in_language(language) in words
        for matrix in step.matrices:
            assert "".join(localized(matrix.name, language).split()) in squeezed
    assert "✗" not in result.stdout
