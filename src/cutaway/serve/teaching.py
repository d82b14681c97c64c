"""Lessons for the page: told once for each set of choices, their recorded runs held beside them."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cutaway.lessons import Room, find, lessons
from cutaway.serve.session import Session

KEPT = 8  # tellings held in memory


class Teaching:
    """The lessons, and the runs their steps point at."""

    def __init__(self, session: Session, folder: Path | None) -> None:
        self.session = session
        self.folder = folder
        self.told: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.count = 0  # tellings so far: no two share the keys of their runs

    def list(self) -> list[dict[str, Any]]:
        """What can be taught with the model at hand."""
        has_model = self.session.translates
        return [lesson.summary() for lesson in lessons() if has_model or not lesson.trained]

    def tell(self, name: str, choices: Mapping[str, Any]) -> dict[str, Any]:
        """All steps of a lesson as data; a step's run can be fetched under its key."""
        self.session.follow()
        question = json.dumps([name, choices, self.session.stamp], sort_keys=True)
        known = self.told.get(question)
        if known is not None:
            return known
        lesson = find(name)
        translator = self.session.translator if self.session.translates else None
        room = Room(self.folder, choices, translator=translator)
        steps = []
        keys: dict[int, str] = {}
        self.count += 1
        place = f"lesson-{self.count}-{name}"
        for number, step in enumerate(lesson.tell(room)):
            key = None
            if step.trace is not None:
                key = keys.setdefault(id(step.trace), f"{place}-{number}")
                self.session.hold(key, step.trace)
            steps.append(step.to_dict(key))
        told = self.told[question] = {**lesson.summary(), "steps": steps}
        while len(self.told) > KEPT:
            _, old = self.told.popitem(last=False)
            for dropped in old["steps"]:
                self.session.release(dropped["trace"])
        return told
