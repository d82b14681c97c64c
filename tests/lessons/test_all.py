"""What every lesson keeps: its claims hold, it speaks two languages, its numbers can be opened."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutaway.errors import InputError
from cutaway.lessons import LessonInputs, find, lessons
from cutaway.lessons.lesson import LocalizedText, Name, Step
from tests.lessons.helpers import steps_of, untrained

HAN = re.compile(r"[一-鿿]")
EXAMPLE = str.maketrans("", "", "我喜欢学习编程")  # the words of an example, in either language


def names() -> list[str]:
    return [lesson.name for lesson in untrained()]


def localized(step: Step) -> Iterator[LocalizedText]:
    """Every text of a step that is in two languages."""
    yield step.title
    yield step.text
    if step.question is not None:
        yield step.question.ask
        yield step.question.answer
    for claim in step.claims:
        yield claim.said
    for control in step.controls:
        yield control.label
    for picture in step.pictures:
        yield picture.title
    for matrix in step.matrices:
        if matrix.note is not None:
            yield matrix.note


def written(step: Step) -> Iterator[Name]:
    for matrix in step.matrices:
        yield from (matrix.name, *matrix.rows, *matrix.columns)
    for picture in step.pictures:
        yield from (picture.x, picture.y)
        for series in picture.series:
            yield from (series.name, *series.labels)


@pytest.mark.parametrize("name", names())
def test_every_claim_holds(name: str) -> None:
    claims = [claim for step in steps_of(name) for claim in step.claims]
    assert claims
    assert [claim.said.en for claim in claims if not claim.holds] == []


@pytest.mark.parametrize("name", names())
def test_both_languages_are_there_and_differ(name: str) -> None:
    for step in steps_of(name):
        for text in localized(step):
            assert text.en.strip()
            assert text.in_language("zh").strip()
        assert HAN.search(step.text.in_language("zh"))
        assert not HAN.search(step.text.en.translate(EXAMPLE))
        assert step.text.en != step.text.in_language("zh")
        for word in written(step):
            if isinstance(word, LocalizedText):
                assert word.en.strip()
                assert word.in_language("zh").strip()
    lesson = find(name)
    for text in (lesson.title, lesson.about):
        assert text.en != text.in_language("zh")
        assert HAN.search(text.in_language("zh"))


@pytest.mark.parametrize("name", names())
def test_every_step_says_what_of_the_sources_it_covers(name: str) -> None:
    for step in steps_of(name):
        assert step.codes
        assert all(re.fullmatch(r"[A-E]\d{1,2}", code) for code in step.codes)


@pytest.mark.parametrize("name", names())
def test_rows_and_columns_fit_their_numbers(name: str) -> None:
    for step in steps_of(name):
        for matrix in step.matrices:
            rows = matrix.table()
            assert not matrix.rows or len(matrix.rows) == len(rows)
            assert not matrix.columns or len(matrix.columns) == len(rows[0])
            printed = matrix.printed_table()
            if printed is not None:
                assert [len(row) for row in printed] == [len(row) for row in rows]
        for picture in step.pictures:
            for series in picture.series:
                assert len(series.x) == len(series.y) > 0
                assert not series.labels or len(series.labels) == len(series.x)


@pytest.mark.parametrize("name", names())
def test_a_recorded_step_opens_at_a_cell_that_is_proven(name: str) -> None:
    proven = set()
    for step in steps_of(name):
        if step.trace is None:
            assert not step.show
            continue
        assert step.trace.cell(step.show).address == step.show
        assert step.trace.explain(step.show).address  # of a view: the cell it shows
        if id(step.trace) not in proven:
            assert step.trace.prove().complete
            proven.add(id(step.trace))


@pytest.mark.parametrize("name", names())
def test_the_page_can_read_a_lesson(name: str) -> None:
    for step in steps_of(name):
        text = json.dumps(step.to_dict("key"), allow_nan=False)
        assert json.loads(text)["title"] == step.title.to_dict()


def test_names_are_unique_and_an_unknown_one_is_an_error() -> None:
    every = [lesson.name for lesson in lessons()]
    assert len(set(every)) == len(every)
    with pytest.raises(InputError, match="by-hand"):
        find("by-foot")


def test_a_choice_of_the_wrong_kind_is_one_line() -> None:
    with pytest.raises(InputError, match="expected float") as error:
        list(find("masked-attention").steps(LessonInputs(choices={"last": "high"})))
    assert "\n" not in str(error.value)


def test_without_a_folder_lessons_use_the_model_of_the_package(bundled_folder: Path) -> None:
    assert LessonInputs().folder == LessonInputs(Path("demo-en-fr")).folder == bundled_folder
    assert LessonInputs().translator.folder.languages == ("en", "fr")
    assert LessonInputs(Path("en-zh")).translator.folder.languages == ("en", "zh")
