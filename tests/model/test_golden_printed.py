"""What the literature prints against what its own formulas give: each slip found, and no other.

A printed table is compared with the step recomputed from the printed table before it; golden.json
holds the largest difference, the rounding of the print, and every cell beyond that rounding.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.model import Transformer, explicit, sinusoidal
from cutaway.model.layers import AddNorm
from tests.model.golden import (
    CHAIN,
    FOUR,
    GOLDEN,
    HAND,
    PE,
    TOY,
    by_hand,
    figures,
    run,
    squeezed,
    tensor,
    through_attention,
    to_the_digits,
)
from tests.model.probe import watching

Array = NDArray[np.float64]


class Tables:
    """Tables by name, as arrays."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.tables = tables

    def __getattr__(self, name: str) -> Array:
        table = figures(self.tables[name])
        return table[0] if len(table) == 1 else table


def softmax(scores: Array) -> Array:
    """By the model's own attention: the keys are the unit vectors, so its scores are these."""
    width = scores.shape[-1]
    identity = torch.eye(width, dtype=torch.float64)[None, None]
    query = tensor(scores)[None, None] * math.sqrt(width)
    return through_attention(query, identity, identity)["weights"]


def judge(printed: Array, right: Array, verdict: dict[str, Any]) -> None:
    """The stored verdict: the largest difference, and the cells beyond the print's rounding."""
    difference = np.abs(printed - right)
    assert difference.max() == pytest.approx(verdict["max"], rel=1e-6, abs=2e-14)
    wrong = np.argwhere(difference > verdict["tolerance"]).tolist()
    assert wrong == verdict["wrong"]


# --- The encoder layer by hand ------------------------------------------------------------------

P, G, STEP = Tables(HAND["printed"]), Tables(HAND["given"]), Tables(HAND["right"]["stepwise"])


def normed(table: Array, deviation: Array) -> Array:
    """(x − mean) / (σ + 1e-4), with the printed means and deviations."""
    mean = table.mean(1, keepdims=True)
    return np.asarray((table - mean) / (deviation[:, None] + HAND["given"]["added_to_deviation"]))


ENCODER: dict[str, Callable[[], tuple[Array, Array]]] = {
    "PE_vs_paper": lambda: (P.PE, sinusoidal(6, 6).numpy()),
    "PE_vs_own_formula": lambda: (P.PE, figures(HAND["right"]["positions_2j_over_d"])),
    "X": lambda: (P.X, G.embedding + P.PE),
    "Q": lambda: (P.Q, P.X @ G.W_Q),
    "K": lambda: (P.K, P.X @ G.W_K),
    "V": lambda: (P.V, P.X @ G.W_V),
    "QKt": lambda: (P.QKt, P.Q @ P.K.T),
    "scaled_sqrt6": lambda: (P.scaled, P.QKt / math.sqrt(6)),
    "softmax": lambda: (P.softmax, softmax(P.scaled)),
    "softmax_from_rounded": lambda: (P.softmax, softmax(P.scaled.round(2))),
    "attention": lambda: (P.attention, P.softmax @ P.V),
    "mha": lambda: (P.mha, P.attention.round(2) @ G.W_O),
    "add1": lambda: (P.add1, P.X + P.mha),
    "mean1": lambda: (P.mean1, P.add1.mean(1)),
    "std1_population": lambda: (P.std1, P.add1.std(1)),
    "std1_unbiased": lambda: (P.std1, P.add1.std(1, ddof=1)),
    "norm1": lambda: (P.norm1, (P.add1 - P.mean1[:, None]) / (P.std1[:, None] + 1e-4)),
    "XW": lambda: (P.XW, P.norm1 @ G.W_ffn),
    "ffn_linear": lambda: (P.ffn_linear, P.XW + G.b_ffn),
    "add2": lambda: (P.add2, P.norm1 + P.ffn_relu),
    "mean2": lambda: (P.mean2, P.add2.mean(1)),
    "std2_population": lambda: (P.std2, P.add2.std(1)),
    "std2_unbiased": lambda: (P.std2, P.add2.std(1, ddof=1)),
    "norm2": lambda: (P.norm2, (P.add2 - P.mean2[:, None]) / (P.std2[:, None] + 1e-4)),
}


@pytest.mark.parametrize("name", HAND["verdict"])
def test_a_printed_step_of_the_encoder(name: str) -> None:
    printed, right = ENCODER[name]()
    judge(printed, right, HAND["verdict"][name])


