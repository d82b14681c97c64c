"""A lesson as a Jupyter notebook: the texts, and code cells that compute the numbers again."""

import json
from collections.abc import Sequence
from typing import Any

from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.section import Sections


def notebook(lesson: Lesson, steps: Sequence[Step], *, language: str, model: str | None) -> str:
    """The notebook file as text: one text cell and one code cell per step."""
    where = f", Path({model!r})" if model else ""
    opening = (
        "from pathlib import Path\n\n"
        "from cutaway.lessons import LessonInputs, find\n"
        "from cutaway.lessons.show import show\n\n"
        f"steps = list(find({lesson.name!r}).steps(LessonInputs({where.removeprefix(', ')})))"
    )
    cells = [
        _text(f"# {lesson.title.in_language(language)}\n\n{lesson.about.in_language(language)}"),
        _text(Sections("terminal").section("notebook").label("setup").in_language(language)),
        _code(opening),
    ]
    for number, step in enumerate(steps):
        body = step.text.in_language(language).replace("\n", "\n\n")
        if step.question is not None:
            body += f"\n\n**?** {step.question.ask.in_language(language)}"
        cells.append(_text(f"## {step.title.in_language(language)}\n\n{body}"))
        cells.append(_code(f"show(steps[{number}], language={language!r})"))
    book = {
        "cells": [{**cell, "id": f"cell-{place}"} for place, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }
