"""Matrices of a lesson read out of a recorded run, by address."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.glass import Trace
from cutaway.model import Transformer

ATTENTION = "decoder.layers.0.self_attention"  # of `recorded_decoder`


def numbers(trace: Trace, address: str) -> Tensor:
    """The tensor of an address, without the batch of one and the head of one in front."""
    tensor = trace[address].tensor
    while tensor.dim() > 2 and tensor.shape[0] == 1:
        tensor = tensor[0]
    return tensor


def dimensions(width: int, letter: str = "d") -> list[str]:
    """Names of the columns of a vector: d0, d1, …"""
    return [f"{letter}{number}" for number in range(width)]


def table(values: Sequence[Sequence[float]]) -> Tensor:
    """Rows of plain numbers as a tensor of doubles."""
    return torch.tensor(values, dtype=torch.float64)


def put(module: nn.Module, path: str, values: Tensor) -> None:
    """Set a weight; matrices are written as in the examples, x W, so W is transposed."""
    with torch.no_grad():
        module.get_parameter(path).copy_(values.T if values.dim() == 2 else values)


def recorded_decoder(
    x: Tensor,  # (words, D)
    weights: Mapping[str, Tensor],  # W_Q, W_K, W_V and W_O, written as x W
    words: Sequence[str],
    *,
    heads: int = 1,
) -> Trace:
    """One decoder layer with heads of width D on the rows of `x`, without positions; recorded."""
    count, width = x.shape
    config = ModelConfig(
        vocabulary=count + 1,
        family="decoder",
        decoder_layers=1,
        d_model=width,
        heads=heads,
        head_width=width,
        d_ff=width,
        positions="none",
        scale_embedding=False,
        bias=False,
        dropout=0.0,
    )
    model = Transformer(config).double().eval()
    with torch.no_grad():
        model.embedding.weight[1:] = x
    for name, values in weights.items():
        put(model, f"{ATTENTION}.{name}.weight", values)
    ids = torch.arange(1, count + 1)[None]
    with torch.no_grad(), glass.record(model) as trace:
        model(ids)
    trace.label(source=words)
    return trace
