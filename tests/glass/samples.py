"""Small runs that several tests record."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.model import Transformer

SOURCE = torch.tensor([[5, 9, 2, 7, 3], [4, 8, 6, 1, 0]])
TARGET = torch.tensor([[1, 3, 11, 6], [1, 7, 2, 0]])


def small(**changes: Any) -> ModelConfig:
    """Sizes that differ from one another."""
    sizes: dict[str, Any] = {
        "vocabulary": 13,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "d_model": 6,
        "heads": 2,
        "d_ff": 7,
        "dropout": 0.0,
        "max_length": 11,
    }
    return ModelConfig.from_dict({**sizes, **changes})


def model(dtype: torch.dtype = torch.float64, **changes: Any) -> Transformer:
    """A model whose every parameter is away from 0 and 1."""
    torch.manual_seed(7)
    made = Transformer(small(**changes))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return made.to(dtype).eval()


def inputs(made: Transformer) -> tuple[Tensor, ...]:
    """Ids for its family."""
    return (SOURCE, TARGET) if made.config.family == "encoder-decoder" else (SOURCE,)


def forward(made: Transformer) -> glass.Trace:
    """A recorded forward pass."""
    with torch.no_grad(), glass.record(made) as trace:
        made(*inputs(made))
    return trace


def training_step(made: Transformer, optimizer: torch.optim.Optimizer) -> glass.Trace:
    """A recorded forward pass, loss, backward pass and update."""
    given = inputs(made)
    with glass.record(made) as trace:
        logits = made(*given)
        loss = F.cross_entropy(
            logits.flatten(0, 1), given[-1].flatten(), ignore_index=0, label_smoothing=0.1
        )
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return trace
