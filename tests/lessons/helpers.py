"""Lessons computed once per session, for all tests that look at them."""

from functools import cache

from cutaway.lessons import Lesson, LessonInputs, find, lessons
from cutaway.lessons.lesson import Matrix, Step


def untrained() -> list[Lesson]:
    """Lessons that need no model folder."""
    return [lesson for lesson in lessons() if not lesson.trained]


@cache
def steps_of(name: str) -> tuple[Step, ...]:
    """The steps of a lesson, without a model and without choices."""
    return tuple(find(name).steps(LessonInputs()))


def matrices(name: str) -> dict[str, Matrix]:
    """Every matrix of a lesson by the keys of its text file: "scores/masked"."""
    return {
        f"{step.key}/{matrix.key}": matrix for step in steps_of(name) for matrix in step.matrices
    }
