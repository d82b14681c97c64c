"""`by-hand`: every figure equals the literature's recomputed one; the trained model says it."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cutaway.corpus.embedded import thrones
from cutaway.lessons import figures
from cutaway.lessons.by_hand import pieces_of, words_per_token
from cutaway.lessons.by_hand_model import (
    PAIRS,
    article_model,
    continued,
    encoded,
    ids,
    trained,
    words_of,
)
from cutaway.lessons.lesson import Matrix
from tests.lessons.helpers import matrices, steps_of
from tests.model.golden import to_the_digits

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden.json").read_text(encoding="utf-8")
)
HAND = GOLDEN["encoder_by_hand"]
# section/matrix of the lesson → step of the chain
CHAIN = {
    "input/input": "X",
    "projections/query": "Q",
    "projections/key": "K",
    "projections/value": "V",
    "scores/scores": "QKt",
    "scaled/scaled": "scaled",
    "weights/weights": "softmax",
    "context/context": "attention",
    "output/output": "mha",
    "residual/added": "add1",
    "norm/norm": "norm1",
    "feed_forward/hidden": "ffn_linear",
    "feed_forward/relu": "ffn_relu",
    "memory/added": "add2",
    "memory/memory": "norm2",
}
# computed from a printed table → the stepwise figures
STEPWISE = {
    "projections/printed": "V",
    "scaled/printed": "scaled_sqrt_dk_4",
    "weights/printed": "softmax_dk_4",
    "feed_forward/printed": "XW",
}


def shown(name: str) -> Matrix:
    return matrices("by-hand")[name]


@pytest.mark.parametrize("name", CHAIN)
def test_the_chain(name: str) -> None:
    to_the_digits(shown(name).table(), HAND["right"]["chain"][CHAIN[name]])


@pytest.mark.parametrize("name", STEPWISE)
def test_steps_from_the_printed_tables(name: str) -> None:
    right = HAND["right"]["stepwise"][STEPWISE[name]]
    to_the_digits(shown(name).table(), right, noise=1e-15)


def test_positions_means_and_deviations() -> None:
    to_the_digits(shown("positions/positions").table(), HAND["right"]["positions"][:6])
    chain = HAND["right"]["chain"]
    mean, deviation, unbiased = shown("norm/moments").table()
    to_the_digits([mean, deviation], [chain["mean1"], chain["std1"]])
    assert unbiased == pytest.approx([one * math.sqrt(6 / 5) for one in deviation])
    by_n, by_n_less_1 = shown("memory/deviation").table()
    to_the_digits([by_n], [HAND["right"]["stepwise"]["std2_population"]])
    assert by_n_less_1 == pytest.approx([one * math.sqrt(6 / 5) for one in by_n])


@pytest.mark.parametrize(
    ("name", "step", "near"),
    [
        ("weights", "softmax", 1e-9),
        ("memory", "norm2", 5e-4),  # the stored chain adds ε = 1e-4 to the deviation
    ],
)
def test_the_chain_after_the_wrong_root(name: str, step: str, near: float) -> None:
    """The layer on the printed X, its scores divided by √6 instead of √4."""
    wrong = HAND["slip_sqrt6"]["chain_from_printed_X"][step]
    np.testing.assert_allclose(shown(f"slip/{name}").table(), wrong, rtol=0, atol=near)


def test_printed_weights_with_the_right_values() -> None:
    right = figures.printed("by_hand", "softmax").numpy() @ np.array(HAND["right"]["stepwise"]["V"])
    np.testing.assert_allclose(shown("context/right_v").table(), right, rtol=1e-12)


def test_one_id_per_word_in_order_of_appearance_and_back() -> None:
    sentences = [
        "i drink and i know things",
        "when you play the game of thrones you win or you die",
        "the true enemy won't wait out the storm he brings the storm",
    ]
    seen = dict.fromkeys(" ".join(sentences).split())
    assert list(ids()) == ["<pad>", *seen, "<start>", "<end>"]
    assert list(ids().values()) == list(range(26))
    assert shown("ids/table").table() == [list(ids().values())]
    for sentence in sentences:
        assert " ".join(words_of(encoded(sentence))) == sentence


@pytest.mark.parametrize("size", [280, 400])
def test_pieces_of_words_are_fewer_the_larger_the_vocabulary_and_lose_nothing(size: int) -> None:
    tokenizer = pieces_of(size)
    tokens = [tokenizer.encode(sentence) for sentence in thrones().sentences]
    assert [tokenizer.decode(one) for one in tokens] == list(thrones().sentences)
    assert words_per_token(tokenizer) == 30 / sum(map(len, tokens))
    shares = {step.key: step for step in steps_of("by-hand")}["pieces"].pictures[0].series[0].y
    assert words_per_token(tokenizer) in shares


def test_two_heads_are_concatenated_and_brought_back_to_width_6() -> None:
    """Concatenation and W_O in NumPy, from the recorded heads."""
    step = {step.key: step for step in steps_of("by-hand")}["heads"]
    assert step.trace is not None
    heads = step.trace["self_attention.context"].tensor[0].numpy()  # (2, 6, 4)
    assert heads.shape == (2, 6, 4)
    joined = np.concatenate([heads[0], heads[1]], axis=1)
    assert np.array_equal(np.array(shown("heads/joined").table()), joined)
    w_o = step.trace["self_attention.W_O.weight"].tensor.numpy()
    assert w_o.shape == (6, 8)
    np.testing.assert_allclose(np.array(shown("heads/both").table()), joined @ w_o.T, rtol=1e-12)
    own = np.array(HAND["right"]["chain"]["attention"])  # head 1 is the article's
    np.testing.assert_allclose(heads[0], own, atol=1e-8)


def test_the_question_about_the_shape_of_cross_attention_fits_its_matrix() -> None:
    step = {step.key: step for step in steps_of("by-hand")}["cross"]
    assert step.question is not None
    rows = shown("cross/weights").table()
    for text in step.question.answer.to_dict().values():
        assert f"{len(rows)}×{len(rows[0])}" in text
        assert "6×7" in text  # with “the” put back


def test_the_five_visible_logits() -> None:
    right = GOLDEN["output"]["right"]["softmax"]
    to_the_digits(shown("probabilities/softmax").table(), [right])


def test_the_figures_carried_in_the_package_are_the_literatures() -> None:
    names = {"E": "embedding", "W_1": "W_ffn"} | {f"W_{one}": f"W_{one}" for one in "QKVO"}
    for name, right in names.items():
        assert figures.given("by_hand", name).tolist() == HAND["given"][right]
    assert figures.given("by_hand", "b_1").tolist() == [HAND["given"]["b_ffn"]]
    assert list(figures.WORDS) == HAND["given"]["tokens"]
    for name, table in HAND["printed"].items():
        assert figures.printed("by_hand", name).tolist() == table
    assert GOLDEN["output"]["given"] == figures.LOGITS
    four, toy = GOLDEN["masked_attention"]["given"], GOLDEN["two_head_toy"]["given"]
    assert figures.given("masked", "X").tolist() == four["X"]
    assert figures.given("masked", "W_K").tolist() == four["W_K"]
    assert figures.given("two_heads", "X").tolist() == toy["X"]


def test_slips_are_found_where_the_article_has_them_and_nowhere_else() -> None:
    """Whole columns of lost signs; no slip in what it did right."""
    product = shown("feed_forward/printed")
    lost = {(row, column) for row in range(6) for column in (0, 1, 5)} | {(2, 2), (4, 2)}
    assert product.slips() == lost
    assert len(shown("projections/printed").slips()) == 24
    assert shown("embedding/embedding").slips() == set()
    assert (0, 0) not in shown(
        "scores/scores"
    ).slips()  # the row of position 0 is right to the digit


def test_the_untrained_model_does_not_know_the_sentence_and_the_trained_one_does() -> None:
    prompt, right = PAIRS[1]
    assert continued(article_model(), prompt).words != [*right.split(), "<end>"]
    run = continued(trained().model, prompt)
    assert run.words == ["you", "win", "or", "you", "die", "<end>"]
    assert min(run.chances) > 0.9


def test_training_is_the_same_every_time_and_leaves_the_dice_alone() -> None:
    torch.manual_seed(17)
    before = torch.rand(3)
    torch.manual_seed(17)
    one = article_model()
    assert torch.equal(torch.rand(3), before)
    other = article_model()
    for left, right in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(left, right)


def test_every_word_count_of_the_corpus_is_there() -> None:
    counts = {step.key: step for step in steps_of("by-hand")}["vocabulary"].pictures[0].series[0].y
    assert list(counts) == [25, 24, 23]
