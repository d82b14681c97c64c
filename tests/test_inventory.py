"""docs/inventory.md is complete: every code has a lesson that carries it, a module and a test."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from cutaway.lessons import lessons
from tests.lessons.helpers import steps_of

ROOT = Path(__file__).parent.parent
COUNTS = {"A": 25, "B": 14, "C": 28, "D": 9, "E": 10}
CODES = [f"{letter}{number}" for letter, most in COUNTS.items() for number in range(1, most + 1)]
ROW = re.compile(r"\| ([A-E]\d+) \| (.+?) \| ([\w-]+) \| `([\w/.]+)` \| `([\w/.:]+)` \|")


@cache
def table() -> dict[str, tuple[str, str, str]]:
    """Code → lesson, module, test."""
    text = (ROOT / "docs" / "inventory.md").read_text(encoding="utf-8")
    rows = ROW.findall(text)
    assert len({code for code, *_ in rows}) == len(rows), "a code stands twice"
    assert len(rows) == text.count("\n| ") - 2 + text.startswith("| "), "a row cannot be read"
    return {code: (lesson, module, test) for code, _, lesson, module, test in rows}


@cache
def codes_of(name: str) -> frozenset[str]:
    """The codes a lesson's steps cover: as computed, or (trained) as written in its files."""
    lesson = next(one for one in lessons() if one.name == name)
    if not lesson.trained:
        return frozenset(code for step in steps_of(name) for code in step.codes)
    found: set[str] = set()
    folder = ROOT / "src" / "cutaway" / "lessons"
    todo, done = [name.replace("-", "_")], set()
    while todo:
        module = todo.pop()
        path = folder / f"{module}.py"
        if module in done or not path.is_file():
            continue
        done.add(module)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in CODES:
                found.add(str(node.value))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "cutaway.lessons."
            ):
                todo.append(str(node.module).rpartition(".")[2])
    return frozenset(found)


def test_every_code_has_its_row_in_order() -> None:
    assert list(table()) == CODES


@pytest.mark.parametrize("code", CODES)
def test_lesson_module_and_test_are_there(code: str) -> None:
    lesson, module, test = table()[code]
    assert lesson in {one.name for one in lessons()}, f"no lesson {lesson}"
    assert code in codes_of(lesson), f"no step of {lesson} carries {code}"
    assert (ROOT / "src" / "cutaway" / module).is_file(), f"no module {module}"
    file, _, function = test.partition("::")
    path = ROOT / "tests" / file
    assert path.is_file(), f"no test file {file}"
    assert f"def {function}(" in path.read_text(encoding="utf-8"), f"no {function} in {file}"


def test_every_lesson_is_in_the_table() -> None:
    named = {lesson for lesson, _, _ in table().values()}
    assert named == {one.name for one in lessons()}
