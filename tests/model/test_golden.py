"""The literature's other worked examples, each computed by the real model configured for it."""

import math
from typing import Any

import numpy as np
import torch
from torch import nn

from cutaway.config import ModelConfig
from cutaway.model import Transformer, sinusoidal
from cutaway.model.layers import AddNorm
from tests.model.golden import (
    FOUR,
    GOLDEN,
    HAND,
    PE,
    TOY,
    by_hand,
    example,
    put,
    run,
    squeezed,
    tensor,
    through_attention,
    to_the_digits,
)

STEPS = {"Q": "query", "K": "key", "V": "value", "QKt": "scores", "scaled": "scaled"}


def four_words(family: str) -> tuple[Transformer, str]:
    model = example(family, FOUR["given"]["X"], positions="none")
    path = "encoder" if family == "encoder" else "decoder"
    put(
        model.get_submodule(f"{path}.layers.0.self_attention"),
        W_Q__weight=FOUR["given"]["W_Q"],
        W_K__weight=FOUR["given"]["W_K"],
        W_V__weight=FOUR["given"]["W_V"],
        W_O__weight=np.eye(3),
    )
    return model, f"{path}.layers.0.self_attention"


def test_masked_attention_over_four_words() -> None:
    model, place = four_words("decoder")
    seen = run(model, 4)
    names = {**STEPS, "masked": "masked", "softmax": "weights", "output": "output"}
    for name, variable in names.items():
        to_the_digits(squeezed(seen[f"{place}.{variable}"]), FOUR["right"][name], noise=1e-16)


def test_the_same_words_unmasked() -> None:
    model, place = four_words("encoder")
    seen = run(model, 4)
    names = {**STEPS, "softmax_unmasked": "weights", "output_unmasked": "output"}
    for name, variable in names.items():
        to_the_digits(squeezed(seen[f"{place}.{variable}"]), FOUR["right"][name], noise=1e-16)


def test_two_masked_heads_with_identity_weights() -> None:
    model = example("decoder", TOY["given"]["X"], heads=2, head_width=3, positions="none")
    twice = np.concatenate([np.eye(3)] * 2, axis=1)
    place = "decoder.layers.0.self_attention"
    put(model.get_submodule(place), W_Q__weight=twice, W_K__weight=twice, W_V__weight=twice)
    seen = run(model, 3)
    for head in (0, 1):
        names = {
            "scores_QKt": "scores",
            "scaled_sqrt3": "scaled",
            "weights_scaled": "weights",
            "head_scaled": "context",
        }
        for name, variable in names.items():
            to_the_digits(seen[f"{place}.{variable}"][0, head], TOY["right"][name])
    to_the_digits(seen[f"{place}.concatenated"][0], TOY["right"]["concat_scaled"])


def test_the_toy_without_scaling() -> None:
    words = tensor(TOY["given"]["X"])[None, None]
    earlier = torch.ones(3, 3, dtype=torch.bool).tril()[None, None]
    steps = through_attention(words * math.sqrt(3), words, words, earlier)
    # √3 · √3 is 3 but for its last bit, and these weights are its exponentials
    to_the_digits(steps["weights"], TOY["right"]["weights_unscaled"])
    to_the_digits(steps["context"], TOY["right"]["head_unscaled"])


def test_position_tables() -> None:
    to_the_digits(sinusoidal(7, 6), HAND["right"]["positions"])
    to_the_digits(sinusoidal(3, 4), PE["d4_positions_0_to_2"])
    love = sinusoidal(3, 4)
    to_the_digits(love[1], PE["love_d4"]["pos_1_zero_based"])
    to_the_digits(love[2], PE["love_d4"]["pos_2"])


def test_the_models_own_position_table_is_this_one() -> None:
    """As float64 after a change of type, not float32 sines cast up."""
    model = by_hand(max_length=7)
    assert model.encoder is not None
    assert model.encoder.positions.table is not None
    to_the_digits(model.encoder.positions.table, HAND["right"]["positions"])


def test_position_0_of_the_papers_width() -> None:
    first, right = sinusoidal(1, 512)[0], PE["d512_position_0"]
    assert len(first) == right["len"]
    assert first[0::2].tolist() == [right["even"]] * (right["last_i"] + 1)
    assert first[1::2].tolist() == [right["odd"]] * (right["last_i"] + 1)


def test_properties_of_the_position_table() -> None:
    right = PE["properties"]
    wide = sinusoidal(101, 512)
    to_the_digits((wide[1:] - wide[:-1]).norm(dim=-1), [right["adjacent_distance_d512"]] * 100)
    angles = torch.atan2(wide[1, 0::2], wide[1, 1::2])  # a position's turn in every pair
    to_the_digits(2 * math.pi / angles[0], right["period_dim0"])
    to_the_digits(2 * math.pi / angles[-1], right["period_last_pair_d512"])
    columns = sinusoidal(100, 20)[:, 4:8]
    to_the_digits(columns.std(0, correction=0), right["std_over_0_99_d20_cols_4_5_6_7"])
    signs = columns.sign()
    crossings = (signs[1:] != signs[:-1]).sum(0)  # leaving the zero at position 0 counts
    assert crossings.tolist() == right["zero_crossings_0_99_d20_cols_4_5_6_7"]


# --- Small figures ------------------------------------------------------------------------------


def test_layer_norm_has_epsilon_inside_the_root_and_the_population_variance() -> None:
    given, right = GOLDEN["layer_norm"]["given"], GOLDEN["layer_norm"]["right"]
    config = ModelConfig(vocabulary=2, d_model=4, heads=1, norm_epsilon=given["epsilon"])
    add_norm = AddNorm(config).double().eval()
    row = tensor(given["x"])
    with torch.no_grad():
        normed = add_norm(row, torch.zeros_like)
    to_the_digits(normed, right["normed"])
    to_the_digits(row.std(correction=0), right["deviation"])


