"""The first values of every parameter, all in one place."""

import math

from torch import nn


def initialise(model: nn.Module) -> None:
    """Set every parameter: matrices by Glorot, tables normal, norms to one, biases to zero.

    table ~ N(0, 1/D), so that a row scaled by √D has unit variance; W ~ U(±√(6/(in+out)))

    Shapes without numbers (the meta device) are left alone: drawing there imports torch's compiler.
    """
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            continue
        part, _, kind = name.rpartition(".")
        if kind == "amplitude" or (kind == "weight" and part.endswith("norm")):
            nn.init.ones_(parameter)
        elif kind == "bias":
            nn.init.zeros_(parameter)
        elif kind == "table" or part.endswith("embedding") or part == "output":
            nn.init.normal_(parameter, std=1 / math.sqrt(parameter.shape[1]))
        else:
            nn.init.xavier_uniform_(parameter)
