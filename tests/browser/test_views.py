"""What a person does: translate, step, choose another word, open, walk, change, compare."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from cutaway.decode import Translator
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.progress import Progress
from cutaway.serve.runs import RUNS_IN_MEMORY
from cutaway.serve.server import Server
from cutaway.serve.session import Session
from tests.browser.conftest import EXAMPLES, Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
WEIGHTS = "decoder.layers.1.cross_attention.weights"


def test_an_empty_page_offers_sentences_and_translates_one(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en")
    assert page.locator(".example").all_inner_texts() == EXAMPLES
    page.click(".example >> nth=0")
    page.wait_for_selector("#translation")
    expected = session.translate(EXAMPLES[0])["output"]
    assert page.inner_text("#translation") == expected
    assert "text=" in page.url
    assert watched.complaints == []


def test_the_page_lands_on_a_finished_translation_with_a_cell_open(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(url)
    page.wait_for_selector("#translation")
    run = session.translate(EXAMPLES[0])
    assert page.inner_text("#translation") == run["output"]
    assert page.input_value("#text") == EXAMPLES[0]
    words = [n for n, piece in enumerate(run["pieces"]) if piece.lstrip("▁").isalpha()]
    keys = [n for n, piece in enumerate(run["source"]) if piece.lstrip("▁").isalpha()]
    weights = session.run(run["key"]).served.trace[WEIGHTS].tensor[0][:, words][:, :, keys]
    page.wait_for_selector("#cell-value")
    shown = float(page.get_attribute("cut-inspector", "data-value") or "nan")
    assert shown == pytest.approx(float(weights.max()), abs=1e-7)
    assert watched.complaints == []


def test_next_and_back_move_one_word_and_the_browser_follows(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}")
    pieces = session.translate(TEXT)["pieces"]
    page.click("#next")
    page.wait_for_selector("[data-step='1'][aria-current=step]")
    watched.settled()
    assert page.inner_text(".so-far").startswith("<start> " + pieces[0].lstrip("▁"))
    page.click("#back")
    page.wait_for_selector("[data-step='0'][aria-current=step]")
    page.go_back()
    page.wait_for_selector("[data-step='1'][aria-current=step]")


def test_probabilities_are_those_of_the_model(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=2")
    run = session.run(session.translate(TEXT)["key"])
    row = run.served.trace["probabilities"].tensor[0, 2]
    best = row.topk(8)
    words = session.translator.target_tokenizer.pieces(best.indices.tolist())
    watched.page.wait_for_selector(".choices > li > .piece")
    shown = watched.page.locator(".choices > li > .piece").all_inner_texts()
    assert shown == [word.replace("▁", "␣") if word == "▁" else word for word in words]
    percent = watched.page.locator(".choices > li .p").first.inner_text()
    assert abs(float(percent.rstrip("%")) / 100 - float(best.values[0])) < 6e-3


def test_another_word_is_taken_and_the_translation_goes_on_from_it(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=1")
    chosen = page.get_attribute(".pick >> nth=0", "data-id")
    page.click(".pick >> nth=0")
    page.wait_for_selector(".words-strip .forced")
    watched.settled()
    first = session.translate(TEXT)["ids"][0]
    expected = session.translate(TEXT, prefix=[first, int(chosen)])["output"]
    assert page.inner_text("#translation") == expected
    assert f"prefix={first}%2C{chosen}" in page.url


def test_words_are_drawn_and_the_own_choice_comes_back(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&temperature=3")
    page.click("#draw")
    page.wait_for_selector("#own-choice")
    drawn = "() => window.cutaway.session.translation.ids"
    expected = session.translate(TEXT, prefix=[], sample=1, temperature=3.0)["ids"]
    assert page.evaluate(drawn) == expected
    page.click("#own-choice")
    page.wait_for_selector("#own-choice", state="detached")
    assert page.inner_text("#translation") == session.translate(TEXT, prefix=[])["output"]


def test_the_beam_is_a_tree_with_its_scores(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&beam=3")
    tree = session.translate(TEXT, beam=3)["tree"]
    watched.page.wait_for_selector(".beam-tree .node.won")
    assert watched.page.locator(".beam-tree .node").count() == len(tree["nodes"])
    assert (
        watched.page.locator(".beam-tree .node.won").count()
        == len(session.translate(TEXT, beam=3)["ids"]) + 1
    )
    assert watched.page.locator(".beam-tree .node.pruned").count() > 0


def test_from_the_map_to_a_cell_and_on_to_the_end(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}")
    page.click("[data-place='decoder.layers.0.cross_attention']")
    page.wait_for_selector("[data-value='decoder.layers.0.cross_attention.scores'] .picture")
    page.click("[data-value='decoder.layers.0.cross_attention.scores'] .picture >> nth=0")
    watched.settled()
    visited = []
    for _ in range(40):
        at = page.get_attribute("cut-inspector", "data-address") or ""
        visited.append(at)
        if page.get_attribute("cut-inspector", "data-rule") == "source":
            break
        link = page.locator("cut-inspector .operands button[data-address]").first
        following = link.get_attribute("data-address")
        link.click()
        watched.inspected(following or "")
    assert page.get_attribute("cut-inspector", "data-rule") == "source", visited
    assert "ends" in page.inner_text(".verdict")
    for _ in visited[1:]:
        page.go_back()
    watched.inspected(visited[0])
    assert watched.complaints == []


def test_the_keyboard_alone(watched: Watched, served: tuple[str, Session]) -> None:
    url, _ = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHTS}[0,0,1,1]")
    page.wait_for_selector("cut-table td[aria-selected=true]")
    page.focus("cut-table td[aria-selected=true]")
    page.keyboard.press("ArrowRight")
    watched.inspected(f"{WEIGHTS}[0,0,1,2]")
    page.keyboard.press("ArrowDown")
    watched.inspected(f"{WEIGHTS}[0,0,2,2]")
    watched.settled()
    label = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert re.match(r"query '.+', key '.+', weights \+", label), label
    page.keyboard.press("End")
    watched.inspected(f"{WEIGHTS}[0,0,2,6]")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.matches('.operands button')")
    target = page.evaluate("() => document.activeElement.dataset.address")
    page.keyboard.press("Enter")
    watched.inspected(target)
    page.wait_for_function("() => document.activeElement.matches('cut-table td')")
    page.keyboard.press("Backspace")
    watched.inspected(f"{WEIGHTS}[0,0,2,6]")
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "text"


def test_a_tab_keeps_what_it_looks_at_while_others_ask(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHTS}[0,0,1,1]")
    page.wait_for_selector("#cell-value")
    for number in range(RUNS_IN_MEMORY + 2):
        session.translate("A child looks at the tree.", prefix=[5 + number])
    assert session.runs.known(session.translate(TEXT, snapshot="0")["key"])
    away = "encoder.layers.1.feed_forward.hidden[0,2,3]"  # its numbers are not in the page yet
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    session.runs.clear()
    found = watched.inspect(away)
    assert float(found["value"]) == trace.explain(away).value
    assert page.is_hidden("#message")
    session.runs.clear()
    page.fill("#text", "The dog sees the house.")
    page.press("#text", "Enter")
    page.wait_for_selector("#translation")
    assert page.inner_text("#translation") == session.translate("The dog sees the house.")["output"]
    assert watched.complaints == []


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


def test_formula_code_and_words_of_a_cell(watched: Watched, served: tuple[str, Session]) -> None:
    url, _ = served
    page = watched.page
    watched.go(
        f"{url}#/look?lang=en&text={TEXT}&at=encoder.layers.0.self_attention.scores[0,0,1,1]"
    )
    page.wait_for_selector("#cell-value")
    page.click("#tab-formula")
    page.wait_for_selector("cut-inspector math msub")
    page.click("#tab-code")
    page.wait_for_selector(".code-line.lit")
    assert "scores = query @ key.transpose(-2, -1)" in page.inner_text(".code-line.lit")
    page.click("#tab-words")
    page.wait_for_selector(".words p")
    assert "products" in page.inner_text(".words")
    page.click("#language")
    page.wait_for_selector("html[lang=zh-CN]")
    page.wait_for_function("() => /相乘/.test(document.querySelector('.words')?.textContent ?? '')")
    assert "lang=zh" in page.url


def test_silencing_a_head_is_marked_compared_and_restored(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHTS}[0,1,1,1]")
    page.click(".change summary")
    page.click("#silence")
    watched.settled()
    page.wait_for_selector("[data-value='decoder.layers.1.cross_attention.context'].changed")
    change = "silence:decoder.layers.1.cross_attention:1"
    trace = session.run(session.translate(TEXT, change=change)["key"]).served.trace
    assert (
        trace["decoder.layers.1.cross_attention.concatenated"].tensor[0, :, 8:16].abs().max() == 0
    )
    page.click("[data-view=compare]")
    page.wait_for_selector(".compare-body canvas")
    assert page.locator(".two .column").count() == 2
    page.click("#restore")
    page.wait_for_function("() => !location.hash.includes('change=')")


def test_a_foreign_script_is_warned_of_in_the_readers_language(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    watched.go(f"{url}#/translate?lang=zh&text=猫在垫子上")
    watched.page.wait_for_selector("#translation", state="attached")
    warnings = watched.page.locator(".warning").all_inner_texts()
    assert any("源语言" in text for text in warnings), warnings


def test_two_models_stand_side_by_side_with_their_difference(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/compare?lang=en&text={TEXT}&at={WEIGHTS}[0,1,2,3]")
    page.select_option("select[name=model]", "younger")
    page.click(".pair [type=submit]")
    page.wait_for_selector(".compare-body p.result")
    assert "othermodel=younger" in page.url
    watched.settled()
    runs = [session.translate(TEXT, model=name) for name in ("", "younger")]
    assert runs[0]["output"] != runs[1]["output"]
    fed = session.translate(TEXT, model="younger", target=runs[0]["output"])  # the same words
    mine, other = (session.run(run["key"]).served.trace[WEIGHTS].tensor for run in (runs[0], fed))
    shown = page.locator(".compare-body p.result").inner_text().replace("−", "-").split()
    wanted = [float(mine[0, 1, 2, 3]), float(other[0, 1, 2, 3])]
    assert [float(shown[0]), float(shown[2])] == pytest.approx(wanted, abs=1e-4)
    assert abs(wanted[0] - wanted[1]) > 1e-3
    texts = page.locator(".two .column .target-text").all_inner_texts()
    assert texts == [run["output"] for run in runs]
    page.wait_for_selector("canvas.difference")
    assert watched.complaints == []


def test_a_mask_is_moved_and_moved_back(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    page = watched.page
    attention = "decoder.layers.1.self_attention"
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={attention}.weights[0,1,2,3]")
    assert watched.inspected(f"{attention}.weights[0,1,2,3]")["value"] == "0"
    assert page.inner_text(".because").startswith("because ¬mask = ")
    page.click(".change summary")
    page.click("#mask-right")
    page.wait_for_function("() => document.querySelector('cut-inspector').dataset.value !== '0'")
    run = session.translate(TEXT, change=f"shift:{attention}:1")
    weight = session.run(run["key"]).served.trace[f"{attention}.weights"].tensor[0, 1, 2, 3]
    value = watched.inspected(f"{attention}.weights[0,1,2,3]")["value"]
    assert float(value) == pytest.approx(float(weight), abs=1e-6)
    watched.settled()
    page.click(".change summary")
    page.click("#mask-left")
    page.wait_for_function("() => !location.hash.includes('change=')")


def test_the_walk_has_thirteen_steps_each_with_a_question(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    page = watched.page
    watched.go(f"{url}#/walk?lang=en&text={TEXT}")
    for n in range(1, 14):
        page.wait_for_function(
            "n => document.querySelector('.count')?.textContent.startsWith(`step ${n} of 13`)",
            arg=n,
        )
        page.click("#reveal")
        page.wait_for_selector(".answer")
        page.wait_for_selector("#cell-value")
        if n < 13:
            page.click("#next")
    assert page.is_disabled("#next")
    assert watched.complaints == []


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


def saved(page: Any, button: str, folder: Path) -> bytes:
    """What the page gives to download; Firefox's driver is silent: there the page is asked."""
    if page.context.browser.browser_type.name != "firefox":
        with page.expect_download() as download:
            page.click(button)
        download.value.save_as(folder / "saved")
        return (folder / "saved").read_bytes()
    page.evaluate(
        "() => { HTMLAnchorElement.prototype.click = function () {"
        " if (this.download) window.saved = window.blobs.get(this.href); };"
        " window.saved = undefined; window.blobs = new Map(); const own = URL.createObjectURL;"
        " URL.createObjectURL = (blob) => { const url = own.call(URL, blob);"
        " window.blobs.set(url, blob); return url; }; }"
    )
    page.click(button)
    page.wait_for_function("() => window.saved")
    return bytes(page.evaluate("async () => [...new Uint8Array(await window.saved.arrayBuffer())]"))


