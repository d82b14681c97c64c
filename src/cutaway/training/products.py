"""Matrix products of training on a processor: by oneDNN, or rounded to bfloat16.

MKL, which torch prefers, gives its AVX-512 code to Intel's processors only. On others that have
AVX-512, oneDNN, which torch brings too, is up to twice as fast with the same float32
(docs/decisions.md). torch sends float32 products there by an operation without a gradient, so the
gradients are written here.

With `train.precision` bfloat16 the operands of these products are rounded to bfloat16 and all else
stays float32. torch's autocast also rounds what lies between the products, which costs more than
the products save.
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


@cache
def rounds_in_hardware() -> bool:
    """Whether oneDNN multiplies bfloat16 on this processor; elsewhere torch does."""
    return bool(torch._C._has_mkldnn and torch.ops.mkldnn._is_mkldnn_bf16_supported())


def quick(*tensors: Tensor) -> bool:
    """Whether products of these go through oneDNN: plain float32 numbers that nobody records.

    A recording (the explicit body) is of operations that a reader knows.
    """
    plain = all(one.dtype == torch.float32 and one.device.type == "cpu" for one in tensors)
    return plain and is_quicker() and not torch.is_autocast_enabled("cpu") and not is_explicit()


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left · rightᵀ + bias: (n, k), (m, k), (m,) → (n, m). Either may be a transposed view."""
    if left.dtype == torch.bfloat16 and not rounds_in_hardware():
        return F.linear(left, right, bias)
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return found


def crossed(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ · right: (n, m), (n, k) → (m, k). oneDNN copies its first operand: the narrower one."""
    if left.shape[-1] > right.shape[-1]:
        return product(right.T, left.T).T
    return product(left.T, right.T)


class _Linear(torch.autograd.Function):
    """y = x Wᵀ + b, with its gradients g W, gᵀ x and Σ g; operands are rounded to `kind`."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, kind: torch.dtype
    ) -> Tensor:
        rows = states.reshape(-1, states.shape[-1]).to(kind)  # (n, k)
        rounded = weight.to(kind)
        ctx.save_for_backward(rows, rounded)
        ctx.biased = bias is not None
        found = product(rows, rounded, None if bias is None else bias.to(kind))
        return found.view(*states.shape[:-1], len(weight)).to(states.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        rows, weight = ctx.saved_tensors
        given = gradients[0]
        whole = given.reshape(-1, given.shape[-1])  # (n, m)
        gradient = whole.to(rows.dtype)
        of_states = product(gradient, weight.T).view(*given.shape[:-1], weight.shape[1])
        of_weight = crossed(gradient, rows).to(given.dtype).contiguous()  # (m, k)
        of_bias = whole.sum(0) if ctx.biased else None
        return of_states.to(given.dtype), of_weight, of_bias, None


def linear(layer: nn.Linear, states: Tensor, rounded: torch.dtype | None = None) -> Tensor:
    """What the layer computes, operands rounded if asked; by oneDNN where that is quicker."""
    weight, bias = layer.weight, layer.bias
    if rounded and is_explicit():  # recorded: roundings that a reader sees
        shift = None if bias is None else bias.to(rounded)
        return F.linear(states.to(rounded), weight.to(rounded), shift).to(states.dtype)
    if not rounded and not quick(states, weight):
        return F.linear(states, weight, bias)
    kind = rounded or states.dtype
    found: Tensor = _Linear.apply(states, weight, bias, kind)  # type: ignore[no-untyped-call]
    return found


@contextmanager
def quick_layers(model: nn.Module, rounded: torch.dtype | None = None) -> Iterator[None]:
    """Within this block the linear layers of a model compute by `linear`."""
    changed = rounded or (is_quicker() and not is_explicit())
    layers = [one for one in model.modules() if type(one) is nn.Linear] if changed else []
    for layer in layers:
        layer.forward = partial(linear, layer, rounded=rounded)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward
