"""The literature's worked examples: their figures, and the model configured for each.

Figures live in tests/golden.json to 10 significant digits; every comparison is to those digits.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.model import Transformer, attention, explicit
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


# --- 我 喜欢 学习 编程: masked attention, d = 3 --------------------------------------------------

FOUR = GOLDEN["masked_attention"]


# --- Two heads, identity weights, three words -------------------------------------------------

TOY = GOLDEN["two_head_toy"]


# --- Positions ----------------------------------------------------------------------------------

PE = GOLDEN["positions"]