def test_the_view_is_saved_as_picture_and_numbers(
    watched: Watched, served: tuple[str, Session], tmp_path: Path
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHTS}[0,0,1,1]")
    page.wait_for_selector("#cell-value")
    found = {}
    for kind in ("svg", "png", "json"):
        page.click("#save")
        found[kind] = saved(page, f"[data-save={kind}]", tmp_path)
    assert found["svg"].startswith(b"<svg")
    assert found["svg"].count(b"<rect") == 1 + 7 * 7
    assert found["png"].startswith(b"\x89PNG")
    numbers = json.loads(found["json"])
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    assert numbers["value"] == trace.explain(f"{WEIGHTS}[0,0,1,1]").value
    assert numbers["operands"]


def test_no_request_leaves_the_machine_and_scripts_are_bound(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    response = watched.page.goto(f"{url}#/look?lang=en&text={TEXT}")
    watched.settled()
    assert response is not None
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert watched.hosts == {url.split("/")[2]}
    blocked = watched.page.evaluate(
        "() => new Promise(done => { const s = document.createElement('script');"
        " s.textContent = 'window.injected = 1'; document.body.append(s);"
        " setTimeout(() => done(window.injected === undefined), 50); })"
    )
    assert blocked


SMALL_TEXT = """
() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: parent, textContent } = walker.currentNode;
    const box = parent.getBoundingClientRect();
    if (!textContent.trim() || parent.closest('script, noscript, .sr, .skip, [hidden]')) continue;
    if (box.width === 0 || box.bottom < 0 || box.top > innerHeight) continue;
    const svg = parent.closest('svg');
    const drawn = svg?.getBoundingClientRect(), { width, height } = svg?.viewBox.baseVal ?? {};
    const scale = width ? Math.min(drawn.width / width, drawn.height / height)
      : parent.currentCSSZoom;  // Firefox's getScreenCTM leaves the zoom of the page out
    const size = parseFloat(getComputedStyle(parent).fontSize) * scale;
    if (size < 15.99) found.push(`${size} ${parent.tagName}.${parent.className}: ${textContent}`);
  }
  return found;
}
"""


def test_for_a_projector_no_label_is_smaller_than_16_pixels(
    browser: Any, served: tuple[str, Session]
) -> None:
    context = browser.new_context(viewport={"width": 1920, "height": 1080}, locale="en-US")
    watched = Watched(context)
    page = watched.page
    watched.go(f"{served[0]}#/translate?lang=en&text={TEXT}")
    page.wait_for_selector("#cell-value")
    page.keyboard.press("f")
    page.wait_for_selector("body.present")
    assert page.evaluate(SMALL_TEXT) == []
    box = page.locator("#stage").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == pytest.approx(1080, abs=2)
    for place in ("look", "look&play=5"):
        view, _, film = place.partition("&")
        watched.hash(f"#/{view}?lang=en&text={TEXT}&present=1&at={WEIGHTS}[0,1,2,1]&{film}")
        page.wait_for_selector("cut-play .play-number" if film else "cut-look cut-table td")
        assert page.evaluate(SMALL_TEXT) == []
    page.keyboard.press("Escape")
    context.close()


def test_a_question_mark_lists_the_keys(watched: Watched, served: tuple[str, Session]) -> None:
    page = watched.page
    watched.go(f"{served[0]}#/translate?lang=zh&text={TEXT}")
    page.keyboard.press("?")
    page.wait_for_selector(".keys dt")
    assert page.locator(".keys dt").count() == page.locator(".keys dd:not(:empty)").count() > 8
    page.keyboard.press("Escape")
    page.wait_for_selector(".keys", state="detached")
    page.wait_for_selector("#play")
    page.keyboard.press("p")
    page.wait_for_selector("cut-play .play-caption > *")


def test_compare_follows_the_map(watched: Watched, served: tuple[str, Session]) -> None:
    page = watched.page
    watched.go(f"{served[0]}#/compare?lang=en&text={TEXT}&other=The dog sees the tree.")
    page.wait_for_selector(f".compare-body h2:has-text('{WEIGHTS}')")
    page.click("[data-place='encoder.layers.0.feed_forward']")
    page.wait_for_selector(".compare-body h2:has-text('encoder.layers.0.feed_forward')")
    assert "#/compare?" in page.url
