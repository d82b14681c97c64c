"""The film of a cell: its frames show what Python computes, and move only when asked."""

from typing import Any

import pytest
import torch

from cutaway.serve.session import Session
from tests.browser.conftest import Watched, without_motion

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
CROSS = "decoder.layers.1.cross_attention"
AT = "[0,1,2,3]"


def film(watched: Watched, url: str, address: str, view: str = "look") -> list[dict[str, Any]]:
    """Every frame of the film of a cell: what it says, and its number."""
    watched.go(f"{url}#/{view}?lang=en&text={TEXT}&at={address}&play=0")
    return frames(watched.page)


def frames(page: Any) -> list[dict[str, Any]]:
    """Step through an open film by its button."""
    page.wait_for_selector("cut-play .play-caption > *")
    count = int(page.evaluate("() => document.querySelector('cut-play').frames.length"))
    found = []
    for _ in range(count):
        page.click("#play-next")
        found.append(
            page.evaluate(
                "() => { const { say, total, kind } = document.querySelector('cut-play').dataset;"
                " return { say, kind, total: total === '' ? null : Number(total),"
                " text: document.querySelector('.play-number b')?.textContent }; }"
            )
        )
    return found


def test_a_weight_is_played_from_its_products_to_its_share(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    told = film(watched, url, f"{CROSS}.weights{AT}")
    assert [frame["say"] for frame in told] == [
        *("take", "product", "product", "product", "product", "product", "others"),
        *("result", "unmasked", "row", "max", "exp", "z", "share", "unmasked", "lit"),
    ]
    number = {frame["say"]: frame["total"] for frame in told}
    head = {name: trace[f"{CROSS}.{name}"].tensor[0, 1].double() for name in ("query", "key")}
    products = head["query"][2] * head["key"][3]
    largest = products[products.abs().argsort(descending=True)]
    running = [frame["total"] for frame in told if frame["say"] == "product"]
    assert running == pytest.approx(largest.cumsum(0)[:5].tolist(), abs=1e-6)
    assert number["others"] == pytest.approx(float(products.sum()), abs=1e-6)
    row = trace[f"{CROSS}.masked"].tensor[0, 1, 2].double()
    assert number["row"] == pytest.approx(float(row[3]), abs=1e-6)
    assert number["exp"] == pytest.approx(float((row - row.max()).exp()[3]), abs=1e-6)
    assert number["z"] == pytest.approx(float((row - row.max()).exp().sum()), abs=1e-6)
    weight = float(trace[f"{CROSS}.weights"].tensor[0, 1, 2, 3])
    assert number["share"] == pytest.approx(weight, abs=1e-7)
    assert float(told[-1]["text"].replace("−", "-")) == pytest.approx(weight, abs=1e-7)
    assert watched.complaints == []


@pytest.mark.parametrize(
    ("view", "address", "kinds"),
    [
        ("look", "encoder.layers.0.self_attention_add_norm.normed[0,1,2]", ["norm", "lit"]),
        ("look", "encoder.layers.0.feed_forward.activated[0,1,2]", ["dot", "point", "lit"]),
        ("look", "probabilities[0,1,9]", ["dot", "softmax", "lit"]),
        ("training", "decoder.layers.0.feed_forward.W_1.weight.grad[3,5]", ["dot", "lit"]),
        ("training", f"{CROSS}.masked.grad{AT}", ["dot", "lit"]),
    ],
)
def test_norms_neurons_and_gradients_are_played_to_their_number(
    watched: Watched, served: tuple[str, Session], view: str, address: str, kinds: list[str]
) -> None:
    url, session = served
    made = session.translate(TEXT) if view == "look" else session.training_step(TEXT)
    why = session.run(made["key"]).served.trace.explain(address)
    told = film(watched, url, address, view)
    assert list(dict.fromkeys(frame["kind"] for frame in told)) == kinds
    near = 1e-5 * max(abs(why.value), 1e-6)
    assert told[-2]["total"] == pytest.approx(why.value, abs=max(near, 1e-7))
    assert told[-1]["text"]


def test_a_norm_is_played_with_its_mean_and_spread(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    place = "encoder.layers.0.self_attention_add_norm"
    number = {f["say"]: f["total"] for f in film(watched, url, f"{place}.normed[0,1,2]")}
    row = trace["encoder.states"].tensor[0, 1].double()
    centred = row - row.mean()
    rate = (centred.square().mean() + 1e-5).rsqrt()
    assert number["mean"] == pytest.approx(float(row.mean()), abs=1e-6)
    assert number["centre"] == pytest.approx(float(centred[2]), abs=1e-6)
    assert number["rate"] == pytest.approx(float(centred[2] * rate), abs=1e-5)
    assert torch.isfinite(rate)


def test_a_film_stands_still_until_it_is_asked(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = watched.page
    at = "() => Number(document.querySelector('cut-play').dataset.at)"
    watched.go(f"{served[0]}#/look?lang=en&text={TEXT}&at={CROSS}.weights{AT}&play=3")
    page.wait_for_selector(".play-number")
    page.wait_for_timeout(300)
    assert page.evaluate(at) == 3
    page.click("#play-toggle")
    page.wait_for_function(f"() => ({at})() > 3")
    page.click("#play-toggle")
    stopped = page.evaluate(at)
    page.wait_for_timeout(300)
    assert page.evaluate(at) - stopped < 1
    assert "play=" in page.url
    page.locator("#play-at").fill("6.5")
    assert page.evaluate(at) == 6.5
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(at) == 6
    page.keyboard.press("Escape")
    page.wait_for_selector("cut-play", state="hidden")
    assert "play=" not in page.url
    assert page.is_visible("cut-look")


def test_the_button_plays_to_the_end_and_numbers_open_their_cells(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = watched.page
    watched.go(f"{served[0]}#/look?lang=en&text={TEXT}&at={CROSS}.scaled{AT}")
    page.click("#play")
    page.wait_for_function(
        "() => { const film = document.querySelector('cut-play');"
        " for (const { stage } of film.frames ?? []) stage.time = 20;"
        " return film.frames?.length && film.at === film.frames.length; }"
    )
    assert page.get_attribute("cut-play", "data-say") == "lit"
    page.click("#play-back")
    page.click(".play-caption .num")
    watched.inspected(f"{CROSS}.scores{AT}")
    page.wait_for_selector("cut-play", state="hidden")


def test_without_motion_the_frames_stand_in_a_strip(
    browser: Any, served: tuple[str, Session]
) -> None:
    context = without_motion(browser, viewport={"width": 1280, "height": 800})
    watched = Watched(context)
    page = watched.page
    watched.go(f"{served[0]}#/look?lang=en&text={TEXT}&at={CROSS}.softmax{AT}")
    page.click("#play")
    page.wait_for_selector(".play-strip figure")
    count = page.evaluate("() => document.querySelector('cut-play').frames.length")
    assert page.locator(".play-strip figure").count() == count
    page.wait_for_timeout(200)
    assert page.get_attribute("cut-play", "data-at") == "1"  # a step, not a movement
    context.close()


def test_a_cell_that_was_not_computed_has_no_film(
    watched: Watched, served: tuple[str, Session]
) -> None:
    watched.go(
        f"{served[0]}#/look?lang=en&text={TEXT}&at=encoder.layers.0.feed_forward.W_1.weight[3,5]"
    )
    watched.page.wait_for_selector("#cell-value")
    assert watched.page.locator("#play").count() == 0
