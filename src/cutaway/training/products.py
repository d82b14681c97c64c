"""Matrix products by oneDNN where MKL, which torch prefers, leaves half of the processor idle.

MKL gives its AVX-512 code to Intel's processors only. On others that have AVX-512, oneDNN, which
torch brings too, is twice as fast with the same float32 (docs/decisions.md). torch sends float32
products there by an operation without a gradient, so the gradients are written here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.model.attention import is_explicit
from cutaway.system.processes import maker


@cache
def is_quicker() -> bool:
    """Whether oneDNN is the quicker of the two here: AVX-512, and not from Intel.

    Not measured: a run must find the same answer each time, or it would not repeat to the last bit.
    """
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or "ONEDNN_MAX_CPU_ISA" in os.environ:
        return False
    if not (torch._C._has_mkldnn and torch._C.has_mkl):
        return False
    return maker() == "AuthenticAMD"


def quick(*tensors: Tensor) -> bool:
    """Whether products of these go through oneDNN: plain float32 numbers that nobody records.

    A recording (the explicit body) is of operations that a reader knows.
    """
    plain = all(one.dtype == torch.float32 and one.device.type == "cpu" for one in tensors)
    return plain and is_quicker() and not torch.is_autocast_enabled("cpu") and not is_explicit()


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left · rightᵀ + bias: (n, k), (m, k), (m,) → (n, m). Either may be a transposed view."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return found


def crossed(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ · right: (n, m), (n, k) → (m, k). oneDNN copies its first operand: the narrower one."""
    if left.shape[-1] > right.shape[-1]:
        return product(right.T, left.T).T
    return product(left.T, right.T)


class _Linear(torch.autograd.Function):
    """y = x Wᵀ + b, with its gradients g W, gᵀ x and Σ g."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = states.reshape(-1, states.shape[-1])  # (n, k)
        ctx.save_for_backward(rows, weight)
        ctx.biased = bias is not None
        return product(rows, weight, bias).view(*states.shape[:-1], len(weight))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        rows, weight = ctx.saved_tensors
        given = gradients[0]
        gradient = given.reshape(-1, given.shape[-1])  # (n, m)
        of_states = product(gradient, weight.T).view(*given.shape[:-1], weight.shape[1])
        of_weight = crossed(gradient, rows).contiguous()  # (m, k)
        return of_states, of_weight, gradient.sum(0) if ctx.biased else None


def linear(layer: nn.Linear, states: Tensor) -> Tensor:
    """What the layer computes, by oneDNN where that is quicker."""
    if not quick(states, layer.weight):
        return F.linear(states, layer.weight, layer.bias)
    found: Tensor = _Linear.apply(states, layer.weight, layer.bias)  # type: ignore[no-untyped-call]
    return found


@contextmanager
def quick_layers(model: nn.Module) -> Iterator[None]:
    """Within this block the linear layers of a model compute by `linear`."""
    layers = [one for one in model.modules() if type(one) is nn.Linear] if is_quicker() else []
    for layer in layers:
        layer.forward = partial(linear, layer)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward
