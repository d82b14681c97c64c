"""Change a run and compare it: a silenced head, a moved mask, two models side by side."""

import pytest

from cutaway.serve.session import Session
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
WEIGHTS = "decoder.layers.1.cross_attention.weights"


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


def test_compare_follows_the_map(watched: Watched, served: tuple[str, Session]) -> None:
    page = watched.page
    watched.go(f"{served[0]}#/compare?lang=en&text={TEXT}&other=The dog sees the tree.")
    page.wait_for_selector(f".compare-body h2:has-text('{WEIGHTS}')")
    page.click("[data-place='encoder.layers.0.feed_forward']")
    page.wait_for_selector(".compare-body h2:has-text('encoder.layers.0.feed_forward')")
    assert "#/compare?" in page.url
