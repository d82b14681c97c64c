"""Lessons on the page, in both languages: every step, its numbers, its questions, its controls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutaway.decode import Translator
from cutaway.lessons import lessons
from cutaway.lessons.lesson import Step, spoken
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.running import Server
from cutaway.serve.session import Session
from tests.browser.conftest import Watched
from tests.lessons.telling import told, told_of, told_with, untrained

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
Served = tuple[str, Session]


def lesson(watched: Watched, place: str, language: str = "en") -> None:
    """Go to a step of a lesson and wait until it is drawn."""
    watched.hash(f"#/lessons?lang={language}&lesson={place}")
    number = int(place.split("/")[1])
    watched.page.wait_for_function(
        "n => document.querySelector('cut-lessons .walk-list li.here') &&"
        " [...document.querySelectorAll('cut-lessons .walk-list li')]"
        ".findIndex(li => li.classList.contains('here')) === n - 1",
        arg=number,
        timeout=90_000,
    )


def answered(watched: Watched) -> None:
    """Open the answer where there is a question."""
    summary = watched.page.locator("cut-lessons .question summary")
    if summary.count():
        if watched.page.locator("cut-lessons .question details[open]").count() == 0:
            summary.click()
        watched.page.wait_for_selector("cut-lessons .answer:visible")


def texts(page: Any, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).all_inner_texts()
    return found


def open_page(watched: Watched, served: Served) -> None:
    watched.go(served[0])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_of_lessons_speaks_the_readers_language(
    watched: Watched, served: Served, language: str
) -> None:
    open_page(watched, served)
    watched.hash(f"#/lessons?lang={language}")
    watched.page.wait_for_selector("[data-lesson=by-hand]")
    shown = " ".join(texts(watched.page, ".lesson-list button"))
    for one in untrained():
        assert one.title.within(language) in shown
        assert one.about.within(language) in shown
    assert not watched.complaints


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [one.name for one in untrained()])
def test_every_step_shows_its_numbers_and_its_claims(
    watched: Watched, served: Served, name: str, language: str
) -> None:
    open_page(watched, served)
    walk_through(watched, name, language, told_with(name, served[1].translator))


@pytest.fixture(scope="session")
def demo_served(demo_folder: Path) -> Iterator[Served]:
    """A server for the demo model."""
    app = create_app(Translator.load(demo_folder), folder=demo_folder)
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        yield server.url, app.state.session
        server.stop()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [one.name for one in lessons() if one.trained])
def test_every_step_of_a_lesson_on_the_demo_model(
    watched: Watched, demo_served: Served, demo_folder: Path, name: str, language: str
) -> None:
    open_page(watched, demo_served)
    walk_through(watched, name, language, told_of(name, demo_folder))


def walk_through(watched: Watched, name: str, language: str, steps: tuple[Step, ...]) -> None:
    """Every step of a lesson on the page: title, tables, pictures, slips, claims, first numbers."""
    page = watched.page
    for number, step in enumerate(steps, start=1):
        lesson(watched, f"{name}/{number}", language)
        answered(watched)
        page.wait_for_function(
            "n => document.querySelectorAll('.lesson-matrix, .lesson-picture').length === n",
            arg=len(step.matrices) + len(step.pictures),
        )
        assert page.locator("cut-lessons h1").inner_text() == step.title.within(language)
        claims = texts(page, ".claim")
        assert len(claims) == len(step.claims)
        assert page.locator(".claim.broken").count() == sum(not c.holds for c in step.claims)
        captions = texts(page, ".lesson-matrix figcaption b")
        assert captions == [spoken(matrix.name, language) for matrix in step.matrices]
        assert page.locator("td.slip s").count() == sum(len(m.slips()) for m in step.matrices)
        if not step.measured:
            for text, claim in zip(claims, step.claims, strict=True):
                assert claim.said.within(language) in text
            _numbers(page, step)
    assert not watched.complaints


def _numbers(page: Any, step: Step) -> None:
    """The first cell of each table is the lesson's number."""
    cells = page.evaluate(
        "() => [...document.querySelectorAll('.lesson-matrix tbody')]"
        ".map(body => body.querySelector('td').firstChild.textContent)"
    )
    for text, matrix in zip(cells, step.matrices, strict=True):
        value = matrix.table()[0][0]
        shown = float(text.replace("−", "-").replace("∞", "inf").replace("NaN", "nan"))
        if abs(value) == float("inf"):
            assert shown == value
        else:
            assert abs(shown - value) <= 0.51 * 10**-matrix.digits + 0.06 * abs(value) * (
                abs(value) < 10**-matrix.digits
            )


