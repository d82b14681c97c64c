"""The lessons on a trained model, computed once per bundled model."""

from functools import cache

from cutaway.data import demo_model
from cutaway.lessons import LessonInputs, find
from cutaway.lessons.lesson import Matrix, Step


@cache
def inputs(pair: str) -> LessonInputs:
    return LessonInputs(demo_model(pair))


@cache
def _steps(name: str, pair: str) -> tuple[Step, ...]:
    return tuple(find(name).steps(inputs(pair)))


def steps_of(name: str, pair: str = "en-fr") -> tuple[Step, ...]:
    """The steps of a lesson on a bundled model, computed once."""
    return _steps(name, pair)


def claims(steps: tuple[Step, ...]) -> dict[tuple[str, str], bool]:
    """Whether each claim holds, by step and key."""
    return {(step.key, claim.key): claim.holds for step in steps for claim in step.claims}


def step_of(name: str, key: str, pair: str = "en-fr") -> Step:
    return next(step for step in steps_of(name, pair) if step.key == key)


def matrix(step: Step, key: str) -> Matrix:
    return next(one for one in step.matrices if one.key == key)
