"""`cutaway lesson`: the list, a walk without questions in both languages, a notebook that runs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.errors import InputError
from cutaway.lessons import lessons
from cutaway.lessons.lesson import spoken
from tests.lessons.telling import told, untrained

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
        assert one.about.within(language)[:12] in output


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [one.name for one in untrained()])
def test_plain_runs_to_the_end(name: str, language: str) -> None:
    output = lesson(name, "--plain", "--lang", language)
    squeezed = "".join(output.split())
    for step in told(name):
        assert "".join(step.title.within(language).split()) in squeezed
        if step.question is not None and not step.measured:  # times differ at each telling
            answer = step.question.answer.within(language)
            assert "".join(answer.split()) in squeezed
        for matrix in step.matrices:
            assert "".join(spoken(matrix.name, language).split()) in squeezed
    assert "✗" not in output


def test_printed_slips_stand_in_brackets_beside_the_right_figure() -> None:
    output = lesson("masked-attention", "--plain")
    assert re.search(r"0\.3600 \(0\.3200\)", output)
    assert "−∞" in output


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
    for step in told(name):
        assert step.title.within(language) in words
        for matrix in step.matrices:
            assert "".join(spoken(matrix.name, language).split()) in squeezed
    assert "✗" not in result.stdout
