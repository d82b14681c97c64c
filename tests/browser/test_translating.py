"""The first view: translate, step, choose another word, draw, see the beam."""

import pytest

from cutaway.serve.session import Session
from tests.browser.conftest import EXAMPLES, Watched

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
WEIGHTS = "decoder.layers.1.cross_attention.weights"


def test_an_empty_page_offers_sentences_and_translates_one(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en")
    assert page.locator(".example").all_inner_texts() == EXAMPLES
    page.click(".example >> nth=0")
    page.wait_for_selector("#translation")
    expected = session.translate(EXAMPLES[0])["output"]
    assert page.inner_text("#translation") == expected
    assert "text=" in page.url
    assert watched.complaints == []


def test_the_page_lands_on_a_finished_translation_with_a_cell_open(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(url)
    page.wait_for_selector("#translation")
    run = session.translate(EXAMPLES[0])
    assert page.inner_text("#translation") == run["output"]
    assert page.input_value("#text") == EXAMPLES[0]
    words = [n for n, piece in enumerate(run["pieces"]) if piece.lstrip("▁").isalpha()]
    keys = [n for n, piece in enumerate(run["source"]) if piece.lstrip("▁").isalpha()]
    weights = session.run(run["key"]).served.trace[WEIGHTS].tensor[0][:, words][:, :, keys]
    page.wait_for_selector("#cell-value")
    shown = float(page.get_attribute("cut-inspector", "data-value") or "nan")
    assert shown == pytest.approx(float(weights.max()), abs=1e-7)
    assert watched.complaints == []


def test_next_and_back_move_one_word_and_the_browser_follows(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}")
    pieces = session.translate(TEXT)["pieces"]
    page.click("#next")
    page.wait_for_selector("[data-step='1'][aria-current=step]")
    watched.settled()
    assert page.inner_text(".so-far").startswith("<start> " + pieces[0].lstrip("▁"))
    page.click("#back")
    page.wait_for_selector("[data-step='0'][aria-current=step]")
    page.go_back()
    page.wait_for_selector("[data-step='1'][aria-current=step]")


def test_probabilities_are_those_of_the_model(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=2")
    run = session.run(session.translate(TEXT)["key"])
    row = run.served.trace["probabilities"].tensor[0, 2]
    best = row.topk(8)
    words = session.translator.target_tokenizer.pieces(best.indices.tolist())
    watched.page.wait_for_selector(".choices > li > .piece")
    shown = watched.page.locator(".choices > li > .piece").all_inner_texts()
    assert shown == [word.replace("▁", "␣") if word == "▁" else word for word in words]
    percent = watched.page.locator(".choices > li .p").first.inner_text()
    assert abs(float(percent.rstrip("%")) / 100 - float(best.values[0])) < 6e-3


def test_another_word_is_taken_and_the_translation_goes_on_from_it(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&step=1")
    chosen = page.get_attribute(".pick >> nth=0", "data-id")
    page.click(".pick >> nth=0")
    page.wait_for_selector(".words-strip .forced")
    watched.settled()
    first = session.translate(TEXT)["ids"][0]
    expected = session.translate(TEXT, prefix=[first, int(chosen)])["output"]
    assert page.inner_text("#translation") == expected
    assert f"prefix={first}%2C{chosen}" in page.url


def test_words_are_drawn_and_the_own_choice_comes_back(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    page = watched.page
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&temperature=3")
    page.click("#draw")
    page.wait_for_selector("#own-choice")
    drawn = "() => window.cutaway.session.translation.ids"
    expected = session.translate(TEXT, prefix=[], sample=1, temperature=3.0)["ids"]
    assert page.evaluate(drawn) == expected
    page.click("#own-choice")
    page.wait_for_selector("#own-choice", state="detached")
    assert page.inner_text("#translation") == session.translate(TEXT, prefix=[])["output"]


def test_the_beam_is_a_tree_with_its_scores(watched: Watched, served: tuple[str, Session]) -> None:
    url, session = served
    watched.go(f"{url}#/translate?lang=en&text={TEXT}&beam=3")
    tree = session.translate(TEXT, beam=3)["tree"]
    watched.page.wait_for_selector(".beam-tree .node.won")
    assert watched.page.locator(".beam-tree .node").count() == len(tree["nodes"])
    assert (
        watched.page.locator(".beam-tree .node.won").count()
        == len(session.translate(TEXT, beam=3)["ids"]) + 1
    )
    assert watched.page.locator(".beam-tree .node.pruned").count() > 0


def test_a_foreign_script_is_warned_of_in_the_readers_language(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    watched.go(f"{url}#/translate?lang=zh&text=猫在垫子上")
    watched.page.wait_for_selector("#translation", state="attached")
    warnings = watched.page.locator(".warning").all_inner_texts()
    assert any("源语言" in text for text in warnings), warnings
