"""The encoder layer by hand, every step computed by the real model configured for it."""

import math

import numpy as np
import pytest
import torch

from cutaway.config import ModelConfig
from cutaway.model.layers import AddNorm, FeedForward
from tests.model.golden import (
    CHAIN,
    HAND,
    by_hand,
    figures,
    run,
    squeezed,
    tensor,
    through_attention,
    to_the_digits,
)


@pytest.mark.parametrize("name", CHAIN)
def test_the_papers_chain_by_hand(name: str) -> None:
    seen = run(by_hand(), 6)
    to_the_digits(squeezed(seen[f"encoder.{CHAIN[name]}"]), HAND["right"]["chain"][name])


@pytest.mark.parametrize("sublayer", [1, 2])
def test_mean_and_deviation_of_the_chains_rows(sublayer: int) -> None:
    chain = HAND["right"]["chain"]
    added = squeezed(run(by_hand(), 6)[f"encoder.{CHAIN[f'add{sublayer}']}"])
    to_the_digits(added.mean(-1), chain[f"mean{sublayer}"])
    to_the_digits(added.std(-1), chain[f"std{sublayer}"])


def test_the_fused_path_ends_where_the_chain_ends() -> None:
    model = by_hand()
    with torch.no_grad():
        memory = model.encode(torch.arange(1, 7)[None])
    to_the_digits(memory[0], HAND["right"]["chain"]["norm2"])


def test_scores_weights_and_values_from_the_printed_tables() -> None:
    """Each step from the printed table before it."""
    right, printed = HAND["right"]["stepwise"], HAND["printed"]
    model = by_hand(printed["X"], positions="none")
    seen = run(model, 6)
    to_the_digits(squeezed(seen["encoder.layers.0.self_attention.value"]), right["V"])
    query, key = tensor(printed["Q"])[None, None], tensor(printed["K"])[None, None]
    value = tensor(right["V"])[None, None]
    steps = through_attention(query, key, value)
    to_the_digits(steps["scores"], right["QKt"])
    to_the_digits(steps["scaled"], right["scaled_sqrt_dk_4"])
    to_the_digits(steps["weights"], right["softmax_dk_4"])


def test_feed_forward_from_the_printed_table() -> None:
    right, model = HAND["right"]["stepwise"], by_hand()
    assert model.encoder is not None
    feed_forward = model.encoder.layers[0].get_submodule("feed_forward")
    assert isinstance(feed_forward, FeedForward)
    with torch.no_grad():
        hidden = feed_forward.W_1(tensor(HAND["printed"]["norm1"]))
        to_the_digits(hidden, right["ffn_linear"], noise=1e-15)
        to_the_digits(hidden - feed_forward.W_1.bias, right["XW"], noise=1e-15)


@pytest.mark.parametrize("sublayer", [1, 2])
def test_the_norms_divisor_is_the_population_deviation(sublayer: int) -> None:
    """(x − mean) / norm(x), from the printed sums; ε so small that it cannot be seen."""
    config = ModelConfig(vocabulary=2, d_model=6, heads=1, norm_epsilon=1e-20)
    norm = AddNorm(config).double().norm
    printed = tensor(HAND["printed"][f"add{sublayer}"])
    with torch.no_grad():
        divisor = (printed - printed.mean(-1, keepdim=True)) / norm(printed)
    deviation = HAND["right"]["stepwise"][f"std{sublayer}_population"]
    to_the_digits(divisor.T, [deviation] * 6)


def test_the_articles_root_of_6_is_a_slip_for_the_root_of_4() -> None:
    """Divide by √6, the embedding's width, instead of √d_k, and the article's figures come out."""
    slip, printed = HAND["slip_sqrt6"]["stepwise"], HAND["printed"]
    by_mistake = math.sqrt(4 / 6)
    query, key = tensor(printed["Q"])[None, None], tensor(printed["K"])[None, None]
    steps = through_attention(query * by_mistake, key, key)
    to_the_digits(steps["scaled"], slip["scaled"])
    identity = torch.eye(6, dtype=torch.float64)[None, None]
    steps = through_attention(tensor(printed["scaled"]) * math.sqrt(6) @ identity, identity, key)
    to_the_digits(steps["weights"], slip["softmax"])


def test_the_chain_with_the_articles_positions_and_slip() -> None:
    """From the printed X and √6; its norm adds 1e-4 to the deviation, ours ε to the variance."""
    chain = HAND["slip_sqrt6"]["chain_from_printed_X"]
    model = by_hand(HAND["printed"]["X"], positions="none")
    assert model.encoder is not None
    with torch.no_grad():
        model.encoder.layers[0].get_parameter("self_attention.W_Q.weight").mul_(math.sqrt(4 / 6))
    seen = run(model, 6)
    for name in ("K", "V", "scaled", "softmax", "attention", "mha", "add1"):
        to_the_digits(squeezed(seen[f"encoder.{CHAIN[name]}"]), chain[name])
    normed = squeezed(seen[f"encoder.{CHAIN['norm1']}"])
    np.testing.assert_allclose(normed, figures(chain["norm1"]), rtol=1e-4)