def test_the_printed_relu_is_right_and_the_printed_values_are_the_queries() -> None:
    np.testing.assert_array_equal(P.ffn_relu, np.maximum(P.ffn_linear, 0))
    np.testing.assert_array_equal(P.V, P.Q)


def test_the_articles_formula_of_positions() -> None:
    """sin at even and cos at odd columns j, all at the rate 10000^(2j/d)."""
    j = np.arange(6)
    angle = np.arange(6)[:, None] / 10000 ** (2 * j / 6)
    table = np.where(j % 2, np.cos(angle), np.sin(angle))
    to_the_digits(table, HAND["right"]["positions_2j_over_d"])


def test_attention_from_the_printed_weights() -> None:
    to_the_digits(P.softmax @ P.V, HAND["right"]["stepwise"]["attention_printed_V"])
    weights = figures(HAND["slip_sqrt6"]["stepwise"]["softmax"])  # of the printed scores
    to_the_digits(weights @ STEP.V, HAND["right"]["stepwise"]["attention_right_V"], noise=1e-9)


@pytest.mark.parametrize("sublayer", [1, 2])
def test_unbiased_deviations_of_the_printed_sums(sublayer: int) -> None:
    """Divided by n − 1: larger than the norm's own by √(6/5)."""
    right = HAND["right"]["stepwise"]
    sums = tensor(HAND["printed"][f"add{sublayer}"])
    to_the_digits(sums.std(-1), right[f"std{sublayer}_unbiased"])
    population = figures(right[f"std{sublayer}_population"])
    unbiased = figures(right[f"std{sublayer}_unbiased"])
    np.testing.assert_allclose(unbiased / population, math.sqrt(6 / 5), rtol=1e-9)


def test_the_second_printed_deviations_are_those_of_two_rows_taken_together() -> None:
    """Unbiased, over row r and the row after it; the last row stands alone."""
    rows = [P.add2[row : row + 2] for row in range(6)]
    pooled = [row.std(ddof=1) for row in rows]
    to_the_digits(pooled, HAND["right"]["stepwise"]["std2_of_two_rows_unbiased"])
    np.testing.assert_allclose(pooled, P.std2, atol=6e-7)


def test_the_first_norm_of_the_printed_sums() -> None:
    right = HAND["right"]["stepwise"]["norm1_of_printed_add1"]
    to_the_digits(normed(P.add1, P.add1.std(1)), right)


class ArticlesNorm(nn.Module):
    """(x − mean) / (σ + 1e-4): ε beside the deviation; the paper's norm has it in the root."""

    def forward(self, x: Tensor) -> Tensor:
        deviation = x.std(-1, correction=0, keepdim=True)
        normed: Tensor = (x - x.mean(-1, keepdim=True)) / (
            deviation + HAND["given"]["added_to_deviation"]
        )
        return normed


def test_the_whole_chain_after_the_root_of_6() -> None:
    """The model with the article's norm, from the printed X, scores divided by √6: to the end."""
    chain = HAND["slip_sqrt6"]["chain_from_printed_X"]
    model = by_hand(HAND["printed"]["X"], positions="none")
    assert model.encoder is not None
    layer = model.encoder.layers[0]
    for place in ("self_attention_add_norm", "feed_forward_add_norm"):
        layer.get_submodule(place).norm = ArticlesNorm()
    with torch.no_grad():
        layer.get_parameter("self_attention.W_Q.weight").mul_(math.sqrt(4 / 6))
    seen = run(model, 6)
    found = {name: squeezed(seen[f"encoder.{address}"]) for name, address in CHAIN.items()}
    found["Q"] = found["Q"] * math.sqrt(6 / 4)
    found["QKt"] = found["QKt"] * math.sqrt(6 / 4)
    for sublayer in (1, 2):
        found[f"mean{sublayer}"] = found[f"add{sublayer}"].mean(-1)
        found[f"std{sublayer}"] = found[f"add{sublayer}"].std(-1)
    assert found.keys() >= chain.keys()
    for name, right in chain.items():
        to_the_digits(found[name], right, noise=1e-14)


# --- Masked attention over four words -----------------------------------------------------------

F = Tables(FOUR["printed"])
EARLIER = np.tril(np.ones((4, 4), bool))


