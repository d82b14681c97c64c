"""What a person does in any view: open a cell, use the keyboard, walk, save, present."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cutaway.serve.runs import RUNS_IN_MEMORY
from cutaway.serve.session import Session
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser


TEXT = "The cat is on the mat."


WEIGHTS = "decoder.layers.1.cross_attention.weights"


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
