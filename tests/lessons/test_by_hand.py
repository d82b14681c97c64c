"""`by-hand`: every figure equals the literature's recomputed one; the trained model says it."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway.lessons import figures
from cutaway.lessons.by_hand_model import PAIRS, article_model, continued, trained
from cutaway.lessons.lesson import Matrix
from tests.lessons.telling import matrices, told
from tests.model.test_golden import to_the_digits

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden.json").read_text(encoding="utf-8")
)
HAND = GOLDEN["encoder_by_hand"]
# the lesson's names → the chain's
CHAIN = {
    "Q = X W_Q": "Q",
    "K = X W_K": "K",
    "V = X W_V": "V",
    "Q Kᵀ": "QKt",
    "Q Kᵀ / √4": "scaled",
    "softmax(Q Kᵀ / √4)": "softmax",
    "weights · V": "attention",
    "head · W_O": "mha",
    "X + attention": "add1",
    "norm(X + attention)": "norm1",
    "norm · W_1 + b_1": "ffn_linear",
    "ReLU": "ffn_relu",
    "x + FFN(x)": "add2",
    "memory": "norm2",
    "X = E + PE": "X",
}
# what the lesson computes from a printed table → the stepwise figures
STEPWISE = {
    "V from the printed X": "V",
    "the printed Q Kᵀ / √4": "scaled_sqrt_dk_4",
    "softmax of the printed Q Kᵀ / √4": "softmax_dk_4",
    "the printed norm · W_1": "XW",
}


def first(name: str) -> Matrix:
    return matrices("by-hand")[name][0]


@pytest.mark.parametrize("name", CHAIN)
def test_the_chain(name: str) -> None:
    to_the_digits(first(name).table(), HAND["right"]["chain"][CHAIN[name]])


@pytest.mark.parametrize("name", STEPWISE)
def test_steps_from_the_printed_tables(name: str) -> None:
    right = HAND["right"]["stepwise"][STEPWISE[name]]
    to_the_digits(first(name).table(), right, noise=1e-15)


def test_positions_means_and_deviations() -> None:
    to_the_digits(first("PE").table(), HAND["right"]["positions"][:6])
    chain = HAND["right"]["chain"]
    to_the_digits(first("mean and deviation").table(), [chain["mean1"], chain["std1"]])
    deviations = HAND["right"]["stepwise"]["std2_population"]
    to_the_digits(first("deviation of the printed rows").table(), [deviations])


def test_the_five_visible_logits() -> None:
    to_the_digits(first("softmax of these five").table(), [GOLDEN["output"]["right"]["softmax"]])


def test_the_figures_carried_in_the_package_are_the_literatures() -> None:
    given = HAND["given"]
    for name, right in (
        ("EMBEDDING", "embedding"),
        ("W_Q", "W_Q"),
        ("W_K", "W_K"),
        ("W_V", "W_V"),
        ("W_O", "W_O"),
        ("W_1", "W_ffn"),
    ):
        assert [list(row) for row in getattr(figures, name)] == given[right]
    assert list(figures.B_1) == given["b_ffn"]
    assert list(figures.WORDS) == given["tokens"]
    for name, table in HAND["printed"].items():
        assert [list(row) for row in figures.PRINTED[name]] == table
    assert GOLDEN["output"]["given"] == figures.LOGITS
    four, toy = GOLDEN["masked_attention"]["given"], GOLDEN["two_head_toy"]["given"]
    assert [list(row) for row in figures.FOUR_X] == four["X"]
    assert [list(row) for row in figures.FOUR_W_K] == four["W_K"]
    assert [list(row) for row in figures.TOY_X] == toy["X"]


def test_slips_are_found_where_the_article_has_them_and_nowhere_else() -> None:
    """Whole columns of lost signs; no slip in what it did right."""
    product = first("the printed norm · W_1")
    lost = {(row, column) for row in range(6) for column in (0, 1, 5)} | {(2, 2), (4, 2)}
    assert product.slips() == lost
    assert len(first("V from the printed X").slips()) == 24
    assert first("E").slips() == set()
    assert (0, 0) not in first("Q Kᵀ").slips()  # the row of position 0 is right to the digit


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
    counts = told("by-hand")[1].pictures[0].series[0].y
    assert list(counts) == [25, 24, 23]
