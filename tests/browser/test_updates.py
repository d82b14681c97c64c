"""An update of the run on the page: chosen, made again, and every number that of Python."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cutaway.serve.session import Session
from cutaway.training.replay import Replay
from tests.browser.conftest import Watched
from tests.browser.test_cells import chosen, click_through
from tests.training.helpers import run_here, tables

pytestmark = pytest.mark.browser
UPDATES, SHOWN = 17, 13


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two batches per update, clipped, with dropout and a moving average."""
    folder = tmp_path_factory.mktemp("run")
    values = tables(
        folder, updates=UPDATES, accumulate=2, tokens=97, clip=0.29, log_every=2, validate_every=11
    )
    run_here(values, folder / "model")
    return folder / "model"


@pytest.fixture(scope="module")
def page_of_run(run: Path) -> Iterator[tuple[str, Session]]:
    """A server for the run's model folder."""
    from cutaway.decode import Translator
    from cutaway.serve.app import create_app
    from cutaway.serve.listening import bound
    from cutaway.serve.server import Server

    app = create_app(Translator.load(run), folder=run)
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        yield server.url, app.state.session
        server.stop()


def shown_number(watched: Watched, address: str) -> float:
    return float(watched.page.inner_text(f"[data-open={address}]").replace("−", "-"))


def test_an_update_is_chosen_and_shown_as_python_has_it(
    watched: Watched, page_of_run: tuple[str, Session], run: Path
) -> None:
    url, session = page_of_run
    page = watched.page
    watched.go(f"{url}#/training?lang=en")
    watched.write(".update [name=update]", str(SHOWN))
    page.wait_for_selector(
        ".plan:has-text('the checkpoint after update 11; updates to make again before it: 1.')"
    )
    page.click("form.update button")
    page.wait_for_selector(".update-facts")
    expected = Replay(run).record(SHOWN).facts
    assert shown_number(watched, "total") == pytest.approx(expected["loss"], rel=1e-4)
    for name in ("norm", "shortened", "rate"):
        assert shown_number(watched, name) == pytest.approx(expected[name], rel=1e-4)
    assert "bit for bit" in page.inner_text(".update-facts")
    page.click(".update-facts summary")
    sentences = page.locator(".batch li").all_inner_texts()
    assert sentences == [f"{s} → {t}" for batch in expected["batches"] for s, t in batch]
    page.click("[data-open=norm]")
    assert watched.inspected("norm[]")["good"] == "true"
    trace = session.run(session.updates.record(SHOWN)["key"]).served.trace
    assert click_through(watched, trace, chosen(trace, 17, 3), 3) >= 35
    assert watched.complaints == []


def test_weights_before_and_after_the_update(
    watched: Watched, page_of_run: tuple[str, Session]
) -> None:
    url, _ = page_of_run
    page = watched.page
    watched.go(f"{url}#/training?lang=zh&update=4&place=decoder.layers.0.feed_forward")
    page.wait_for_selector(".weights")
    assert "第 4 次更新" in page.inner_text(".update-facts h2")
    page.click(".weights tbody tr >> nth=0 >> button >> nth=2")
    after = watched.inspected("decoder.layers.0.feed_forward.W_1.weight.after[0,0]")
    assert after["good"] == "true"
    assert watched.complaints == []


def test_an_update_beyond_the_run_is_one_line(
    watched: Watched, page_of_run: tuple[str, Session]
) -> None:
    url, _ = page_of_run
    watched.go(f"{url}#/training?lang=en&update=99")
    watched.page.wait_for_selector("text=it has made updates: 1 to 17")
