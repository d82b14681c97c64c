"""Pictures of a run: the logit lens, the map of the vocabulary, clocks of positions, all heads."""

import math

import pytest
import torch
from torch import Tensor

from cutaway.glass import patch
from cutaway.serve.session import Session
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."


def test_the_lens_shows_what_the_model_says_after_each_layer(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    run = session.translate(TEXT)
    trace = session.run(run["key"]).served.trace
    model = session.translator.model
    last = "decoder.layers.1.feed_forward_add_norm.added"
    levels = ["decoder.states", "decoder.layers.0.feed_forward_add_norm.added", last]
    watched.go(f"{url}#/pictures?lang=en&picture=lens&text={TEXT}")
    watched.page.wait_for_selector(".lens td")
    cells = watched.page.evaluate(
        "() => [...document.querySelectorAll('.lens tbody tr')].map(row =>"
        " [...row.querySelectorAll('button')].map(b => [+b.dataset.id, +b.dataset.p]))"
    )
    assert len(cells) == len(levels)
    for shown, level in zip(cells, levels, strict=True):
        states = trace[level].tensor.clone()

        def instead(_: Tensor, states: Tensor = states) -> Tensor:
            return states

        with torch.no_grad(), patch(model, {last: instead}):
            logits = model(trace["source"].tensor, trace["target"].tensor)
        p, best = logits[0].softmax(-1).max(-1)
        assert [x for _, x in shown] == pytest.approx(p.tolist(), abs=2e-5)
        clear = [x > 0.51 for x in p.tolist()]
        assert [i for (i, _), c in zip(shown, clear, strict=True) if c] == [
            i for i, c in zip(best.tolist(), clear, strict=True) if c
        ]
    assert [i for i, _ in cells[-1]] == run["ids"]
    assert watched.complaints == []


def test_neighbours_of_a_word_are_those_of_the_table(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/pictures?lang=en&picture=vocabulary&text={TEXT}")
    page.wait_for_selector(".near li")
    tokenizer = session.translator.tokenizer
    pieces = tokenizer.pieces(range(tokenizer.vocabulary))
    word = next(piece[1:] for piece in reversed(pieces) if piece[1:].isalpha())
    row = pieces.index(f"▁{word}")
    page.locator("#vocabulary-search").press_sequentially(word)
    page.press("#vocabulary-search", "Enter")
    page.wait_for_function(
        "word => document.querySelector('.near h2')?.textContent.includes(word)", arg=word
    )
    table = session.translator.model.embedding.weight.detach().double()
    cosines = torch.nn.functional.cosine_similarity(table[row], table, dim=-1)
    cosines[row] = -math.inf
    shown = page.evaluate(
        "() => [...document.querySelectorAll('.near li')].map(item =>"
        " [+item.querySelector('button').dataset.row,"
        "  +item.querySelector('[data-cosine]').dataset.cosine])"
    )
    best = cosines.topk(len(shown))
    assert [cosine for _, cosine in shown] == pytest.approx(best.values.tolist(), abs=1e-6)
    assert [row for row, _ in shown] == best.indices.tolist()
    assert f"word={row}" in page.url
    before = page.evaluate("document.querySelector('.cloud-map').toDataURL()")
    page.press(".cloud-map", "+")
    page.wait_for_function(
        "before => document.querySelector('.cloud-map').toDataURL() !== before", arg=before
    )
    page.fill("#vocabulary-search", "xyzzy")
    page.press("#vocabulary-search", "Enter")
    page.wait_for_function("() => /xyzzy/.test(document.querySelector('.near').textContent)")
    assert watched.complaints == []


def test_hands_of_the_clocks_are_the_table_of_positions(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/pictures?lang=en&picture=positions&text={TEXT}")
    page.wait_for_selector(".clock .hand")
    page.evaluate(
        "() => { const slider = document.querySelector('#clock-position');"
        " slider.value = 5; slider.dispatchEvent(new Event('input')); }"
    )
    hands = page.evaluate(
        "() => [...document.querySelectorAll('.clock .hand')]"
        ".map(hand => [+hand.dataset.sine, +hand.dataset.cosine])"
    )
    width = session.translator.model.config.d_model
    expected = [
        [f(5 / 10000 ** (even / width)) for f in (math.sin, math.cos)]
        for even in range(0, width, 2)
    ]
    assert len(hands) == len(expected)
    assert [x for hand in hands for x in hand] == pytest.approx(
        [x for hand in expected for x in hand], abs=1e-6
    )


def test_all_heads_of_all_layers_in_one_sheet(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/pictures?lang=en&picture=heads&text={TEXT}")
    page.wait_for_selector(".head-sheet canvas")
    config = session.translator.model.config
    layers = config.encoder_layers + 2 * config.decoder_layers
    assert page.locator(".head-sheet .head").count() == layers * config.heads
    page.hover(".head-sheet .picture >> nth=0", position={"x": 3, "y": 3})
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    weight = float(trace["decoder.layers.0.cross_attention.weights"].tensor[0, 0, 0, 0])
    page.wait_for_function("() => document.querySelector('.head-said').textContent !== ''")
    said = page.inner_text(".head-said")
    assert said.startswith("layer 1 · head 1: <start> → The ")
    assert float(said.split()[-1].rstrip("%")) == pytest.approx(100 * weight, abs=0.51)
    page.click(".head-sheet .picture >> nth=0", position={"x": 3, "y": 3})
    watched.inspected("decoder.layers.0.cross_attention.weights[0,0,0,0]")


def test_words_numbers_and_matrices_are_found(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/look?lang=en&text={TEXT}")
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    scores = "decoder.layers.0.cross_attention.scores"
    number = float(trace[scores].tensor[0, 1, 2, 3])
    for text, wanted in (
        (f"{number:.4f}", f"{scores}[0,1,2,3]"),
        ("0.cross scores", scores),
        ("cat", "encoder.states[0,1,0]"),
    ):
        page.keyboard.press("Control+k")
        page.fill("#find-text", text)
        page.click(f".found [data-address='{wanted}']")
        page.wait_for_function(
            "at => new URLSearchParams(location.hash.split('?')[1]).get('at') === at", arg=wanted
        )
        page.wait_for_selector("dialog.find", state="detached")
    page.click("#find")
    page.fill("#find-text", "xyzzy")
    page.wait_for_selector(".found .hint")
    assert "xyzzy" in page.inner_text(".found")
    assert watched.complaints == []