def masked_softmax(scores: Array) -> Array:
    hidden = np.where(EARLIER, scores, -np.inf)
    weights = np.exp(hidden - hidden.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True))


def words() -> Array:
    return figures(FOUR["given"]["X"])


MASKED: dict[str, Callable[[], tuple[Array, Array]]] = {
    "K": lambda: (F.K, figures(FOUR["right"]["K"])),
    "QKt": lambda: (F.QKt, figures(FOUR["right"]["QKt"])),
    "QKt_from_printed_K": lambda: (F.QKt, words() @ F.K.T),
    "scaled": lambda: (F.scaled, figures(FOUR["right"]["scaled"])),
    "scaled_from_printed_QKt": lambda: (F.scaled, F.QKt / math.sqrt(3)),
    "softmax": lambda: (F.softmax, figures(FOUR["right"]["softmax"])),
    "softmax_from_printed_scores": lambda: (F.softmax, masked_softmax(F.scaled)),
    "output": lambda: (F.output, figures(FOUR["right"]["output"])),
    "output_from_printed_softmax": lambda: (F.output, F.softmax @ words()),
}


@pytest.mark.parametrize("name", FOUR["verdict"])
def test_a_printed_step_of_masked_attention(name: str) -> None:
    printed, right = MASKED[name]()
    judge(printed, right, FOUR["verdict"][name])


def test_each_step_of_masked_attention_from_the_printed_table_before_it() -> None:
    """By the model's own attention function."""
    right = FOUR["right_given_printed"]
    query, value = tensor(FOUR["given"]["X"])[None, None], tensor(FOUR["given"]["X"])[None, None]
    earlier = torch.from_numpy(EARLIER)[None, None]
    steps = through_attention(query, tensor(FOUR["printed"]["K"])[None, None], value, earlier)
    to_the_digits(steps["scores"], right["QKt_from_printed_K"])
    identity = torch.eye(4, dtype=torch.float64)[None, None]
    scores = tensor(FOUR["printed"]["scaled"])[None, None] * 2  # the keys' width is 4
    steps = through_attention(scores, identity, identity, earlier)
    to_the_digits(steps["weights"], right["softmax_from_printed_scaled"])
    to_the_digits(F.softmax @ words(), right["output_from_printed_softmax"], noise=1e-15)


# --- Two heads: what is printed in the place of scores ------------------------------------------


def test_the_printed_scores_of_two_heads_are_the_input_itself() -> None:
    """Head 1 is Xᵀ and head 2 is X, not X Xᵀ; hidden cells are 0, and head 2 hides the past."""
    given, printed = figures(TOY["given"]["X"]), Tables(TOY["printed"])
    np.testing.assert_array_equal(printed.A1, given.T)
    np.testing.assert_array_equal(printed.A2, given)
    np.testing.assert_array_equal(printed.A1_masked, np.tril(given))
    np.testing.assert_array_equal(printed.A2_masked, np.triu(given))
    assert not np.array_equal(given, figures(TOY["right"]["scores_QKt"]))


# --- Positions ----------------------------------------------------------------------------------


def test_positions_in_the_layout_of_tensor2tensor() -> None:
    """All sines, then all cosines, at rates 10000^(−i/(d/2 − 1)); the paper's alternate, 2i/d."""
    stored = PE["d4_tensor2tensor"]
    angle = np.arange(3)[:, None] * 10000.0 ** -np.arange(2)  # d = 4: i / (d/2 − 1) = i
    to_the_digits(np.concatenate([np.sin(angle), np.cos(angle)], 1), stored["right"])
    np.testing.assert_allclose(figures(stored["printed"]), figures(stored["right"]), atol=5e-3)
    ours = sinusoidal(3, 4).numpy()
    to_the_digits(ours[:, [0, 1]], figures(stored["right"])[:, [0, 2]])  # the first pair is shared
    assert np.abs(ours[1:, 2] - figures(stored["right"])[1:, 1]).min() > 9e-3  # the second is not


def test_the_printed_position_of_one_word() -> None:
    """10000^(1/4) is 10, not 100; and each pair shares one exponent."""
    love = PE["love_d4"]
    rates = 10000.0 ** (np.arange(4) / 4)
    as_printed = [
        wave(2 / rate) for wave, rate in zip([math.sin, math.cos] * 2, rates, strict=True)
    ]
    to_the_digits(as_printed, love["formula_as_printed"])
    difference = np.abs(figures(love["printed"]) - figures(love["pos_2"]))
    assert (difference > 5e-5).tolist() == [False, True, False, True]


