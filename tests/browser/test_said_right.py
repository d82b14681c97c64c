"""What the page says of a number is so: the number that was clicked, its name, its arithmetic."""

import re
from typing import Any

import pytest

from cutaway.serve.session import Session
from tests.browser.conftest import EXAMPLES, Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
CROSS = "decoder.layers.1.cross_attention.weights"
ENCODER = "encoder.layers.0.self_attention"
DECODER = "decoder.layers.0.self_attention"
RAW = re.compile(r":\w+|~\d|@\d|aten\.|_unsafe_view|\.default\b")  # names of the recorder's own


def look(watched: Watched, url: str, address: str, language: str = "en", tab: str = "") -> None:
    watched.go(f"{url}#/look?lang={language}&text={TEXT}&at={address}&tab={tab or 'numbers'}")
    watched.inspected(address)


def arithmetic(page: Any) -> str:
    text: str = page.inner_text("cut-inspector .arithmetic")
    return text


def test_a_clicked_example_stands_in_the_box(watched: Watched, served: tuple[str, Session]) -> None:
    watched.go(f"{served[0]}#/translate?lang=en")
    watched.page.click(".example >> nth=1")
    watched.page.wait_for_selector("#translation")
    assert watched.page.input_value("#text") == EXAMPLES[1]


def test_an_empty_box_says_so(watched: Watched, served: tuple[str, Session]) -> None:
    watched.go(f"{served[0]}#/translate?lang=en")
    watched.page.click("#go")
    watched.page.wait_for_selector("#message:not([hidden])")
    assert "empty" in watched.page.inner_text("#message")


