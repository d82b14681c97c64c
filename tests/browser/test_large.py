"""Matrices too large to travel whole: only what is shown is fetched, and it is the trace's own."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cutaway import glass
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.server import Server
from tests.browser.conftest import Watched
from tests.browser.test_cells import compare

pytestmark = pytest.mark.browser
WORDS, WIDTH, LENGTH = 1009, 307, 71


class Tied(nn.Module):
    """An embedding that is its own output layer, as language models have them."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)

    def forward(self, ids: Tensor) -> Tensor:
        states: Tensor = self.embedding(ids)
        logits = states.tanh() @ self.embedding.weight.T
        return logits


@pytest.fixture(scope="module")
def large() -> glass.Trace:
    torch.manual_seed(3)
    model = Tied()
    with glass.record(model) as trace:
        loss = model(torch.arange(LENGTH)).logsumexp(-1).mean()
        loss.backward()
    return trace


@pytest.fixture(scope="module")
def url(large: glass.Trace) -> Iterator[str]:
    with bound("127.0.0.1", 0) as listening:
        server = Server(create_app(traces={"large": large}), listening).start()
        yield server.url
        server.stop()


def shown(text: str) -> float:
    """A number as a table writes it."""
    return float(text.replace("−", "-").replace("∞", "inf"))


def table(watched: Watched) -> list[tuple[int, int, str]]:
    """Row, column and text of every cell on screen."""
    found = watched.page.evaluate(
        """() => {
          const table = document.querySelector('cut-table');
          return table.cells.flatMap((line, r) =>
            line.map((cell, c) => [table.top + r, table.left + c, cell.textContent]));
        }"""
    )
    return [(row, col, text) for row, col, text in found]


def test_a_large_matrix_shows_its_numbers_wherever_it_is_opened(
    watched: Watched, url: str, large: glass.Trace
) -> None:
    watched.go(f"{url}#/look?lang=en&trace=large")
    for address, index in (
        ("embedding.weight", (997, 301)),
        ("embedding.weight", (2, 3)),
        ("logits", (67, 1001)),
        ("embedding.weight.grad", (61, 300)),
    ):
        at = f"{address}[{','.join(map(str, index))}]"
        compare(large, at, watched.inspect(at))
        watched.settled()
        watched.table(address)
        tensor = large[address].tensor
        cells = table(watched)
        assert len(cells) >= 80  # what fits the window, not the cell alone
        assert index in {(row, col) for row, col, _ in cells}
        for row, col, text in cells:
            assert shown(text) == pytest.approx(tensor[row, col].item(), rel=6e-2, abs=1e-30), at
        finite = tensor[tensor.isfinite()]
        ends = watched.page.inner_text(".matrix .hint").split(" · ")[2].split(" … ")
        assert shown(ends[0]) == pytest.approx(finite.min().item(), rel=6e-2)
        assert shown(ends[1]) == pytest.approx(finite.max().item(), rel=6e-2)
    assert watched.complaints == []


def test_scrolling_a_large_matrix_fetches_what_comes_into_view(
    watched: Watched, url: str, large: glass.Trace
) -> None:
    watched.go(f"{url}#/look?lang=en&trace=large&at=logits[1,2]")
    watched.page.wait_for_selector("cut-table td[aria-selected=true]")
    watched.settled()  # what the first opening asked for has come, and does not count below
    fetched: list[int] = []
    watched.page.on("response", lambda answer: fetched.append(len(answer.body())))
    watched.page.evaluate("() => document.querySelector('.table-frame').scrollTo(40000, 900)")
    watched.page.wait_for_function("() => document.querySelector('cut-table').left > 500")
    watched.table("logits")
    for row, col, text in table(watched):
        value = large["logits"].tensor[row, col].item()
        assert shown(text) == pytest.approx(value, rel=6e-2)
    assert 0 < sum(fetched) < 100_000 < large["logits"].tensor.nbytes


def test_the_picture_of_a_large_matrix_is_that_of_all_its_numbers(
    watched: Watched, url: str
) -> None:
    watched.go(f"{url}#/look?lang=en&trace=large&at=logits[1,2]")
    watched.page.wait_for_selector(".tile[data-value='logits'] canvas")
    watched.settled()
    pixels = """(address) => {
      const heat = document.querySelector(`.tile[data-value='${address}'] cut-heat`);
      const canvas = heat.canvas;
      return [canvas.width, canvas.height,
              ...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data];
    }"""
    for address in ("logits", "embedding.weight"):
        sampled = watched.page.evaluate(pixels, address)
        assert len(set(sampled)) > 30  # not one flat colour
        watched.page.evaluate(
            """async (address) => {
              const { trace } = window.cutaway.session;
              await trace.stores[trace.values[trace.addresses.get(address)].buffer].all();
              const heat = document.querySelector(`.tile[data-value='${address}'] cut-heat`);
              heat.show(heat.options);
            }""",
            address,
        )
        assert watched.page.evaluate(pixels, address) == sampled


def test_a_large_matrix_is_recomputed_in_the_page(
    watched: Watched, url: str, large: glass.Trace
) -> None:
    """To the rounding of float32 sums: any order of adding n terms stays within n·u·Σ|terms|."""
    watched.go(f"{url}#/look?lang=en&trace=large&at=logits")
    watched.page.click("#check-all")
    watched.page.wait_for_function("() => document.querySelector('.check-result').dataset.worst")
    told: dict[str, Any] = watched.page.evaluate(
        "() => ({worst: document.querySelector('.check-result').dataset.worst,"
        " text: document.querySelector('.check-result').textContent})"
    )
    table = large["embedding.weight"].tensor.double()
    terms = (table[:LENGTH].tanh().abs() @ table.abs().T).max().item()
    assert 0 < float(told["worst"]) < WIDTH * 2**-24 * terms
    assert "40,000" in told["text"]


def test_the_end_of_a_large_matrix_is_reached_by_key_and_by_wheel(
    watched: Watched, url: str
) -> None:
    watched.go(f"{url}#/look?lang=en&trace=large&at=embedding.weight[3,2]")
    page = watched.page
    page.focus("cut-table td[aria-selected=true]")
    page.keyboard.press("Control+End")
    watched.inspected(f"embedding.weight[{WORDS - 1},{WIDTH - 1}]")
    watched.table("embedding.weight")
    assert table(watched)[-1][:2] == (WORDS - 1, WIDTH - 1)
    page.keyboard.press("Control+Home")
    watched.inspected("embedding.weight[0,0]")
    page.evaluate("() => document.querySelector('.table-frame').scrollTo(1e6, 1e6)")
    page.wait_for_function("() => document.querySelector('cut-table').top > 500")
    watched.table("embedding.weight")
    assert table(watched)[-1][:2] == (WORDS - 1, WIDTH - 1)
