"""Lessons for the page: computed once per set of choices, kept with their recorded runs."""

import json
import math
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cutaway.data import PAIRS, bundled_model, demo_model
from cutaway.errors import InputError
from cutaway.lessons import LessonInputs, find, lessons
from cutaway.serve.runs import key_of
from cutaway.serve.session import Session

LESSONS_IN_MEMORY = 8  # each with its choices
WORDS, LETTERS = 64, 500  # of a choice


class PageLessons:
    """The lessons, and the runs their steps point at."""

    def __init__(self, session: Session, folder: Path | None) -> None:
        self.session = session
        self.folder = lesson_folder(folder)
        self.computed: OrderedDict[str, dict[str, Any]] = OrderedDict()
        session.recorders["lesson"] = lambda asked: self.steps(asked["name"], asked["choices"])

    def list(self) -> list[dict[str, Any]]:
        """Every lesson: on the bundled model where the page's model does not translate."""
        return [lesson.summary() for lesson in lessons()]

    def steps(self, name: str, choices: Mapping[str, Any]) -> dict[str, Any]:
        """All steps of a lesson as data; a step's run can be fetched under its key."""
        self.session.follow()
        question = json.dumps([name, choices, self.session.stamp], sort_keys=True)
        known = self.computed.get(question)
        if known is not None:
            return known
        lesson = find(name)
        if choices:
            check(choices, self.steps(name, {}))
        if self.folder is not None and self.folder != self.session.folder:
            inputs = LessonInputs(self.folder, choices)
        elif self.session.translates:
            inputs = LessonInputs(self.folder, choices, translator=self.session.translator)
        else:
            inputs = LessonInputs(choices=choices)
        steps = []
        keys: dict[int, str] = {}
        try:
            for number, step in enumerate(lesson.steps(inputs)):
                key = None
                if step.trace is not None:
                    asked = {"name": name, "choices": choices, "step": number + 1}
                    new = key_of("lesson", self.session.stamp, asked)
                    key = keys.setdefault(id(step.trace), new)
                    self.session.runs.hold(key, step.trace)
                steps.append(step.to_dict(key))
        except BaseException:
            for key in keys.values():  # their keys were never sent
                self.session.runs.release(key)
            raise
        answer = self.computed[question] = {**lesson.summary(), "steps": steps}
        while len(self.computed) > LESSONS_IN_MEMORY:
            _, old = self.computed.popitem(last=False)
            for dropped in old["steps"]:
                self.session.runs.release(dropped["trace"])
        return answer


def lesson_folder(folder: Path | None) -> Path | None:
    """The model that lessons speak of: for an everyday model of the package, the demo's.

    Its training can be watched (snapshots), and the lessons' claims are tested on its weights.
    """
    if folder is not None and folder in (bundled_model(pair) for pair in PAIRS):
        return demo_model(folder.name)
    return folder


def check(choices: Mapping[str, Any], lesson: dict[str, Any]) -> None:
    """Refuse what the lesson's controls do not offer, before anything is computed with it."""
    controls = {each["name"]: each for step in lesson["steps"] for each in step["controls"]}
    for name, chosen in choices.items():
        control = controls.get(name)
        if control is None:
            raise InputError(f"this lesson has no control {name[:40]!r}; choose one it shows")
        if not _offered(chosen, control):
            raise InputError(f"{name} is {str(chosen)[:40]!r}; choose what the control offers")


def _offered(chosen: Any, control: dict[str, Any]) -> bool:
    match control["kind"]:
        case "slider":
            least, most, _ = control["options"]
            number = isinstance(chosen, (int, float)) and not isinstance(chosen, bool)
            return number and math.isfinite(chosen) and least <= chosen <= most
        case "option":
            return chosen in control["options"]
        case "order":
            return (
                isinstance(chosen, list)
                and len(chosen) <= WORDS
                and all(isinstance(word, str) and len(word) <= LETTERS for word in chosen)
            )
        case _:
            return isinstance(chosen, str) and len(chosen) <= LETTERS