def test_numbers_wait_for_the_question(watched: Watched, served: Served) -> None:
    open_page(watched, served)
    lesson(watched, "masked-attention/1")
    assert watched.page.locator(".lesson-matrix").count() == 0
    answered(watched)
    watched.page.wait_for_selector(".lesson-matrix")
    assert "−∞" in watched.page.locator(".lesson-matrix").inner_text()


def test_a_cell_of_a_lesson_opens_down_to_its_arithmetic(watched: Watched, served: Served) -> None:
    """0.36 = 0.5·0.5 + 0.1·0.2 + 0.3·0.3, in the inspector, recomputed."""
    open_page(watched, served)
    lesson(watched, "masked-attention/2")
    answered(watched)
    watched.page.wait_for_function(
        "() => document.querySelector('cut-inspector').dataset.value !== undefined"
    )
    value = watched.page.evaluate("() => document.querySelector('cut-inspector').dataset.value")
    assert abs(float(value) - 0.36) < 1e-12
    assert watched.page.locator(".verdict").get_attribute("data-good") == "true"


def test_words_are_dragged_and_keep_their_vectors(watched: Watched, served: Served) -> None:
    open_page(watched, served)
    place = next(n for n, step in enumerate(told("self-attention"), start=1) if step.controls)
    lesson(watched, f"self-attention/{place}")
    answered(watched)
    pieces = watched.page.locator(".order .piece")
    before = texts(watched.page, ".order .piece")
    rows = "() => [...document.querySelector('.lesson-matrix tbody').rows].map(r => r.innerText)"
    old = dict(line.split("\t", 1) for line in watched.page.evaluate(rows))
    pieces.nth(0).drag_to(pieces.nth(3))
    moved = [*before[1:4], before[0], *before[4:]]
    watched.page.wait_for_function(
        "words => [...document.querySelectorAll('.order .piece')]"
        ".map(p => p.textContent).join(' ') === words",
        arg=" ".join(moved),
    )
    watched.page.wait_for_function(
        "word => document.querySelector('.lesson-matrix tbody th')?.textContent === word",
        arg=moved[0],
    )
    new = [line.split("\t", 1) for line in watched.page.evaluate(rows)]
    assert [word for word, _ in new] == moved
    assert dict(map(tuple, new)) == old
    assert watched.page.locator(".claim.broken").count() == 0


def test_a_slider_tells_the_lesson_again(watched: Watched, served: Served) -> None:
    open_page(watched, served)
    lesson(watched, "recommender/1")
    answered(watched)
    score = "() => document.querySelectorAll('.lesson-matrix')[2].querySelector('td').textContent"
    before = watched.page.evaluate(score)
    slider = watched.page.locator("cut-lessons input[type=range]")
    slider.evaluate(
        "s => { s.value = '-1'; s.dispatchEvent(new Event('input'));"
        " s.dispatchEvent(new Event('change')); }"
    )
    watched.page.wait_for_function(
        "before => { const cell = document.querySelectorAll('.lesson-matrix')[2]"
        "?.querySelector('td'); return cell && cell.textContent !== before; }",
        arg=before,
    )
    assert watched.page.evaluate(score) == "−0.66"  # −1·0.9 + 0.24 + 0
