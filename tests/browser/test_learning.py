"""A run as it learns: a training step, its curve and snapshots, a run still in progress."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cutaway.artifact.places import run_folder, teachers_folder
from cutaway.decode import Translator
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.progress import Progress
from cutaway.serve.server import Server
from cutaway.serve.session import Session
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
WEIGHTS = "decoder.layers.1.cross_attention.weights"


def test_a_model_that_learns_on_does_not_leave_a_tab_behind(
    watched: Watched, toy: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(toy, tmp_path / "model")
    app = create_app(Translator.load(folder), folder=folder)
    page = watched.page
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        watched.go(f"{server.url}#/look?lang=en&text={TEXT}&at={WEIGHTS}[0,0,1,1]")
        page.wait_for_selector("#cell-value")
        app.state.session.runs.clear()
        (folder / "manifest.json").touch()
        found = watched.inspect("encoder.layers.1.feed_forward.hidden[0,2,3]")
        assert found["good"] == "true"
        server.stop()


def test_a_training_step_shows_loss_gradients_and_update(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/training?lang=en&text={TEXT}&place=decoder.layers.0.feed_forward")
    page.wait_for_selector("#open-loss")
    answer = session.training_step(TEXT)
    shown = float(page.inner_text("#open-loss b").replace("−", "-"))
    assert shown / answer["facts"]["tokens"] == pytest.approx(answer["loss"], rel=1e-5)
    assert "no dropout" in page.inner_text("cut-training")  # it says what it is
    page.click(".weights tbody tr >> nth=0 >> button >> nth=1")
    watched.inspected("decoder.layers.0.feed_forward.W_1.weight.grad[0,0]")
    page.click(".weights tbody tr >> nth=0 >> button >> nth=2")
    after = watched.inspected("decoder.layers.0.feed_forward.W_1.weight.after[0,0]")
    assert after["good"] == "true"
    page.click("[data-phase=update]")
    page.wait_for_selector("cut-equation .tile")
    assert watched.complaints == []


def test_the_run_is_seen_learning(watched: Watched, served: tuple[str, Session], toy: Path) -> None:
    url, _ = served
    lines: list[dict[str, Any]] = [{"update": n, "loss": 7.0 / n, "epoch": 0} for n in range(1, 20)]
    sample = [["The cat is on the mat.", "Le chat est sur le tapis.", "le le"]]
    lines.append({"update": 20, "valid_loss": 0.5, "valid_bleu": 11.0, "samples": sample})
    (toy / "log.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    page = watched.page
    watched.go(f"{url}#/learn?lang=en&text={TEXT}")
    page.wait_for_selector("svg.curve path.line")
    assert "20" in page.inner_text("cut-learn > .hint")
    assert "le le" in page.inner_text(".samples")
    page.wait_for_selector(".film figure:nth-child(4) canvas")
    page.click(".film figure:nth-child(1) .picture")
    page.wait_for_function("() => location.hash.includes('snapshot=0')")
    assert watched.complaints == []


def test_the_learn_view_goes_on_when_another_server_takes_over(
    watched: Watched, toy: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(toy, tmp_path / "model")
    log, timing = (tmp_path / "model.run" / name for name in ("log.jsonl", "timing.jsonl"))
    log.parent.mkdir()
    timing.write_text('{"event": "started"}\n')
    log.write_text('{"update": 10, "loss": 2.0}\n')
    page = watched.page
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        first = Server(create_app(Translator.load(folder), folder=folder), listening).start()
        watched.go(f"{first.url}#/learn?lang=en&text={TEXT}")
        page.wait_for_function("() => document.querySelector('cut-learn')?.seen === 10")
        first.stop()
    page.wait_for_timeout(5500)  # the page asks, and nobody answers
    log.write_text(log.read_text() + '{"update": 47, "loss": 1.0}\n')
    with bound("127.0.0.1", port) as listening:
        second = Server(create_app(Translator.load(folder), folder=folder), listening).start()
        page.wait_for_function("() => document.querySelector('cut-learn').seen === 47")
        assert page.inner_text("cut-learn > .hint") == "Learning: step 47"
        timing.write_text('{"event": "finished"}\n')
        page.wait_for_selector("cut-learn > .hint:text('Finished at step 47')")
        second.stop()


def test_the_page_of_a_run_begins_before_its_model(
    watched: Watched, toy: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    app = create_app(folder=folder, progress=Progress(folder, under_way=True))
    page = watched.page
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        watched.go(server.url)
        page.wait_for_selector("cut-learn > .hint:text('Preparing')")
        assert page.is_hidden("#sentence")
        shutil.copytree(toy, folder)
        (tmp_path / "model.run").mkdir()
        (tmp_path / "model.run" / "log.jsonl").write_text('{"update": 10, "loss": 2.0}\n')
        page.wait_for_selector("cut-learn > .hint:text('Learning: step 10')")
        page.wait_for_selector(".film canvas")
        page.wait_for_selector("cut-bar .snapshot input")
        assert page.inner_text("#model-name") == "model en→fr"
        page.fill("#text", TEXT)
        page.press("#text", "Enter")
        page.wait_for_selector("#translation")
        server.stop()
    assert watched.complaints == []


def test_a_run_of_a_model_that_does_not_translate_shows_its_curve_alone(
    watched: Watched, tmp_path: Path
) -> None:
    log = tmp_path / "model.run" / "log.jsonl"
    log.parent.mkdir()
    log.write_text("".join(f'{{"update": {n}, "loss": {7 / n}}}\n' for n in range(1, 12)))
    app = create_app(folder=tmp_path / "model")
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        watched.go(f"{server.url}#/learn?lang=en")
        watched.page.wait_for_selector("svg.curve path.line")
        assert watched.page.locator("cut-learn h2:visible").count() == 0
        server.stop()
    assert watched.complaints == []


def test_snapshots_are_scrubbed(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}")
    page.locator(".snapshot input").fill("0")
    page.wait_for_function("() => location.hash.includes('snapshot=0')")
    watched.settled()
    expected = session.translate(TEXT, snapshot="0")["output"]
    page.wait_for_function(
        "text => document.querySelector('#translation')?.textContent === text", arg=expected
    )


def test_a_teacher_is_shown_until_the_model_itself_begins(watched: Watched, tmp_path: Path) -> None:
    out = tmp_path / "model"
    teacher = run_folder(teachers_folder(out) / "backward-1")
    teacher.mkdir(parents=True)
    line = {"update": 31, "loss": 2.0, "samples": [["Ein Haus.", "A house.", "a a"]]}
    (teacher / "log.jsonl").write_text(json.dumps(line) + "\n")
    page = watched.page
    with bound("127.0.0.1", 0) as listening:
        app = create_app(folder=out, progress=Progress(out, under_way=True))
        server = Server(app, listening).start()
        watched.go(f"{server.url}#/learn?lang=en")
        page.wait_for_selector("cut-learn > .hint:text('Teacher backward-1 has learnt from 31')")
        assert "a a" in page.inner_text(".samples")
        (run_folder(out) / "run.json").write_text("{}")
        (run_folder(out) / "log.jsonl").write_text('{"update": 7, "loss": 1.0}\n')
        page.wait_for_selector("cut-learn > .hint:text('Learning: step 7')")
        server.stop()
