"""First values, counts by part, and the named sizes."""

import math
from typing import Any

import pytest
import torch

from cutaway.config import PRESETS, ModelConfig
from cutaway.model import Transformer
from tests.model.samples import FAMILIES, batch, small


def on_paper(config: ModelConfig) -> Transformer:
    with torch.device("meta"):
        return Transformer(config)


def layer_count(config: ModelConfig, *, attentions: int) -> int:
    """Weights and biases of one layer, by the formula."""
    inner = config.heads * config.d_k
    attention = 4 * config.d_model * inner + 3 * inner + config.d_model
    feed_forward = 2 * config.d_model * config.d_ff + config.d_ff + config.d_model
    norms = (attentions + 1) * 2 * config.d_model
    return attentions * attention + feed_forward + norms


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", PRESETS)
def test_counts_follow_from_the_settings(name: str, family: str) -> None:
    config = ModelConfig.preset(name, vocabulary=10007, family=family)
    counts = on_paper(config).parameter_counts()
    last_norm = 2 * config.d_model if config.norm == "pre" else 0
    expected = {"embedding": 10007 * config.d_model}
    if family != "decoder":
        per_layer = layer_count(config, attentions=1)
        expected["encoder"] = config.encoder_layers * per_layer + last_norm
    if family != "encoder":
        per_layer = layer_count(config, attentions=2 if family == "encoder-decoder" else 1)
        expected["decoder"] = config.decoder_layers * per_layer + last_norm
    expected["output"] = 10007  # its bias; the table is the embedding's
    assert counts == {**expected, "total": sum(expected.values())}


def test_the_named_sizes() -> None:
    """base and big have the paper's sizes: N 6, d 512 and 1024, h 8 and 16, ff 2048 and 4096."""
    sizes = {
        name: (c.encoder_layers, c.decoder_layers, c.d_model, c.heads, c.d_ff)
        for name in PRESETS
        for c in [ModelConfig.preset(name, vocabulary=97)]
    }
    assert sizes == {
        "tiny": (4, 4, 128, 4, 256),
        "small": (4, 4, 256, 4, 1024),
        "base": (6, 6, 512, 8, 2048),
        "big": (6, 6, 1024, 16, 4096),
    }
    base, big = (ModelConfig.preset(name, vocabulary=97) for name in ("base", "big"))
    assert (base.norm, base.activation, base.dropout, base.d_k) == ("pre", "relu", 0.1, 64)
    assert (big.norm, big.dropout, big.d_k) == ("pre", 0.3, 64)


def test_base_has_the_papers_65_million() -> None:
    """With its joint vocabulary of about 37,000; big has about 213 million."""
    sizes = (ModelConfig.preset(name, vocabulary=37000, norm="post") for name in ("base", "big"))
    base, big = (on_paper(config).parameter_counts()["total"] for config in sizes)
    assert base == 63_119_496
    assert abs(base / 65e6 - 1) < 0.03
    assert abs(big / 213e6 - 1) < 0.03


def test_the_public_example() -> None:
    for family in FAMILIES:
        model = Transformer(ModelConfig.preset("tiny", vocabulary=97, family=family))
        ids = (batch((5, 3)), batch((4, 6))) if family == "encoder-decoder" else (batch((5, 3)),)
        assert model(*ids).shape == (2, ids[-1].shape[1], 97)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"tied": "all"}, {"embedding": 31 * 22, "output": 31}),
        (
            {"tied": "output", "target_vocabulary": 29},
            {"embedding": 31 * 22, "target_embedding": 29 * 22, "output": 29},
        ),
        (
            {"tied": "none"},
            {"embedding": 31 * 22, "target_embedding": 31 * 22, "output": 31 * 22 + 31},
        ),
        ({"output_bias": False}, {"embedding": 31 * 22}),
    ],
)
def test_shared_tables_count_once(changes: dict[str, Any], parts: dict[str, int]) -> None:
    model = Transformer(small(**changes))
    counts = model.parameter_counts()
    stacks = {name: counts.pop(name) for name in ("encoder", "decoder", "total")}
    assert counts == parts
    assert stacks["total"] == sum(p.numel() for p in model.parameters())


def test_every_parameter_has_its_first_value_from_one_place() -> None:
    """Tables N(0, 1/D), matrices Glorot, gains one, biases zero, amplitude one."""
    config = small(d_model=128, heads=4, head_width=32, d_ff=256, vocabulary=1009)
    config = ModelConfig.from_dict(
        {**config.to_dict(), "positions": "learned", "position_amplitude": True, "norm": "pre"}
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(config)
    kinds = set()
    for name, parameter in model.named_parameters():
        values = parameter.detach()
        if name.endswith(("norm.weight", "amplitude")):
            kind, good = "one", bool((values == 1).all())
        elif name.endswith("bias"):
            kind, good = "zero", bool((values == 0).all())
        elif name.endswith("table") or name == "embedding.weight":
            kind, good = "table", abs(values.std().item() * math.sqrt(128) - 1) < 0.03
        else:
            bound = math.sqrt(6 / sum(values.shape))
            edge, mean = values.abs().max().item() / bound, values.mean().item() / bound
            kind, good = "matrix", 0.99 < edge < 1.0001 and abs(mean) < 0.02
        assert good, f"{name} does not start as a {kind}"
        kinds.add(kind)
    assert kinds == {"one", "zero", "table", "matrix"}


def test_a_seed_decides_the_first_values() -> None:
    def first(seed: int) -> torch.Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return torch.cat([p.detach().flatten() for p in Transformer(small()).parameters()])

    assert torch.equal(first(1), first(1))
    assert not torch.equal(first(1), first(2))


def test_layers_do_not_share_weights() -> None:
    """N layers of one shape, each with parameters of its own."""
    model = Transformer(small())
    parameters = [id(p) for p in model.parameters()]
    assert len(set(parameters)) == len(parameters) == len(model.state_dict())


def test_dropout_is_drawn_in_training_and_never_in_use() -> None:
    model = Transformer(small(dropout=0.5, activation_dropout=0.3, attention_dropout=0.2))
    ids = (batch((7, 5)), batch((6, 4)))
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        assert not torch.equal(model(*ids), model(*ids))
        model.eval()
        assert torch.equal(model(*ids), model(*ids))


@torch.no_grad()
def test_a_classifier_pools_the_real_positions() -> None:
    model = Transformer(small(family="encoder", classes=5)).eval()
    ids = batch((7, 4))
    logits = model.classify(ids)
    assert logits.shape == (2, 5)
    assert model.classifier is not None
    alone = model.encode(ids[1:, :4]).mean(1)
    torch.testing.assert_close(logits[1:], model.classifier(alone))
    # ids that are no padding, hidden by a mask, count as little as padding does
    hidden = ids.clone()
    hidden[1, 4:] = 9
    torch.testing.assert_close(model.classify(hidden, model.padding(ids)), logits)