# --- Small figures ------------------------------------------------------------------------------


def test_layer_norm_with_the_unbiased_deviation_is_another_norm() -> None:
    given, right = GOLDEN["layer_norm"]["given"], GOLDEN["layer_norm"]["right"]
    row = tensor(given["x"])
    to_the_digits(row.std(), right["deviation_unbiased"])
    to_the_digits(row.std() / row.std(correction=0), right["ratio"])
    to_the_digits((row - row.mean()) / (row.std() + given["epsilon"]), right["normed_unbiased"])
    to_the_digits(row.mean().sqrt(), right["root_of_the_mean"])
    config = ModelConfig(vocabulary=2, d_model=4, heads=1, norm_epsilon=given["epsilon"])
    ours = AddNorm(config).double().eval()(row, torch.zeros_like).detach()
    assert (ours - tensor(right["normed_unbiased"])).abs().max() > 0.05


def test_the_printed_softmax_of_two_scores_is_rounded_well() -> None:
    example_ = GOLDEN["softmax_of_two_scores"]
    for name, right in example_["right"].items():
        np.testing.assert_allclose(example_["printed"][name], right, atol=5e-3)


def test_a_sentence_and_its_translation_as_matrices() -> None:
    """Six words a side: X is 6 × d_model, and cross-attention asks 6 × 6."""
    pair = GOLDEN["sentence_pair"]
    sides = [pair["given"][side].removesuffix(".").split() for side in ("source", "target")]
    lengths = [len(side) for side in sides]
    assert lengths == [pair["right"]["source_words"], pair["right"]["target_words"]]
    width = 14
    config = ModelConfig(
        vocabulary=17, d_model=width, heads=2, d_ff=19, encoder_layers=1, decoder_layers=1
    )
    model = Transformer(config).double().eval()
    source, target = (torch.arange(4, 4 + length)[None] for length in lengths)
    with torch.no_grad(), explicit(), watching(model) as seen:
        model(source, target)
    assert [int(n) if n != "d_model" else width for n in pair["right"]["X"]] == [6, width]
    assert seen["encoder.positions.output"].shape == (1, 6, width)
    assert seen["decoder.layers.0.cross_attention.scores"].shape == (1, 2, 6, 6)


# --- The output layer ---------------------------------------------------------------------------


def test_the_flattened_output_cannot_give_the_printed_logits() -> None:
    """All numbers are positive, so the visible weights alone give more than each printed logit."""
    output, right = GOLDEN["output"], GOLDEN["output"]["right"]
    flat = figures(output["given_decoder_output"]).reshape(-1)
    assert flat.size == right["flattened"]
    assert flat.min() > 0
    for word, (first, last) in output["given_weight_columns"].items():
        least = flat[:7] @ figures(first) + flat[-2:] @ figures(last)
        to_the_digits(least, right["logits_at_least"][word])
        assert least > output["given"][word]


def test_the_printed_probabilities_are_no_softmax_of_the_printed_logits() -> None:
    output, right = GOLDEN["output"], GOLDEN["output"]["right"]
    printed = dict(zip(output["given"], output["printed"]["probabilities"], strict=True))
    to_the_digits(printed["you"] / printed["I"], right["ratio_printed"])
    assert output["given"]["drink"] == output["given"]["He"]
    assert printed["drink"] != printed["He"]
    assert output["given"]["I"] == min(output["given"].values())
    assert printed["I"] > printed["He"]


# --- The three sentences ------------------------------------------------------------------------


def test_the_words_of_three_sentences_counted_three_ways() -> None:
    from cutaway.corpus.embedded import thrones
    from cutaway.lessons.by_hand_model import bare, raw_words, vocabulary

    stored = GOLDEN["three_sentences"]
    right = stored["right"]
    assert list(thrones().sentences) == stored["given"]
    assert [len(sentence.split()) for sentence in stored["given"]] == right["words_per_sentence"]
    raw = raw_words()
    assert len(raw) == right["words"]
    assert len(set(raw)) == right["cut_at_spaces"]
    assert len({bare(word) for word in raw}) == right["no_punctuation"]
    assert len(vocabulary()) == right["lower_case"] == stored["printed"]["vocabulary"]
    assert list(dict.fromkeys(bare(word).lower() for word in raw)) == right["in_order"]
