"""The same function as torch.nn's own Transformer: outputs and all gradients, in float64."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.model import MultiHeadAttention, Transformer, explicit, sinusoidal
from cutaway.model.layers import DecoderLayer, EncoderLayer, FeedForward
from tests.model.samples import batch, build, close, small

WEIGHTS = 1e-2  # scale of the random loss, so that gradients are of the size of the outputs

# torch's name → ours, as pairs; its three input projections lie in one matrix
Pairs = list[tuple[Tensor, list[Tensor]]]


def parameters(module: nn.Linear | nn.LayerNorm) -> tuple[Tensor, Tensor]:
    return module.weight, module.bias


def attention_pairs(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> Pairs:
    projections = (ours.W_Q, ours.W_K, ours.W_V)
    return [
        (theirs.in_proj_weight, [part.weight for part in projections]),
        (theirs.in_proj_bias, [part.bias for part in projections]),
        (theirs.out_proj.weight, [ours.W_O.weight]),
        (theirs.out_proj.bias, [ours.W_O.bias]),
    ]


def feed_forward_pairs(
    theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, ours: FeedForward
) -> Pairs:
    return [
        (mine, [yours])
        for one, other in ((theirs.linear1, ours.W_1), (theirs.linear2, ours.W_2))
        for mine, yours in zip(parameters(one), parameters(other), strict=True)
    ]


def norm_pairs(theirs: nn.LayerNorm, ours: nn.LayerNorm) -> Pairs:
    return [(a, [b]) for a, b in zip(parameters(theirs), parameters(ours), strict=True)]


def encoder_pairs(theirs: nn.TransformerEncoderLayer, ours: EncoderLayer) -> Pairs:
    return [
        *attention_pairs(theirs.self_attn, ours.self_attention),
        *feed_forward_pairs(theirs, ours.feed_forward),
        *norm_pairs(theirs.norm1, ours.self_attention_add_norm.norm),
        *norm_pairs(theirs.norm2, ours.feed_forward_add_norm.norm),
    ]


def decoder_pairs(theirs: nn.TransformerDecoderLayer, ours: DecoderLayer) -> Pairs:
    assert ours.cross_attention is not None
    assert ours.cross_attention_add_norm is not None
    return [
        *attention_pairs(theirs.self_attn, ours.self_attention),
        *attention_pairs(theirs.multihead_attn, ours.cross_attention),
        *feed_forward_pairs(theirs, ours.feed_forward),
        *norm_pairs(theirs.norm1, ours.self_attention_add_norm.norm),
        *norm_pairs(theirs.norm2, ours.cross_attention_add_norm.norm),
        *norm_pairs(theirs.norm3, ours.feed_forward_add_norm.norm),
    ]


class Theirs(nn.Module):
    """torch's stacks between the paper's embedding and output, with copied weights.

    torch's own wrapper always ends with a norm, which the paper's post-norm layers already do:
    so the stacks are given one for pre-norm only.
    """

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        config = ours.config
        layer: dict[str, Any] = {
            "d_model": config.d_model,
            "nhead": config.heads,
            "dim_feedforward": config.d_ff,
            "dropout": 0.0,
            "activation": config.activation,
            "layer_norm_eps": config.norm_epsilon,
            "batch_first": True,
            "norm_first": config.norm == "pre",
            "dtype": torch.float64,
        }

        def last_norm() -> nn.LayerNorm | None:
            eps = config.norm_epsilon
            return nn.LayerNorm(config.d_model, eps).double() if config.norm == "pre" else None

        self.config = config
        self.table = nn.Parameter(ours.embedding.weight.detach().clone())
        assert ours.output.bias is not None
        self.bias = nn.Parameter(ours.output.bias.detach().clone())
        self.pairs: Pairs = [(self.table, [ours.embedding.weight]), (self.bias, [ours.output.bias])]
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer),
            config.encoder_layers,
            norm=last_norm(),
            enable_nested_tensor=False,
        )
        assert ours.encoder is not None
        for theirs, mine in zip(self.encoder.layers, ours.encoder.layers, strict=True):
            assert isinstance(theirs, nn.TransformerEncoderLayer)
            assert isinstance(mine, EncoderLayer)
            self.pairs += encoder_pairs(theirs, mine)
        stacks: list[tuple[nn.Module | None, nn.Module | None]] = [
            (self.encoder.norm, ours.encoder.norm)
        ]
        self.transformer = None
        if ours.decoder is not None:
            decoder = nn.TransformerDecoder(
                nn.TransformerDecoderLayer(**layer), config.decoder_layers, norm=last_norm()
            )
            self.transformer = nn.Transformer(
                config.d_model,
                config.heads,
                custom_encoder=self.encoder,
                custom_decoder=decoder,
                batch_first=True,
            )
            for other, mine in zip(decoder.layers, ours.decoder.layers, strict=True):
                assert isinstance(other, nn.TransformerDecoderLayer)
                assert isinstance(mine, DecoderLayer)
                self.pairs += decoder_pairs(other, mine)
            stacks.append((decoder.norm, ours.decoder.norm))
        for their_norm, our_norm in stacks:
            if isinstance(their_norm, nn.LayerNorm) and isinstance(our_norm, nn.LayerNorm):
                self.pairs += norm_pairs(their_norm, our_norm)
        with torch.no_grad():
            for whole, parts in self.pairs:
                whole.copy_(torch.cat(parts))

    def embed(self, ids: Tensor) -> Tensor:
        tokens = F.embedding(ids, self.table) * math.sqrt(self.config.d_model)
        return tokens + sinusoidal(ids.shape[1], self.config.d_model)

    def forward(self, source: Tensor, target: Tensor | None = None) -> Tensor:
        padding = source == 0  # torch's masks say who may not be seen
        if target is None or self.transformer is None:
            states = self.encoder(self.embed(source), src_key_padding_mask=padding)
        else:
            length = target.shape[1]
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            states = self.transformer(
                self.embed(source),
                self.embed(target),
                tgt_mask=later,
                src_key_padding_mask=padding,
                tgt_key_padding_mask=target == 0,
                memory_key_padding_mask=padding,
            )
        return F.linear(states, self.table, self.bias)


def compare(config: ModelConfig, *ids: Tensor) -> None:
    ours = build(config)
    theirs = Theirs(ours)
    expected = theirs(*ids)
    generator = torch.Generator().manual_seed(11)
    weights = WEIGHTS * torch.randn(expected.shape, generator=generator, dtype=torch.float64)
    (expected * weights).sum().backward()
    trained = {id(part) for _, parts in theirs.pairs for part in parts}
    assert trained == {id(parameter) for parameter in ours.parameters()}  # nothing left uncompared

    def check() -> None:
        ours.zero_grad()
        logits = ours(*ids)
        close(logits, expected)
        (logits * weights).sum().backward()
        for theirs_parameter, parts in theirs.pairs:
            assert theirs_parameter.grad is not None
            assert theirs_parameter.grad.abs().max() > 0
            gradients = [part.grad for part in parts if part.grad is not None]
            close(torch.cat(gradients), theirs_parameter.grad)

    check()
    with explicit():
        check()


SETTINGS = {"head_width": None, "d_model": 34, "heads": 2}
both_norms = pytest.mark.parametrize("norm", ["post", "pre"])
both_activations = pytest.mark.parametrize("activation", ["relu", "gelu"])


@both_norms
@both_activations
def test_an_encoder_decoder_with_padding_and_causal_mask(norm: str, activation: str) -> None:
    config = small(norm=norm, activation=activation, **SETTINGS)
    compare(config, batch((7, 4, 5)), batch((6, 11, 3), seed=5))


@both_norms
@both_activations
def test_an_encoder_with_padding(norm: str, activation: str) -> None:
    config = small(norm=norm, activation=activation, family="encoder", **SETTINGS)
    compare(config, batch((7, 4, 5)))


@both_norms
def test_without_padding(norm: str) -> None:
    config = small(norm=norm, **SETTINGS)
    compare(config, batch((7, 7)), batch((5, 5), seed=5))


def test_torchs_default_epsilon_is_ours() -> None:
    assert nn.TransformerEncoderLayer(4, 2).norm1.eps == ModelConfig(vocabulary=3).norm_epsilon
