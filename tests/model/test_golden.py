"""The literature's worked examples, each computed by the real model configured for it.

Figures live in tests/golden.json to 10 significant digits; every comparison is to those digits.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.model import Transformer, attention, explicit, sinusoidal
from cutaway.model.layers import AddNorm, FeedForward
from tests.model.probe import watching

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden.json").read_text(encoding="utf-8")
)
Seen = dict[str, NDArray[np.float64]]


def figures(values: object) -> NDArray[np.float64]:
    return np.array(values, dtype=object).astype(np.float64)  # "-inf" is a string


def to_the_digits(got: object, right: object, *, digits: int = 10, noise: float = 0.0) -> None:
    """Every cell rounds to the figure given; `noise` is the least step float64 can tell here."""
    want = figures(right)
    have = np.asarray(got, dtype=np.float64)
    assert have.shape == want.shape
    finite = np.isfinite(want)
    np.testing.assert_array_equal(have[~finite], want[~finite])
    have, want = have[finite], want[finite]
    size = np.floor(np.log10(np.abs(want), where=want != 0, out=np.zeros_like(want)))
    step = np.where(want == 0, 0.0, 10.0 ** (size - digits + 1))
    error = np.abs(have - want)
    assert np.all(error <= 0.51 * step + noise), f"off by {(error - 0.51 * step).max()}"


def tensor(values: object) -> Tensor:
    return torch.from_numpy(figures(values))


def put(module: nn.Module, **matrices: object) -> None:
    """Set weights by path; matrices are written as in the examples, x W, so W is transposed."""
    with torch.no_grad():
        for path, matrix in matrices.items():
            parameter = module.get_parameter(path.replace("__", "."))
            value = tensor(matrix)
            parameter.copy_(value.T if value.dim() == 2 else value)


def example(family: str, embedding: object, **changes: Any) -> Transformer:
    """A one-layer model whose word n + 1 has row n of the embedding; id 0 is padding."""
    rows = tensor(embedding)
    config = ModelConfig.from_dict(
        {
            "vocabulary": len(rows) + 1,
            "family": family,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "d_model": rows.shape[1],
            "heads": 1,
            "scale_embedding": False,
            "bias": False,
            "dropout": 0.0,
            **changes,
        }
    )
    model = Transformer(config).double().eval()
    with torch.no_grad():
        model.embedding.weight[1:] = rows
    return model


def run(model: Transformer, words: int) -> Seen:
    """What every variable was, on the sentence 1 … words."""
    ids = torch.arange(1, words + 1)[None]
    with torch.no_grad(), explicit(), watching(model) as seen:
        model(ids)
    return seen


def squeezed(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Without the batch of one and the head of one."""
    return value.reshape(value.shape[-2:])


def through_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Seen:
    """The free function's own variables: one head, one sentence."""
    with torch.no_grad(), explicit(), watching() as seen:
        attention(query, key, value, mask)
    return {name: squeezed(value) for name, value in seen.items()}


# --- The encoder layer by hand: six words, d = 6, one head of width 4 ------------------------

HAND = GOLDEN["encoder_by_hand"]
# the chain's names → the model's variables
CHAIN = {
    "X": "positions.output",
    "Q": "layers.0.self_attention.query",
    "K": "layers.0.self_attention.key",
    "V": "layers.0.self_attention.value",
    "QKt": "layers.0.self_attention.scores",
    "scaled": "layers.0.self_attention.scaled",
    "softmax": "layers.0.self_attention.weights",
    "attention": "layers.0.self_attention.context",
    "mha": "layers.0.self_attention.output",
    "add1": "layers.0.self_attention_add_norm.added",
    "norm1": "layers.0.self_attention_add_norm.normed",
    "ffn_linear": "layers.0.feed_forward.hidden",
    "ffn_relu": "layers.0.feed_forward.activated",
    "add2": "layers.0.feed_forward_add_norm.added",
    "norm2": "layers.0.feed_forward_add_norm.normed",
}


def by_hand(embedding: object = HAND["given"]["embedding"], **changes: Any) -> Transformer:
    """The article's layer: its feed-forward is one linear and ReLU, so W_2 is the identity."""
    model = example("encoder", embedding, head_width=4, d_ff=6, **changes)
    assert model.encoder is not None
    given = HAND["given"]
    put(
        model.encoder.layers[0],
        self_attention__W_Q__weight=given["W_Q"],
        self_attention__W_K__weight=given["W_K"],
        self_attention__W_V__weight=given["W_V"],
        self_attention__W_O__weight=given["W_O"],
        feed_forward__W_1__weight=given["W_ffn"],
        feed_forward__W_1__bias=given["b_ffn"],
        feed_forward__W_2__weight=np.eye(6),
    )
    return model


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


# --- 我 喜欢 学习 编程: masked attention, d = 3 --------------------------------------------------

FOUR = GOLDEN["masked_attention"]
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


# --- Two heads, identity weights, three words -------------------------------------------------

TOY = GOLDEN["two_head_toy"]


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


# --- Positions ----------------------------------------------------------------------------------

PE = GOLDEN["positions"]


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
