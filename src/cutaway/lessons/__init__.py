"""The worked examples, each on the real model code: for the terminal, the page and notebooks."""

from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson

__all__ = ["Lesson", "LessonInputs", "find", "lessons"]


def lessons() -> tuple[Lesson, ...]:
    """Every lesson, in the order a learner would take them."""
    from cutaway.lessons import (
        by_hand,
        context,
        cost,
        families,
        learning,
        masked_attention,
        positions,
        recommender,
        self_attention,
        translate_a_sentence,
        words_as_directions,
    )

    return (
        by_hand.LESSON,
        self_attention.LESSON,
        recommender.LESSON,
        positions.LESSON,
        masked_attention.LESSON,
        words_as_directions.LESSON,
        context.LESSON,
        translate_a_sentence.LESSON,
        learning.LESSON,
        cost.LESSON,
        families.LESSON,
    )


def find(name: str) -> Lesson:
    """The lesson of a name; an unknown one is an error that lists them."""
    from cutaway.errors import InputError

    for lesson in lessons():
        if lesson.name == name:
            return lesson
    known = ", ".join(lesson.name for lesson in lessons())
    raise InputError(f"no lesson {name!r}; choose one of {known}")
