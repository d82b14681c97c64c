"""Small models with every parameter away from its neutral value, and batches with padding."""

from typing import Any

import torch
from torch import Tensor

from cutaway.config import ModelConfig
from cutaway.model import Transformer

FAMILIES = ("encoder-decoder", "decoder", "encoder")
PATTERNS = ("full", "local", "strided")


def small(**changes: Any) -> ModelConfig:
    """Sizes that differ from one another, so that no swapped axis can pass."""
    sizes = {
        "vocabulary": 31,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "d_model": 22,
        "heads": 3,
        "head_width": 5,
        "d_ff": 17,
        "dropout": 0.0,
        "max_length": 41,
        "window": 2,
        "stride": 5,
    }
    return ModelConfig.from_dict({**sizes, **changes})


def build(config: ModelConfig, seed: int = 1, dtype: torch.dtype = torch.float64) -> Transformer:
    """A model in evaluation mode whose gains, biases and amplitudes are not one and zero."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Transformer(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.to(dtype).eval()


def batch(
    lengths: tuple[int, ...],
    *,
    vocabulary: int = 31,
    seed: int = 3,
    pad: int = 0,
    left: bool = False,
) -> Tensor:
    """Ids (B, longest), each row padded behind (or before) its length."""
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths)
    ids = torch.randint(1, vocabulary, (len(lengths), width), generator=generator)
    for row, length in enumerate(lengths):
        gap = slice(0, width - length) if left else slice(length, width)
        ids[row, gap] = pad
    return ids


def inputs(config: ModelConfig) -> tuple[Tensor, ...]:
    """What forward takes: padded source ids, and padded target ids where there are two sides."""
    source = batch((7, 4, 5), vocabulary=config.vocabulary)
    target = batch((6, 3, 11), vocabulary=config.output_vocabulary, seed=5)
    return (source, target) if config.family == "encoder-decoder" else (source,)


def close(got: Tensor, expected: Tensor, within: float = 1e-12) -> None:
    """The same shape and type, and no cell further away than this."""
    torch.testing.assert_close(got, expected, rtol=0.0, atol=within)
