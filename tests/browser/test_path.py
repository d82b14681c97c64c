"""Paths: down to what a number is made of, up to the probability; the cells that read a cell."""

import itertools
import re

import pytest

from cutaway.serve.session import Session
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
WEIGHT = "decoder.layers.1.cross_attention.weights[0,1,2,2]"

MADE_OF = """([lower, upper]) => {
  const { trace } = cutaway.session;
  const cell = trace.find(upper);
  const wanted = trace.find(lower);
  const seen = new Set();
  const visit = (one) => {
    const key = trace.address(one);
    if (seen.has(key)) return;
    seen.add(key);
    for (const step of trace.behind(one)) seen.add(trace.address(step));
    for (const part of trace.parts(one, Infinity)) {
      seen.add(trace.address(part));
      for (const step of trace.behind(part)) seen.add(trace.address(step));
      if (trace.values[part.id].name === undefined) visit(part);
    }
  };
  visit(cell);
  return seen.has(trace.address(wanted));
}"""


def cards(watched: Watched, count: int = 2) -> list[str]:
    """The addresses of the path, once it has at least so many cells."""
    page = watched.page
    page.wait_for_function(f"() => document.querySelectorAll('.card').length >= {count}")
    found: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('.card')].map(card => card.dataset.address)"
    )
    return found


def test_a_path_leads_down_to_a_weight_and_every_step_is_an_operand(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHT}")
    watched.inspected(WEIGHT)
    page.click("#path-down")
    path = cards(watched)
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    assert path[0] == WEIGHT
    assert next(v for v in trace.values if v.address == path[-1].split("[")[0]).op == "source"
    assert len(path) > 8
    for address in path:
        found = watched.inspect(address)
        name, _, index = address.partition("[")
        number = trace[name].tensor[tuple(int(i) for i in index.rstrip("]").split(","))]
        assert float(found["value"]) == pytest.approx(float(number), rel=1e-6, abs=1e-9)
    for upper, lower in itertools.pairwise(path):
        assert page.evaluate(MADE_OF, [lower, upper]), (lower, upper)
    shared = page.url  # the path is in the address
    page.goto("about:blank")
    watched.go(shared)
    assert cards(watched) == path
    assert watched.complaints == []


def test_a_path_leads_up_to_a_probability(watched: Watched, served: tuple[str, Session]) -> None:
    url, _ = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHT}")
    watched.inspected(WEIGHT)
    page.click("#path-up")
    path = cards(watched)
    assert path[0] == WEIGHT
    assert re.fullmatch(r"probabilities\[0,2,\d+\]", path[-1])  # of the word this query predicts
    for lower, upper in itertools.pairwise(path):
        assert page.evaluate(MADE_OF, [lower, upper]), (lower, upper)
    assert watched.complaints == []


def test_a_path_grows_by_following_operands_and_is_scrubbed_and_closed(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at={WEIGHT}")
    watched.inspected(WEIGHT)
    second = page.get_attribute(".operands [data-address] >> nth=0", "data-address") or ""
    page.click(".operands [data-address] >> nth=0")
    watched.inspected(second)
    assert cards(watched) == [WEIGHT, second]
    third = page.get_attribute(".operands [data-address] >> nth=0", "data-address") or ""
    page.click(".operands [data-address] >> nth=0")
    watched.inspected(third)
    assert cards(watched, 3) == [WEIGHT, second, third]
    page.click(".card >> nth=0")
    watched.inspected(WEIGHT)
    assert cards(watched, 3) == [WEIGHT, second, third]
    page.evaluate(
        "() => { const slider = document.querySelector('cut-path input');"
        " slider.value = 2; slider.dispatchEvent(new Event('input')); }"
    )
    watched.inspected(third)
    page.click("cut-path [aria-label='Close the path']")
    page.wait_for_selector("cut-path", state="hidden")


def test_goes_into_names_exactly_the_cells_that_read_this_one(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    run = session.translate(TEXT)
    trace = session.run(run["key"]).served.trace
    keys = trace["decoder.layers.1.cross_attention.weights"].tensor.shape[-1]
    expected = {  # a masked score is read by the softmax of its whole row, a weight by its context
        "decoder.layers.1.cross_attention.masked[0,1,2,3]": [
            ("decoder.layers.1.cross_attention.softmax[0,1,2,0]", keys)
        ],
        "decoder.layers.1.cross_attention.scores[0,1,2,3]": [
            ("decoder.layers.1.cross_attention.scaled[0,1,2,3]", 1)
        ],
    }
    for address, readers in expected.items():
        watched.go(f"{url}#/look?lang=en&text={TEXT}&at={address}")
        watched.inspected(address)
        page.click(".goes-into summary")
        page.wait_for_selector(".goes-into li")
        found = page.evaluate(
            "() => [...document.querySelectorAll('.goes-into li')].map(item =>"
            " [item.querySelector('button').dataset.address, +item.dataset.count])"
        )
        assert [tuple(one) for one in found] == readers
        page.click("#tab-formula")  # shows the cell anew: what was unfolded stays so
        page.wait_for_selector("#tab-formula[aria-selected=true]")
        page.wait_for_selector(".goes-into li")
        page.click("#tab-numbers")


def test_a_node_of_the_beam_tells_its_path_and_is_followed(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&beam=3")
    tree = session.translate(TEXT, beam=3)["tree"]
    page.wait_for_selector(".beam-tree")
    won = set()
    node = tree["best"]
    while node is not None:
        won.add(node)
        node = tree["nodes"][node]["parent"]
    lost = next(n for n in tree["nodes"] if n["number"] not in won and n["step"] == 2)
    page.focus(f"[data-node='{lost['number']}']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#node-take")
    parent = tree["nodes"][lost["parent"]]
    assert parent["piece"].lstrip("▁") in page.inner_text(".beam-card")
    page.click("#node-take")
    prefix = [parent["token"], lost["token"]]
    page.wait_for_function("() => location.hash.includes('prefix=')")
    watched.settled()
    expected = session.translate(TEXT, prefix=prefix, beam=3)["output"]
    page.wait_for_function(
        "wanted => document.querySelector('#translation')?.textContent === wanted", arg=expected
    )
    assert watched.complaints == []
