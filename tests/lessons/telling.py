"""Lessons told once a session, for all tests that look at them."""

from functools import cache
from pathlib import Path

from cutaway.decode import Translator
from cutaway.lessons import Lesson, Room, find, lessons
from cutaway.lessons.lesson import Matrix, Said, Step


def untrained() -> list[Lesson]:
    """Lessons that need no model folder."""
    return [lesson for lesson in lessons() if not lesson.trained]


@cache
def told(name: str) -> tuple[Step, ...]:
    """The steps of a lesson, without a model and without choices."""
    return tuple(find(name).tell(Room()))


@cache
def told_with(name: str, translator: Translator) -> tuple[Step, ...]:
    """The steps of a lesson with a model at hand."""
    return tuple(find(name).tell(Room(translator=translator)))


@cache
def told_of(name: str, folder: Path) -> tuple[Step, ...]:
    """The steps of a lesson on a model folder."""
    return tuple(find(name).tell(Room(folder)))


def matrices(name: str) -> dict[str, list[Matrix]]:
    """Every matrix of a lesson by its English name, in order."""
    found: dict[str, list[Matrix]] = {}
    for step in told(name):
        for matrix in step.matrices:
            english = matrix.name.en if isinstance(matrix.name, Said) else matrix.name
            found.setdefault(english, []).append(matrix)
    return found
