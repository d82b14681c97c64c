"""Build a model: with initial weights, or with given ones."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from cutaway.model import Transformer
from cutaway.training.prepare import Prepared

INITIAL, DROPOUT = 0, 1  # purposes of a random stream: the number after the seed


def mix(*numbers: int) -> int:
    """A seed for a random stream, a pure function of the numbers that name it."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def initial_model(prepared: Prepared, seed: int) -> Transformer:
    """A new model; its weights follow from the seed, or are those of the model started from."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(mix(seed, INITIAL))
        model = Transformer(prepared.model)
    if prepared.start is not None:
        old = prepared.start.model.state_dict()
        state = model.state_dict()
        for name, tensor in old.items():
            new = state.get(name)
            if new is None or new.shape[1:] != tensor.shape[1:]:
                continue  # a head of another task
            if "classifier" in name and new.shape != tensor.shape:
                continue  # other classes
            rows = min(len(new), len(tensor)) if new.dim() else 0
            if new.dim():
                new[:rows] = tensor[:rows]  # a grown vocabulary keeps its old rows
            else:
                new.copy_(tensor)
        model.load_state_dict(state)
    return model


def freeze_unused(model: Transformer) -> None:
    """Leave parameters that the task's loss never reaches out of optimizer and reduction."""
    if model.classifier is not None:
        for parameter in model.output.parameters():
            parameter.requires_grad_(False)


def model_with_weights(template: Transformer, weights: Mapping[str, Tensor]) -> Transformer:
    """A model of the same shape, ready to use, with these weights."""
    with torch.random.fork_rng(devices=[]):
        model = Transformer(template.config)
    model.load_state_dict(dict(weights))
    return model.eval()