def test_two_scores_scaled_by_the_root_of_64() -> None:
    given, right = (
        GOLDEN["softmax_of_two_scores"]["given"],
        GOLDEN["softmax_of_two_scores"]["right"],
    )
    query = torch.zeros(1, 1, 1, given["d_k"], dtype=torch.float64)
    key = torch.zeros(1, 1, 2, given["d_k"], dtype=torch.float64)
    query[..., 0] = 1.0
    key[0, 0, :, 0] = tensor(given["scores"])
    steps = through_attention(query, key, key)
    to_the_digits(steps["scaled"][0], right["scaled"])
    to_the_digits(steps["weights"][0], right["softmax"])


def test_attention_is_a_weighted_average() -> None:
    """Weights [0, 0, 0, ½, ½]: two keys alike, three hidden."""
    given = GOLDEN["weighted_average"]["given"]
    value = tensor(given["x"])[None, None, :, None]
    query, key = torch.zeros(1, 1, 1, 2).double(), torch.zeros(1, 1, 5, 2).double()
    mask = tensor(given["w"])[None, None, None] > 0
    steps = through_attention(query, key, value, mask)
    to_the_digits(steps["weights"][0], given["w"])
    to_the_digits(steps["context"].item(), GOLDEN["weighted_average"]["right"])


def test_the_visible_logits_and_their_argmax() -> None:
    """One linear a position, softmax, argmax: the logits handed through an identity output."""
    given, right = GOLDEN["output"]["given"], GOLDEN["output"]["right"]
    model = example("decoder", np.eye(5), positions="none", tied="none", vocabulary=5 + 1)
    with torch.no_grad():
        assert model.output.weight is not None
        model.output.weight.zero_()
        model.output.weight[1:] = torch.eye(5)
        logits = model.project(tensor(list(given.values()))[None, None])[0, 0, 1:]
    probabilities = torch.softmax(logits, dim=-1)
    to_the_digits(probabilities, right["softmax"])
    to_the_digits(probabilities[3] / probabilities[0], right["ratio_you_to_I"])
    assert list(given)[int(probabilities.argmax())] == right["argmax"]


# --- Shapes and counts --------------------------------------------------------------------------


def on_paper(**settings: Any) -> Transformer:
    """A model of shapes only: no number of it is ever stored."""
    with torch.device("meta"):
        return Transformer(ModelConfig.from_dict(settings))


def count(module: nn.Module, *, biases: bool = True) -> int:
    return sum(p.numel() for p in module.parameters() if biases or p.dim() > 1)


def test_the_base_models_dimensions() -> None:
    given, right = GOLDEN["base_dimensions"]["given"], GOLDEN["base_dimensions"]["right"]
    model = on_paper(vocabulary=37000)
    config = model.config
    stated = {"d_model": config.d_model, "h": config.heads, "d_ff": config.d_ff}
    assert stated == {name: given[name] for name in stated}
    assert config.d_k == right["d_k"] == right["d_v"]
    assert math.sqrt(config.d_k) == right["sqrt_d_k"]
    layer = model.get_submodule("encoder.layers.0")
    attention, feed_forward = (
        layer.get_submodule("self_attention"),
        layer.get_submodule("feed_forward"),
    )
    per_head = attention.get_parameter("W_Q.weight").shape[0] // config.heads
    assert [config.d_model, per_head] == right["W_Q_i"]
    assert list(attention.get_parameter("W_O.weight").T.shape) == right["W_O"]
    assert list(feed_forward.get_parameter("W_1.weight").T.shape) == right["ffn_W0"]
    assert list(feed_forward.get_parameter("W_2.weight").T.shape) == right["ffn_W1"]
    assert count(attention, biases=False) == right["params_mha_no_bias"]
    assert count(feed_forward, biases=False) == right["params_ffn_no_bias"]
    assert count(feed_forward) == right["params_ffn_with_bias"]
    assert sinusoidal(1, config.d_model)[0, 0::2].numel() == right["i_max"] + 1


def test_gpt3s_counts_without_allocating_it() -> None:
    given, right = GOLDEN["gpt3_counts"]["given"], GOLDEN["gpt3_counts"]["right"]
    model = on_paper(
        family="decoder",
        vocabulary=given["vocabulary"],
        d_model=given["d_model"],
        heads=given["heads"],
        head_width=given["head_width"],
        decoder_layers=given["layers"],
        d_ff=4 * given["d_model"],
        positions="learned",
        max_length=2048,
        tied="none",
        bias=False,
    )
    attentions = [
        layer.get_submodule("self_attention")
        for layer in model.get_submodule("decoder.layers").children()
    ]
    first = attentions[0]
    assert first.get_parameter("W_Q.weight").numel() // given["heads"] == right["W_Q_or_W_K"]
    assert first.get_parameter("W_K.weight").numel() // given["heads"] == right["W_Q_or_W_K"]
    assert first.get_parameter("W_V.weight").numel() == right["square_W_V"]  # all heads together
    assert count(first) // given["heads"] == right["per_head_four_maps"]
    assert count(first) == right["per_block"]
    assert sum(count(attention) for attention in attentions) == right["all_layers"]
    counts = model.parameter_counts()
    assert counts["embedding"] == right["embedding"]
    assert counts["output"] - given["vocabulary"] == right["unembedding"]  # less its bias
    assert all(parameter.is_meta for parameter in model.parameters())
