"""Lessons on the page, in both languages: every step, its numbers, its questions, its controls."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutaway.decode import Translator
from cutaway.lessons import lessons
from cutaway.lessons import texts as lesson_texts
from cutaway.lessons.lesson import Step, localized
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.server import Server
from cutaway.serve.session import Session
from tests.browser.conftest import IN_FIREFOX, Told, Watched
from tests.lessons.helpers import steps_of, untrained

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
Served = tuple[str, Session]


def lesson(watched: Watched, place: str, language: str = "en") -> None:
    """Go to a step of a lesson and wait until it is drawn."""
    watched.hash(f"#/lessons?lang={language}&lesson={place}")
    number = int(re.findall(r"/(\d+)", place)[0])
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
        # Claims and controls are drawn after the answer opens, and then the figures can be read.
        watched.page.wait_for_selector(".lesson-stage:not([inert])", state="attached")


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
        assert one.title.in_language(language) in shown
        assert one.about.in_language(language) in shown
    assert not watched.complaints


@pytest.mark.parametrize("name", [one.name for one in untrained()])
def test_every_step_shows_its_numbers_and_its_claims(
    watched: Watched, served: Served, name: str, told: Told
) -> None:
    walk_through(watched, served, name, told)


def test_an_operand_has_the_name_its_place_gave_it(watched: Watched, served: Served) -> None:
    """One head: the query is a view of what W_Q put out, and is called query all the same."""
    open_page(watched, served)
    number = 1 + [step.key for step in steps_of("masked-attention")].index("scores")
    lesson(watched, f"masked-attention/{number}")
    answered(watched)
    watched.page.wait_for_selector("cut-lessons cut-equation .tile")
    equations = " ".join(" ".join(texts(watched.page, "cut-lessons cut-equation")).split())
    assert re.search(r"query\b.*×.*key.*=.*scores", equations)
    assert not re.search(r"output × key", equations)


@pytest.fixture(scope="session")
def carried_served(bundled_folder: Path) -> Iterator[Served]:
    """A server for the model of the package."""
    app = create_app(Translator.load(bundled_folder), folder=bundled_folder)
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        yield server.url, app.state.session
        server.stop()


@pytest.mark.parametrize("name", [one.name for one in lessons() if one.trained])
def test_every_step_of_a_lesson_on_the_carried_model(
    watched: Watched, carried_served: Served, name: str, told: Told
) -> None:
    walk_through(watched, carried_served, name, told)


def walk_through(watched: Watched, served: Served, name: str, told: Told) -> None:
    """Every step of a lesson on the page, in both languages."""
    url, session = served
    watched.go(f"{url}#/lessons?lang=en&lesson={name}/1")
    steps = told[name, session.translator]
    for language in ("en", "zh"):  # one after the other: a switch draws the whole page anew
        for number, step in enumerate(steps, start=1):
            lesson(watched, f"{name}/{number}", language)
            watched.page.wait_for_function(
                "title => document.querySelector('cut-lessons h1')?.innerText === title",
                arg=step.title.in_language(language),
            )
            answered(watched)
            is_shown(watched.page, step, language)
    assert not watched.complaints


def is_shown(page: Any, step: Step, language: str) -> None:
    """The tables, pictures, slips, claims and first numbers of a step."""
    page.wait_for_function(
        "n => document.querySelectorAll('.lesson-matrix, .lesson-picture').length === n",
        arg=len(step.matrices) + len(step.pictures),
    )
    page.wait_for_function(  # they come with the answer, when nothing else is being drawn
        "n => document.querySelectorAll('.claim').length === n", arg=len(step.claims)
    )
    claims = texts(page, ".claim")
    assert page.locator(".claim.broken").count() == sum(not c.holds for c in step.claims)
    captions = texts(page, ".lesson-matrix figcaption b")
    assert captions == [localized(matrix.name, language) for matrix in step.matrices]
    assert page.locator("td.slip s").count() == sum(len(m.slips()) for m in step.matrices)
    if not step.measured:
        for text, claim in zip(claims, step.claims, strict=True):
            assert claim.said.in_language(language) in text
        _numbers(page, step)


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
    assert watched.page.locator(".lesson-stage:not([inert]) .lesson-matrix").count() == 0
    answered(watched)
    watched.page.wait_for_selector(".lesson-stage:not([inert]) .lesson-matrix")
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


def dragged(watched: Watched, piece: Any, onto: Any) -> None:
    """Drag with the mouse, and again if nothing was dropped: a loaded browser may miss a move."""
    watched.page.evaluate(
        "() => document.addEventListener('drop', () => { window.dropped = true; }, true)"
    )
    for _ in range(5):
        watched.settled()
        piece.hover()
        watched.page.mouse.down()
        for _ in range(3):  # the first begins the drag; `dragover` needs two more
            onto.hover()
        watched.page.mouse.up()
        watched.page.wait_for_timeout(200)
        if watched.page.evaluate("() => window.dropped === true"):
            return
    raise AssertionError("five drags, and nothing was dropped")


def test_words_are_dragged_and_keep_their_vectors(watched: Watched, served: Served) -> None:
    open_page(watched, served)
    place = next(n for n, step in enumerate(steps_of("self-attention"), start=1) if step.controls)
    lesson(watched, f"self-attention/{place}")
    answered(watched)
    pieces = watched.page.locator(".order .piece")
    before = texts(watched.page, ".order .piece")
    rows = "() => [...document.querySelector('.lesson-matrix tbody').rows].map(r => r.innerText)"
    old = dict(line.split("\t", 1) for line in watched.page.evaluate(rows))
    moved = list(before)
    for place in (1, 2, 3) if IN_FIREFOX else (3,):  # whose driver cannot drag, but press "swap"
        if IN_FIREFOX:
            watched.page.locator(".order button").nth(place - 1).click()
        else:
            dragged(watched, pieces.nth(0), pieces.nth(place))
        moved = [*before[1 : place + 1], before[0], *before[place + 1 :]]
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


def test_a_language_of_the_lessons_alone_is_offered_and_the_rest_is_english(
    watched: Watched, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in lesson_texts.FOLDER.glob("*.md"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    french = "# positions: La place d'un mot\n\nDes sinus et des cosinus.\n"
    (tmp_path / "positions.fr.md").write_text(french, encoding="utf-8")
    monkeypatch.setattr(lesson_texts, "FOLDER", tmp_path)
    open_page(watched, served)
    watched.hash("#/lessons?lang=en")
    names = []
    for _ in range(3):
        names.append(watched.page.inner_text("#language"))
        watched.page.click("#language")
        watched.page.wait_for_function(
            "old => document.querySelector('#language').innerText !== old", arg=names[-1]
        )
    assert names == ["中文", "français", "English"]
    watched.hash("#/lessons?lang=fr")
    watched.page.wait_for_selector("html[lang=fr]")
    listed = watched.page.locator("[data-lesson=positions]", has_text="La place d'un mot")
    listed.wait_for()
    assert watched.page.locator("cut-lessons h1").inner_text() == "Lessons"
    assert watched.page.evaluate("document.documentElement.lang") == "fr"


def test_figures_stand_there_before_the_answer_and_cannot_be_read(
    watched: Watched, served: Served
) -> None:
    open_page(watched, served)
    page = watched.page
    lesson(watched, "by-hand/8")
    figures = page.locator(".lesson-stage[inert] .lesson-matrix").count()
    assert figures > 2
    assert "blur" in page.evaluate(
        "() => getComputedStyle(document.querySelector('.lesson-stage')).filter"
    )
    answered(watched)
    assert page.locator(".lesson-stage[inert]").count() == 0
    assert page.locator(".lesson-matrix").count() == figures


@pytest.mark.parametrize("width", [360, 1024])
def test_a_lesson_fits_a_narrow_screen(browser: Any, served: Served, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 720})
    watched = Watched(context)
    open_page(watched, served)
    for place in ("by-hand/4", "by-hand/8"):
        lesson(watched, place, "zh")
        answered(watched)
        assert watched.page.evaluate("() => document.documentElement.scrollWidth") <= width
    tab = watched.page.locator("#views a[aria-current]").bounding_box()
    assert tab is not None
    assert tab["x"] + tab["width"] <= width + 1
    context.close()


# Of the stage's height: the top of the first figure, the end of the last; and whether it scrolls.
ROOM = """
() => {
  const { top, height } = document.querySelector('#stage').getBoundingClientRect();
  const boxes = [...document.querySelectorAll('.lesson-stage > figure')]
    .map((figure) => figure.getBoundingClientRect());
  const { scrollHeight, clientHeight } = document.querySelector('#stage');
  return [(Math.min(...boxes.map((box) => box.top)) - top) / height,
    (Math.max(...boxes.map((box) => box.bottom)) - top) / height, scrollHeight > clientHeight];
}
"""


@pytest.mark.parametrize(
    ("width", "height", "mode"), [(1920, 1080, ""), (1440, 900, ""), (1920, 1080, "&present=1")]
)
def test_figures_of_a_lesson_fill_a_large_screen(
    browser: Any, served: Served, width: int, height: int, mode: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    watched = Watched(context)
    open_page(watched, served)
    for place in ("masked-attention/1", "by-hand/4", "positions/1", "positions/4"):
        for language in ("en", "zh"):
            lesson(watched, place + mode, language)
            answered(watched)
            watched.page.wait_for_selector(".lesson-stage > figure[style*=--figure]")
            first, last, scrolls = watched.page.evaluate(ROOM)
            assert last > 0.6, f"{place}: the lower {1 - last:.0%} are blank"
            assert 0 <= first < 0.4, f"{place}: the upper {first:.0%} are blank"
            assert last <= 1, f"{place}: figures end below the screen"
            assert not scrolls, place
    context.close()


def test_matrices_of_a_lesson_stand_beside_each_other(watched: Watched, served: Served) -> None:
    open_page(watched, served)
    lesson(watched, "masked-attention/2")
    answered(watched)
    watched.page.wait_for_selector("cut-lessons .tile")
    boxes = [one.bounding_box() for one in watched.page.locator(".lesson-matrix").all()]
    assert len(boxes) == 3
    assert len({box["y"] for box in boxes}) == 1
