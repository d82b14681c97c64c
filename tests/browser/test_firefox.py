"""The same page in Firefox: landing, a cell, its film, keys, lessons, both languages."""

import shutil
from collections.abc import Iterator

import pytest

from cutaway.serve.session import Session
from tests.browser.conftest import EXAMPLES
from tests.browser.firefox import Firefox

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
WEIGHTS = "decoder.layers.1.cross_attention.weights"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """Firefox as the system has it, for all tests of this file."""
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("no firefox on this machine: install the package firefox-esr")
    firefox = Firefox(path, tmp_path_factory.mktemp("firefox"))
    yield firefox
    firefox.close()


@pytest.fixture
def firefox(running: Firefox) -> Iterator[Firefox]:
    """Whatever a test does, the page complains of nothing."""
    running.complaints.clear()
    yield running
    assert running.complaints == []


def text(firefox: Firefox, selector: str) -> str:
    found: str = firefox.wait(f"document.querySelector('{selector}')?.textContent")
    return found


def test_it_lands_on_a_finished_translation(firefox: Firefox, served: tuple[str, Session]) -> None:
    url, session = served
    firefox.go(url)
    run = session.translate(EXAMPLES[0])
    assert text(firefox, "#translation") == run["output"]
    assert firefox.wait("document.querySelectorAll('.arc-row path').length") > len(run["pieces"])
    assert text(firefox, "#ask-play").startswith("▶")
    shown = float(firefox.wait("document.querySelector('cut-inspector').dataset.value"))
    assert 0.3 < shown <= 1


def test_a_clicked_cell_is_the_number_of_python(
    firefox: Firefox, served: tuple[str, Session]
) -> None:
    url, session = served
    firefox.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHTS}[0,1,2,1]")
    firefox.click("cut-table tbody tr:nth-child(4) td:nth-of-type(4)")
    firefox.wait("!location.hash.includes('2%2C1%5D')")
    firefox.wait(
        "document.querySelector('cut-inspector').dataset.address"
        " === new URLSearchParams(location.hash.split('?')[1]).get('at')"
    )
    at = firefox.evaluate("document.querySelector('cut-inspector').dataset.address")
    why = session.run(session.translate(TEXT)["key"]).served.trace.explain(at)
    assert float(firefox.evaluate("document.querySelector('cut-inspector').dataset.value")) == (
        why.value
    )
    assert firefox.evaluate("document.querySelector('.verdict').dataset.good") == "true"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_weight_is_played(firefox: Firefox, served: tuple[str, Session], language: str) -> None:
    url, session = served
    firefox.go(f"{url}#/look?lang={language}&text={TEXT}&at={WEIGHTS}[0,1,2,1]")
    firefox.click("#play")
    firefox.wait("document.querySelector('cut-play').at > 0.2")
    firefox.press("ArrowRight")
    assert firefox.evaluate("document.querySelector('cut-play').running") is False
    frames = firefox.evaluate("document.querySelector('cut-play').frames.length")
    for _ in range(frames):
        firefox.click("#play-next")
    weight = session.run(session.translate(TEXT)["key"]).served.trace[WEIGHTS].tensor[0, 1, 2, 1]
    assert float(text(firefox, ".play-number b")) == pytest.approx(float(weight), rel=1e-6)
    chinese = any("一" <= letter <= "鿿" for letter in text(firefox, ".play-caption p"))
    assert chinese == (language == "zh")


def test_a_lesson_is_read_and_answered(firefox: Firefox, served: tuple[str, Session]) -> None:
    firefox.go(f"{served[0]}#/lessons?lang=zh&lesson=by-hand/8")
    assert firefox.wait("document.querySelectorAll('.lesson-stage[inert] td').length") > 20
    firefox.click(".question summary")
    firefox.wait("document.querySelectorAll('.claim').length")
    assert firefox.evaluate("document.querySelectorAll('.claim.broken').length") == 0
    firefox.press("?")
    assert firefox.wait("document.querySelectorAll('.keys dd').length") > 8
