"""One file that carries its trace: everything clickable, no server, no network."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.glass.html import loaded as first_load
from cutaway.glass.html import page as notebook
from cutaway.glass.html import to_html, write_html
from cutaway.model import Transformer
from cutaway.serve.session import Session
from tests.browser.conftest import Watched
from tests.browser.test_cells import chosen, click_through

TEXT = "The cat is on the mat."


@pytest.mark.browser
def test_the_landing_page_loads_less_than_300_kilobytes(
    watched: Watched, served: tuple[str, Session]
) -> None:
    loaded: dict[str, int] = {}

    def weigh(response: Any) -> None:
        name = response.url.split("?")[0].rsplit("/", 1)[-1]
        if name.endswith((".js", ".css")):
            loaded[name] = len(response.body())  # what the browser has once it is unpacked

    watched.page.on("requestfinished", lambda request: weigh(request.response()))
    watched.go(served[0])
    watched.page.wait_for_selector("#ask-play")
    watched.page.wait_for_selector(".verdict[data-good=true]")
    watched.page.wait_for_load_state("networkidle")
    assert {"app.js", "translate.js", "style.css"} <= set(loaded)
    assert sum(loaded.values()) < 300_000
    assert set(loaded) - {"style.css"} == {f"{name}.js" for name in first_load("app", "translate")}
    watched.page.click("#ask-play")
    watched.page.wait_for_selector(".play-caption")
    assert {"play.js", "film.js"} <= set(loaded)  # the rest comes when it is asked for


def test_a_file_carries_the_modules_of_its_views_and_no_others(foreign: glass.Trace) -> None:
    text = to_html(foreign)
    assert "class TrainingElement" in text
    assert "class TranslateElement" not in text
    assert "class LessonsElement" not in text


def test_the_file_names_no_other_host(toy: Path) -> None:
    from cutaway.decode import Translator

    session = Session(Translator.load(toy))
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    text = to_html(trace)
    head = text.split('<script type="application/octet-stream"')[0]
    links = [part.split('"')[0] for part in head.split("http://")[1:] + head.split("https://")[1:]]
    assert all(link.startswith("www.w3.org/") for link in links)  # names of SVG and MathML
    assert "default-src 'none'" in head
    assert 'src="' not in head


def base_sized() -> glass.Trace:
    """A recorded pass of the paper's base model, with random weights."""
    torch.manual_seed(3)
    model = Transformer(ModelConfig.preset("base", vocabulary=37_000)).eval()
    source, target = torch.randint(5, 37_000, (1, 11)), torch.randint(5, 37_000, (1, 13))
    with torch.no_grad(), glass.record(model) as trace:
        model(source, target)
    return trace


@pytest.mark.browser
def test_a_base_sized_model_fits_in_ten_megabytes_and_its_view_is_whole(
    browser: Any, tmp_path: Path
) -> None:
    trace = base_sized()
    weights = "decoder.layers.4.cross_attention.weights[0,3,2,5]"
    path = tmp_path / "base.html"
    write_html(trace, path, at=weights)
    assert path.stat().st_size < 10_000_000
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_offline(True)
    watched = Watched(context)
    watched.go(path.as_uri())
    place = "decoder.layers.4.cross_attention"
    for name in ("weights[0,3,2,5]", "scores[0,3,2,5]", "query[0,3,2,7]", "context[0,3,2,7]"):
        found = watched.inspect(f"{place}.{name}")  # all that this place computes is proven
        assert found["good"] == "true", name
    beyond = watched.inspect("encoder.layers.0.feed_forward.output[0,2,7]")  # weights elsewhere
    assert beyond["good"] == ""
    assert "not all numbers" in watched.page.inner_text(".verdict")
    assert watched.complaints == []
    context.close()


@pytest.mark.browser
def test_a_translation_as_one_file(
    browser: Any, served: tuple[str, Session], tmp_path: Path
) -> None:
    _, session = served
    trace = session.run(session.translate(TEXT, beam=3)["key"]).served.trace
    path = tmp_path / "translation.html"
    write_html(trace, path, language="zh")
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_offline(True)
    watched = Watched(context)
    watched.go(path.as_uri())
    page = watched.page
    page.wait_for_selector("html[lang=zh-CN]")
    assert page.inner_text("#translation") == session.translate(TEXT)["output"]
    assert page.locator(".beam-tree .node").count() > 8
    assert page.locator("#sentence").is_hidden()
    views = page.locator("#views a").evaluate_all("links => links.map(one => one.dataset.view)")
    assert views == ["translate", "look", "zoom", "walk", "pictures"]
    for view in views[1:]:
        page.click(f"[data-view={view}]")
        page.wait_for_selector(f"#stage > cut-{view} *")
    page.click("[data-view=look]")
    assert click_through(watched, trace, chosen(trace, 7, 5), 5) >= 20
    assert watched.complaints == []
    context.close()


class Network(nn.Module):
    """Nothing of ours: a picture becomes two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 3, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Sequential(nn.Linear(27, 5), nn.Tanh(), nn.Linear(5, 2))

    def forward(self, image: Tensor) -> Tensor:
        features = torch.relu(self.convolution(image))
        pooled = self.pool(features)
        scores: Tensor = self.head(pooled.flatten(1))
        return scores


@pytest.fixture
def foreign() -> glass.Trace:
    """A trace of a model that is not a Transformer, with gradients."""
    torch.manual_seed(3)
    network = Network()
    with glass.record(network) as trace:
        scores = network(torch.randn(2, 1, 6, 6))
        loss = scores.pow(2).mean()
        loss.backward()
    return trace


@pytest.mark.browser
def test_any_model_is_shown_as_the_tree_of_its_modules(
    watched: Watched, foreign: glass.Trace, tmp_path: Path
) -> None:
    path = tmp_path / "network.html"
    write_html(foreign, path)
    watched.go(f"{path.as_uri()}#/look?lang=en")
    page = watched.page
    names = page.locator(".module-tree .name").all_inner_texts()
    assert names == ["Network", "convolution", "pool", "head", "0", "1", "2"]
    page.click("[data-place='head.0']")
    page.wait_for_selector("cut-equation .tile .picture")
    assert click_through(watched, foreign, chosen(foreign, 8, 6), 6) >= 20
    assert watched.complaints == []


@pytest.mark.browser
def test_a_notebook_shows_the_same_file(watched: Watched, foreign: glass.Trace) -> None:
    assert foreign._repr_html_() == notebook(foreign)
    watched.page.set_content(f"<h1>Notebook</h1>{notebook(foreign)}")
    frame = watched.page.frame_locator("iframe")
    frame.locator("[data-place='head.0']").click()
    frame.locator("cut-equation .tile .picture").first.click()
    frame.locator(".verdict:has-text('✓')").wait_for()
    frame.locator("cut-inspector .operands button").first.click()
    frame.locator("#cell-value").wait_for()
