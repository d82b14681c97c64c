"""Every number on screen is the trace's, and the page's own arithmetic gives it again."""

import math
import random
from typing import Any

import pytest

from cutaway.glass import Trace
from cutaway.serve.session import Session
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
CLICKS = 3  # on every matrix opened


def number(text: str) -> float:
    """A number as JavaScript writes it."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(text) or float(text)


def same(ours: float, theirs: float) -> bool:
    """Equal bit for bit, as two doubles that came from the same float32."""
    return ours == theirs or (math.isnan(ours) and math.isnan(theirs))


def chosen(trace: Trace, most: int, seed: int) -> list[str]:
    """Values of every kind of rule, operation and phase, mixed."""
    generator = random.Random(seed)
    groups: dict[tuple[str, ...], list[str]] = {}
    for value in trace.values:
        rule, _ = trace.rule(value)
        if value.buffer is not None and value.cells:
            key = (rule.kind, rule.name, value.phase)
            groups.setdefault(key, []).append(value.address)
    for group in groups.values():
        generator.shuffle(group)
    rounds = [group for group in groups.values() if group]
    addresses: list[str] = []
    while len(addresses) < most and rounds:
        addresses += [group.pop() for group in rounds]
        rounds = [group for group in rounds if group]
    return addresses[:most]


def click_through(watched: Watched, trace: Trace, addresses: list[str], seed: int) -> int:
    """Open each matrix, click random cells of its table, compare with Python; returns how many."""
    generator = random.Random(seed)
    clicks = 0
    for address in addresses:
        shape = trace.value(address).shape
        first = f"{address}[{','.join(str(generator.randrange(size)) for size in shape)}]"
        compare(trace, first, watched.inspect(first))
        watched.table(address)
        cells = watched.page.locator("cut-table td")
        for place in generator.sample(range(cells.count()), min(CLICKS, cells.count())):
            cells.nth(place).click()
            watched.page.wait_for_function(
                "() => document.querySelector('cut-inspector').dataset.address"
                " === new URLSearchParams(location.hash.split('?')[1]).get('at')"
            )
            at = watched.page.evaluate(
                "() => document.querySelector('cut-inspector').dataset.address"
            )
            assert at.startswith(address + "[")
            compare(trace, at, watched.inspected(at))
            clicks += 1
    return clicks


def compare(trace: Trace, address: str, shown: dict[str, Any]) -> None:
    """The page's value is the trace's, and its recomputation that of Python's rules."""
    why = trace.explain(address)
    assert same(number(shown["value"]), why.value), address
    if why.recomputed is None or why.kind == "source":
        return
    assert shown["good"] == "true", f"{address}: {shown}"
    scale = max(abs(why.value), 1e-6) if math.isfinite(why.value) else 1.0
    again = number(shown["recomputed"])
    if math.isfinite(why.value):
        assert abs(again - why.recomputed) <= 1e-9 * max(scale, abs(again - why.value)) + 1e-12, (
            address
        )
    else:
        assert same(again, why.recomputed), address


def test_clicked_cells_of_a_translation_agree_with_python(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    key = session.translate(TEXT)["key"]
    trace = session.run(key).served.trace
    watched.go(f"{url}#/look?lang=en&trace={key}")
    assert click_through(watched, trace, chosen(trace, 22, 1), 1) >= 55
    assert watched.complaints == []


def test_clicked_cells_of_a_training_step_agree_with_python(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    key = session.training_step(TEXT)["key"]
    trace = session.run(key).served.trace
    watched.go(f"{url}#/training?lang=en&trace={key}")
    assert click_through(watched, trace, chosen(trace, 28, 2), 2) >= 70
    assert watched.complaints == []


def test_a_whole_matrix_is_recomputed_in_the_page(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    watched.go(f"{url}#/look?lang=en&text={TEXT}&at=decoder.layers.0.cross_attention.softmax")
    watched.page.click("#check-all")
    watched.page.wait_for_function("() => document.querySelector('.check-result').dataset.worst")
    worst = watched.page.evaluate("() => document.querySelector('.check-result').dataset.worst")
    assert 0 <= float(worst) < 1e-6
