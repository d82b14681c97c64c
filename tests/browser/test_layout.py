"""Small and large screens, light and dark, names for everything that can be pressed."""

import re
from typing import Any

import pytest

from cutaway.glass.html import web
from cutaway.serve.session import Session
from tests.browser.conftest import Watched, without_motion

TEXT = "The cat is on the mat."
PLACES = [
    f"#/translate?lang=en&text={TEXT}&beam=4&step=2",
    f"#/look?lang=en&text={TEXT}&at=decoder.layers.0.cross_attention.weights[0,0,1,1]",
    f"#/zoom?lang=en&text={TEXT}&at=decoder.layers.0.cross_attention.weights[0,0,1,1]",
    f"#/walk?lang=en&text={TEXT}&walk=9",
    f"#/training?lang=en&text={TEXT}&place=decoder.layers.0.feed_forward",
    f"#/compare?lang=en&text={TEXT}&other=The dog sees the tree.",
    f"#/pictures?lang=en&text={TEXT}",
]


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 2560])
def test_nothing_runs_over_the_edge(browser: Any, served: tuple[str, Session], width: int) -> None:
    url, _ = served
    context = browser.new_context(viewport={"width": width, "height": 800})
    watched = Watched(context)
    for place in PLACES:
        watched.page.goto("about:blank")
        watched.go(url + place)
        over = watched.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert over <= 0, f"{place} at {width}: {over} px too wide"
    assert watched.complaints == []
    context.close()


@pytest.mark.browser
def test_the_inspector_is_a_sheet_on_a_phone(browser: Any, served: tuple[str, Session]) -> None:
    url, _ = served
    context = browser.new_context(viewport={"width": 360, "height": 720}, has_touch=True)
    watched = Watched(context)
    watched.go(url + PLACES[1])
    watched.page.wait_for_selector("#cell-value")
    box = watched.page.locator("#inspector-column").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == pytest.approx(720, abs=1)
    assert box["width"] == watched.page.evaluate("document.documentElement.clientWidth")
    watched.page.click("#close-sheet")
    watched.page.wait_for_selector("#inspector-column", state="hidden")
    context.close()


@pytest.mark.browser
def test_a_path_stays_in_view_above_the_sheet_of_a_phone(
    browser: Any, served: tuple[str, Session]
) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    watched = Watched(context)
    attention = "decoder.layers.0.cross_attention"
    cells = [f"{attention}.{name}[0,0,1,1]" for name in ("weights", "masked", "scaled")]
    watched.go(f"{served[0]}#/look?lang=en&text={TEXT}&at={cells[0]}&path={';'.join(cells)}")
    watched.page.wait_for_selector("#cell-value")
    watched.page.locator("cut-path .card").nth(2).wait_for()
    path = watched.page.locator("cut-path").bounding_box()
    sheet = watched.page.locator("#inspector-column").bounding_box()
    assert path is not None
    assert sheet is not None
    assert path["y"] >= 0
    assert path["y"] + path["height"] <= sheet["y"] + 1
    watched.page.locator("cut-path .card").nth(1).click()
    watched.inspected(cells[1])
    assert watched.complaints == []
    context.close()


# Indices of the inspector, each with its lines, and by how much it runs over the column's edge.
INDICES = """
() => {
  const inspector = document.querySelector('cut-inspector');
  const edge = inspector.getBoundingClientRect().right;
  const walker = document.createTreeWalker(inspector, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const from = node.data.search(/\\[\\d+,/);
    if (from < 0 || !node.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, node.data.indexOf(']', from) + 1);
    const boxes = [...range.getClientRects()];
    found.push([range.toString(), new Set(boxes.map((box) => box.top)).size,
      Math.max(...boxes.map((box) => box.right)) - edge]);
  }
  return found;
}
"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1024, 1440])
def test_an_index_stands_on_one_line(browser: Any, served: tuple[str, Session], width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    watched = Watched(context)
    attention = "decoder.layers.0.cross_attention"
    for language in ("en", "zh"):
        watched.go(f"{served[0]}#/look?lang={language}&text={TEXT}&at={attention}.weights[0,0,1,1]")
        for name in ("weights", "masked", "scaled", "scores"):
            address = f"{attention}.{name}[0,0,1,1]"
            watched.inspect(address)
            goes_into = watched.page.locator("cut-inspector .goes-into")
            goes_into.evaluate("(all) => { all.open = true; }")
            watched.page.wait_for_selector("cut-inspector .goes-into li")
            assert watched.page.inner_text("cut-inspector .path") == address
            found = watched.page.evaluate(INDICES)
            assert len(found) > 2
            assert [one for one in found if one[1] != 1 or one[2] > 0] == []
    context.close()


@pytest.mark.browser
def test_heads_are_chosen_at_one_place(watched: Watched, served: tuple[str, Session]) -> None:
    """Look inside has a picture of every head to press; the bar does not repeat them."""
    attention = "decoder.layers.0.cross_attention"
    watched.go(f"{served[0]}#/look?lang=en&text={TEXT}&place={attention}")
    watched.page.wait_for_selector("cut-equation .heads button")
    watched.page.wait_for_selector("cut-bar [aria-label=layer]")
    assert watched.page.locator("cut-bar [aria-label=head]").count() == 0
    watched.page.locator("cut-equation .heads button").nth(1).click()
    watched.page.wait_for_selector("cut-equation .heads button:nth-of-type(2)[aria-pressed=true]")


NAMELESS = """
() => [...document.querySelectorAll(
    'button, a, input, select, [role=button], [role=img], [tabindex="0"]')]
  .filter(e => e.offsetParent !== null || e instanceof SVGElement)
  .filter(e => !e.getAttribute('aria-label') && !e.textContent.trim())
  .filter(e => !e.title && !e.labels?.length)
  .map(e => e.outerHTML.slice(0, 120))
"""


@pytest.mark.browser
def test_everything_that_can_be_pressed_has_a_name(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    for place in PLACES:
        watched.go(url + place)
        assert watched.page.evaluate(NAMELESS) == [], place


@pytest.mark.browser
def test_nothing_moves_when_motion_is_unwelcome(browser: Any, served: tuple[str, Session]) -> None:
    url, _ = served
    context = without_motion(browser)
    watched = Watched(context)
    watched.go(url + PLACES[1])
    lasting = watched.page.evaluate(
        "() => [...document.querySelectorAll('*')].map(e => getComputedStyle(e))"
        ".filter(s => parseFloat(s.transitionDuration) > 0 && s.transitionProperty !== 'none'"
        " || s.animationName !== 'none').length"
    )
    assert lasting == 0
    context.close()


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_at_least_aa(theme: str) -> None:
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", web("styles/base.css"))
    colours = {name: dark if theme == "dark" else light for name, light, dark in pairs}
    for ink in ("ink", "soft", "focus", "good", "bad"):
        for ground in ("paper", "ground", "focus-ground"):
            if ink in ("soft", "good", "bad") and ground == "focus-ground":
                continue
            high, low = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (theme, ink, ground)