def test_every_sentence_of_a_text_is_translated_and_can_be_opened(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    text = "The cat sees the tree. A child looks at the house."
    watched.go(f"{url}#/translate?lang=en&text={text}")
    page = watched.page
    page.wait_for_selector(".whole-text")
    assert page.inner_text(".whole-text") == session.translator.translate([text])[0].text
    page.click(".whole .example >> nth=1")
    page.wait_for_function(
        "() => !document.querySelector('.whole') && "
        "document.querySelector('.source-text')?.textContent.startsWith('A child')"
    )
    expected = session.translator.translate(["A child looks at the house."])[0].text
    assert page.inner_text("#translation") == expected


def test_shares_are_also_told_in_per_cent(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    look(watched, url, f"{CROSS}[0,1,2,3]")
    weight = session.run(session.translate(TEXT)["key"]).served.trace[CROSS].tensor[0, 1, 2, 3]
    percent = watched.page.inner_text("#cell-value small").strip().rstrip("%")
    assert float(percent) / 100 == pytest.approx(float(weight), abs=6e-3)
    look(watched, url, "encoder.states[0,1,2]")
    assert watched.page.locator("#cell-value small").count() == 0


def test_a_change_made_inside_is_shown_and_taken_back_there(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = watched.page
    change = "silence:decoder.layers.1.cross_attention:1"
    watched.go(f"{served[0]}#/look?lang=en&text={TEXT}&at={CROSS}[0,1,1,1]&change={change}")
    page.wait_for_selector("cut-look .changes")
    page.click("#restore")
    page.wait_for_selector("cut-look .changes", state="detached")
    assert "change=" not in page.url


def test_enter_on_a_matrix_moves_into_its_table(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = watched.page
    watched.go(f"{served[0]}#/look?lang=en&text={TEXT}&place={ENCODER}")
    picture = page.wait_for_selector(f"[data-value='{ENCODER}.scores'] .picture")
    assert picture is not None
    picture.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.matches('cut-table td')")


def test_every_word_has_its_arcs_and_opens_its_step(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}")
    page.wait_for_selector(".arc-row path")
    pieces = session.translate(TEXT)["pieces"]
    assert page.locator(".arc-row").count() == len(pieces)
    weights = session.run(session.translate(TEXT)["key"]).served.trace[CROSS].tensor[0]
    assert page.locator(".arc-row path").count() == int((weights >= 0.02).sum())
    opacity = "n => getComputedStyle(document.querySelectorAll('.arc-row path')[n]).opacity"
    assert page.evaluate(opacity, 0) == "1"  # no word is chosen: all are shown alike
    page.hover(".words-strip li >> nth=2")
    page.wait_for_function(f"() => ({opacity})(0) < 0.1")
    page.click(".words-strip li:nth-child(3) button")
    page.wait_for_selector("[data-step='2'][aria-current=step]")


def test_a_mean_over_heads_opens_the_heads_it_is_the_mean_of(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=1")
    page.wait_for_selector(".arc-source")
    page.click(".arc-source >> nth=1")
    weights = session.run(session.translate(TEXT)["key"]).served.trace[CROSS].tensor[0, :, 1, 1]
    page.wait_for_selector(".mean-of button")
    shown = page.locator(".mean-of button").all_inner_texts()
    assert len(shown) == len(weights)
    for text, weight in zip(shown, weights.tolist(), strict=True):
        assert float(text.split("%")[0].rsplit(maxsplit=1)[-1]) / 100 == pytest.approx(
            weight, abs=6e-3
        )
    page.click(".mean-of button >> nth=2")
    found = watched.inspected(f"{CROSS}[0,2,1,1]")
    assert float(found["value"]) == pytest.approx(float(weights[2]), abs=1e-7)


def test_one_head_opens_its_own_cell(watched: Watched, served: tuple[str, Session]) -> None:
    url, _ = served
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=1&archead=1")
    watched.page.click(".arc-source >> nth=3")
    watched.inspected(f"{CROSS}[0,1,1,3]")


def test_only_attention_has_queries_and_keys(watched: Watched, served: tuple[str, Session]) -> None:
    url, _ = served
    look(watched, url, "embedding.scaled[0,1,2]")
    heading = watched.page.inner_text("cut-inspector .facts")
    assert "query" not in heading
    assert "key" not in heading
    look(watched, url, f"{ENCODER}.scaled[0,1,1,2]")
    heading = watched.page.inner_text("cut-inspector .facts")
    assert "query" in heading
    assert "key" in heading


@pytest.mark.parametrize(
    "place",
    [
        f"look?text={TEXT}&at=embedding.scaled@2[0,1,2]",
        f"look?text={TEXT}&at={ENCODER}.scores[0,1,1,2]",
        f"look?text={TEXT}&at=encoder.layers.0.feed_forward_add_norm.normed[0,1,2]",
        f"training?text={TEXT}&phase=forward&at=loss",
        f"training?text={TEXT}&phase=backward&place={DECODER}",
    ],
)
def test_names_of_the_recorder_are_not_shown_to_learners(
    watched: Watched, served: tuple[str, Session], place: str
) -> None:
    watched.go(f"{served[0]}#/{place.replace('?', '?lang=en&')}")
    page = watched.page
    page.wait_for_selector("cut-equation .tile-name")
    names = page.locator("cut-equation .tile-name").all_inner_texts()
    names += page.locator(".matrix .hint, .matrix h2 b, cut-inspector h2 b").all_inner_texts()
    names += page.locator(".operands li span").all_inner_texts()
    assert names
    assert [name for name in names if RAW.search(name)] == []


@pytest.mark.parametrize(
    "cell",
    [
        f"{ENCODER}.query[0,0,1,0]",
        f"{ENCODER}.scores[0,0,1,0]",
        f"{ENCODER}.weights[0,0,1,0]",
        "encoder.layers.0.feed_forward.hidden[0,1,0]",
        f"{DECODER}.masked[0,0,1,3]",
    ],
)
def test_no_tab_of_the_inspector_shows_names_of_the_recorder(
    watched: Watched, served: tuple[str, Session], cell: str
) -> None:
    for tab in ("numbers", "formula", "words"):
        look(watched, served[0], cell, tab=tab)
        watched.page.wait_for_selector(
            {"numbers": ".arithmetic", "formula": ".formula", "words": ".words"}[tab]
        )
        text = watched.page.inner_text("cut-inspector")
        assert RAW.findall(text) == [], (tab, text)


def test_made_of_counts_every_number(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    look(watched, url, "probabilities[0,1,9]")
    vocabulary = session.translator.target_tokenizer.vocabulary
    assert watched.page.inner_text("cut-inspector h3 small") == str(vocabulary)


def test_a_weight_that_is_not_masked_shows_its_softmax(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    page = watched.page
    look(watched, url, f"{ENCODER}.weights[0,1,2,3]")
    assert "exp" in arithmetic(page)
    assert page.inner_text(".because") == "not masked"
    assert page.get_attribute(".verdict", "data-good") == "true"
    look(watched, url, f"{DECODER}.weights[0,1,2,3]")
    assert page.inner_text(".because").startswith("because ¬mask = ")
    assert "exp" not in arithmetic(page)


def test_the_words_of_a_mask_name_the_number_it_puts(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    page = watched.page
    for name, there, absent in (("weights", "0", "−∞"), ("masked", "−∞", "becomes 0")):
        look(watched, url, f"{DECODER}.{name}[0,1,2,3]", tab="words")
        page.wait_for_selector(".words p")
        words = page.locator(".words p").first.inner_text()
        assert there in words
        assert absent not in words


def test_a_position_shows_its_sine(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    page = watched.page
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    for column, wave in ((6, "sin"), (7, "cos")):
        address = f"encoder.positions.positions[3,{column}]"
        look(watched, url, address)
        text = arithmetic(page)
        assert f"{wave}(3 / 10000" in text.replace(" ", " ")
        assert page.get_attribute(".verdict", "data-good") == "true"
        shown = float(page.inner_text("#recomputed").replace("−", "-"))
        assert shown == pytest.approx(trace.explain(address).value, abs=1e-6)


def test_chinese_column_words_stand_upright(watched: Watched, served: tuple[str, Session]) -> None:
    url, _ = served
    look(watched, url, f"{ENCODER}.weights[0,0,0,0]", "zh")
    words = ["猫", "在", "the", "垫子", "mat", "。", "<end>"]
    # until they are drawn: the page may be drawing what it looked at before
    turned = watched.page.wait_for_function(
        "words => { const turned = [...document.querySelectorAll('.col-words span')].map("
        "s => [/[\\u4e00-\\u9fff]/.test(s.textContent), getComputedStyle(s).transform]);"
        " if (turned.some(([chinese]) => chinese)) return turned;"
        " window.cutaway.session.trace.header.labels.source = words; window.cutaway.redraw();"
        " return null; }",
        arg=words,
        polling=300,
    ).json_value()
    assert any(chinese for chinese, _ in turned)
    assert all(transform == "none" for chinese, transform in turned if chinese)
    assert any(transform != "none" for chinese, transform in turned if not chinese)


def walk(watched: Watched, url: str, step: int) -> str:
    """Reveal a step of the walk; the address that it opens."""
    page = watched.page
    page.goto("about:blank")
    watched.go(f"{url}#/walk?lang=en&text={TEXT}&walk={step}")
    page.click("#reveal")
    watched.settled()
    return str(page.get_attribute("cut-inspector", "data-address"))


def test_each_step_of_the_walk_shows_what_it_tells(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    assert ".scores[" in walk(watched, url, 6)
    assert "/" not in arithmetic(page)
    assert "·" in arithmetic(page)
    walk(watched, url, 7)
    assert "exp" in arithmetic(page)
    assert page.locator(".because").count() == 0
    query, key = walk(watched, url, 11).rstrip("]").split(",")[-2:]
    assert int(key) > int(query)
    assert page.inner_text("#cell-value") == "= −∞"
    row, column = walk(watched, url, 13).rstrip("]").split(",")[-2:]
    assert session.translate(TEXT)["ids"][int(row)] == int(column)


def test_walk_and_map_draw_the_norm_where_the_model_has_it(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    assert session.translator.model.config.norm == "pre"
    page = watched.page
    address = walk(watched, url, 9)
    assert address.startswith("encoder.layers.0.self_attention_add_norm.added[")
    assert "before" in page.inner_text(".reading")
    names = page.locator(".stack.encoder .layer.open .block .name").all_inner_texts()
    assert names == ["norm", "self-attention", "add", "norm", "feed-forward", "add"]


def test_a_pending_view_does_not_show_the_one_before(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = watched.page
    watched.go(f"{served[0]}#/translate?lang=en&text={TEXT}")
    assert page.is_visible("#translation")
    page.evaluate("() => document.body.classList.add('busy')")
    page.wait_for_selector("#translation", state="hidden")


def test_a_sum_of_products_is_a_table_with_a_running_total(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    look(watched, url, f"{ENCODER}.scores[0,1,2,3]")
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    query, key = (trace[f"{ENCODER}.{name}"].tensor[0, 1].double() for name in ("query", "key"))
    products = query[2] * key[3]
    order = products.abs().argsort(descending=True)
    page.wait_for_selector(".sum-table tbody tr")
    if page.locator(".sum-line .more").count():
        page.click(".sum-line .more")
    rows = page.evaluate(
        "() => [...document.querySelectorAll('.sum-table tbody tr')].map(row =>"
        " [...row.querySelectorAll('td:not(.sum-bar)')]"
        ".map(cell => Number(cell.textContent.replace('−', '-'))))"
    )
    assert len(rows) == len(products)
    for (a, b, product, total), n, running in zip(
        rows, order.tolist(), products[order].cumsum(0).tolist(), strict=True
    ):
        assert a == pytest.approx(float(query[2, n]), rel=1e-3, abs=1e-6)
        assert b == pytest.approx(float(key[3, n]), rel=1e-3, abs=1e-6)
        assert product == pytest.approx(float(products[n]), rel=1e-3, abs=1e-6)
        assert total == pytest.approx(running, rel=1e-3, abs=1e-4)


def test_pieces_that_begin_a_word_are_marked_in_lists(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=1")
    run = session.run(session.translate(TEXT)["key"])
    best = run.served.trace["probabilities"].tensor[0, 1].topk(8).indices.tolist()
    pieces = session.translator.target_tokenizer.pieces(best)
    assert any(piece.startswith("▁") for piece in pieces)
    watched.page.wait_for_selector(".choices > li > .piece")
    assert watched.page.locator(".choices > li > .piece").all_inner_texts() == pieces


def test_a_variable_called_update_is_none_of_the_optimizers(
    watched: Watched, served: tuple[str, Session]
) -> None:
    """AddNorm calls what it adds `update`; the layer's output has that name besides its own."""
    page = watched.page
    look(watched, served[0], "encoder.layers.0.feed_forward.output[0,1,2]")
    assert page.inner_text("cut-inspector h2 span") == "Encoder 1 · feed-forward · output"
    look(watched, served[0], "encoder.layers.0.feed_forward_add_norm.added[0,1,2]")
    page.wait_for_selector("cut-equation .tile-name")
    shown = page.locator("cut-equation .tile-name, .operands li").all_inner_texts()
    assert any("output" in text for text in shown)
    assert not any("update" in text for text in shown), shown
    place = "decoder.layers.0.feed_forward.W_1.weight"
    watched.go(f"{served[0]}#/training?lang=en&text={TEXT}&phase=update&at={place}.after[0,0]")
    watched.inspected(f"{place}.after[0,0]")
    assert "W_1.weight.after" in page.inner_text("cut-inspector h2 span")


def test_a_cell_is_named_as_a_person_would(watched: Watched, served: tuple[str, Session]) -> None:
    look(watched, served[0], f"{CROSS}[0,2,1,1]")
    name = watched.page.inner_text("cut-inspector h2 span")
    assert name == "Decoder 2 · cross-attention · head 3 · attention weight"
    assert watched.page.inner_text("cut-inspector h2 b") == "Le → cat"
    assert watched.page.inner_text("cut-inspector h2 small") == f"{CROSS}[0,2,1,1]"
    assert "next word" in watched.page.inner_text("cut-inspector .facts")
