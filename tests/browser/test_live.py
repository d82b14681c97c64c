"""Dragging: what the page recomputes is what the model computes with the changed number."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cutaway.glass import patch
from cutaway.glass.html import write_html
from cutaway.serve.session import Session
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
SCORE = "decoder.layers.1.cross_attention.scores[0,1,2,2]"
CELLS = (
    SCORE,
    "decoder.layers.0.self_attention.weights[0,2,3,1]",
    "encoder.layers.0.feed_forward.hidden[0,2,5]",
    "embedding.scaled[0,3,7]",
    "encoder.layers.1.self_attention_add_norm.norm.weight[3]",
)
DRAG = """place => {
  const slider = document.querySelector('.live-slider');
  slider.value = place;
  slider.dispatchEvent(new Event('input'));
}"""


def dragged(watched: Watched, place: int) -> float:
    """Drag the slider of the inspector; the number it stands for, once everything has followed."""
    page = watched.page
    page.evaluate("document.querySelector('.live-outcome').dataset.value = ''")
    page.evaluate(DRAG, place)
    page.wait_for_function("() => document.querySelector('.live-outcome').dataset.value !== ''")
    return float(page.get_attribute(".live-outcome", "data-value") or "nan")


def with_change(session: Session, run: dict[str, Any], address: str, value: float) -> Tensor:
    """Probabilities of the model in which one cell has another number, for the same words."""
    name, _, places = address.partition("[")
    index = tuple(int(place) for place in places.rstrip("]").split(","))

    def change(tensor: Tensor) -> Tensor:
        tensor = tensor.clone()
        tensor[index] = value
        return tensor

    trace = session.run(run["key"]).served.trace
    model = session.translator.model
    with torch.no_grad(), patch(model, {name: change}):
        logits = model(trace["source"].tensor, trace["target"].tensor)
    probabilities: Tensor = logits[0].softmax(-1)
    return probabilities


def shown(watched: Watched) -> list[tuple[float, int]]:
    """The probability of each word as the page has it, and the most probable word."""
    return [
        (float(p), int(best))
        for p, best in watched.page.evaluate(
            "() => [...document.querySelectorAll('.outcome li')]"
            ".map(item => [item.dataset.p, item.dataset.best])"
        )
    ]


@pytest.mark.parametrize("address", CELLS)
def test_what_follows_from_a_dragged_number_is_what_the_model_computes(
    watched: Watched, served: tuple[str, Session], address: str
) -> None:
    url, session = served
    run = session.translate(TEXT)
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={address}")
    watched.inspected(address)
    moved = 0.0
    for place in (30, 970):
        value = dragged(watched, place)
        expected = with_change(session, run, address, value)
        page = shown(watched)
        assert [p for p, _ in page] == pytest.approx(
            [float(row[i]) for row, i in zip(expected, run["ids"], strict=True)], abs=2e-5
        )
        best = [int(row.argmax()) for row in expected]
        clear = [float(row.topk(2).values.diff()) < -1e-4 for row in expected]
        assert [b for (_, b), c in zip(page, clear, strict=True) if c] == [
            b for b, c in zip(best, clear, strict=True) if c
        ]
        before = with_change(session, run, address, recorded_value(session, run, address))
        moved = max(moved, float((expected - before).abs().max()))
    assert moved > 1e-6  # the number matters
    assert watched.complaints == []


def recorded_value(session: Session, run: dict[str, Any], address: str) -> float:
    """The recorded number of a cell."""
    name, _, places = address.partition("[")
    index = tuple(int(place) for place in places.rstrip("]").split(","))
    return float(session.run(run["key"]).served.trace[name].tensor[index])


def test_matrices_on_screen_follow_and_come_back(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={SCORE}")
    watched.inspected(SCORE)
    weights = "decoder.layers.1.cross_attention.weights"
    read = f"""() => {{
      const {{ trace }} = cutaway.session;
      return trace.read(trace.addresses.get('{weights}'), [0, 1, 2, 2]);
    }}"""
    page.wait_for_selector(f"[data-value='{weights}'] canvas")  # its numbers are here
    recorded = page.evaluate(read)
    picture = f"() => document.querySelector('[data-value=\"{weights}\"] canvas').toDataURL()"
    before = page.evaluate(picture)
    value = dragged(watched, 990)
    page.wait_for_function(
        '([before, weights]) => document.querySelector(`[data-value="${weights}"] canvas`)'
        ".toDataURL() !== before",
        arg=[before, weights],
    )
    page.wait_for_function(
        "value => Math.abs(Number(document.querySelector('cut-table td[aria-selected=true]')"
        ".textContent.replace('−', '-')) / value - 1) < 5e-3",
        arg=value,
    )
    assert page.evaluate(read) > recorded
    page.click("cut-table td >> nth=0")  # another cell: the number is let go
    page.wait_for_function(
        '([before, weights]) => document.querySelector(`[data-value="${weights}"] canvas`)'
        ".toDataURL() === before",
        arg=[before, weights],
    )
    assert page.evaluate(read) == recorded


def test_a_number_let_go_is_set_in_the_model(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={SCORE}")
    watched.inspected(SCORE)
    value = dragged(watched, 10)
    page.evaluate("document.querySelector('.live-slider').dispatchEvent(new Event('change'))")
    page.wait_for_selector(".changes")
    watched.settled()
    run = session.translate(TEXT, change=f"set:{SCORE}={value}")
    page.wait_for_function(
        "value => Math.abs(document.querySelector('cut-inspector').dataset.value - value) < 1e-4",
        arg=value,
    )
    assert page.evaluate("cutaway.session.translation.output") == run["output"]
    page.click("#restore")
    page.wait_for_function("() => !location.hash.includes('change=')")


def test_the_temperature_is_dragged(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=2")
    row = session.run(session.translate(TEXT)["key"]).served.trace["logits"].tensor[0, 2]
    for temperature in (0.5, 3.0):
        page.evaluate(
            "t => { const slider = document.querySelector('#temperature');"
            " slider.dataset.held = 'yes'; slider.value = t;"
            " slider.dispatchEvent(new Event('input')); }",
            temperature,
        )
        page.wait_for_function(
            "best => Math.abs(parseFloat(document.querySelector('.choices .bar i').style.width)"
            " - 100 * best) < 0.01",
            arg=float((row / temperature).softmax(-1).max()),
        )
        assert page.get_attribute("#temperature", "data-held") == "yes"  # still the same slider
    assert "temperature=3" in page.url


def test_a_file_follows_a_changed_number_without_a_server(
    browser: Any, served: tuple[str, Session], tmp_path: Path
) -> None:
    _, session = served
    run = session.translate(TEXT)
    path = tmp_path / "run.html"
    write_html(session.run(run["key"]).served.trace, path)
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_offline(True)
    watched = Watched(context)
    watched.go(f"{path.as_uri()}#/look?lang=en&at={SCORE}")
    watched.inspected(SCORE)
    value = dragged(watched, 15)
    expected = with_change(session, run, SCORE, value)
    assert [p for p, _ in shown(watched)] == pytest.approx(
        [float(row[i]) for row, i in zip(expected, run["ids"], strict=True)], abs=2e-5
    )
    watched.page.evaluate(
        "document.querySelector('.live-slider').dispatchEvent(new Event('change'))"
    )
    watched.page.wait_for_selector(".changes")
    address = f"probabilities[0,2,{run['ids'][2]}]"
    found = watched.inspect(address)
    assert float(found["value"]) == pytest.approx(float(expected[2, run["ids"][2]]), abs=2e-5)
    assert watched.complaints == []
    context.close()
