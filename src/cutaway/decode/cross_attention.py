"""The decoder's cross-attention weights: which source tokens each target token attends to."""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from cutaway.model import MultiHeadAttention, Transformer


class CrossAttentionWeights:
    """Within this block, keeps the weights of every cross-attention this thread computes.

    weights = softmax(Q Kᵀ / √d_k), computed from the inputs of the model's own attention
    """

    def __init__(self, model: Transformer) -> None:
        self.layers: list[Tensor] = []  # of the last pass, each (B, H, T, S)
        self._modules = [
            module
            for name, module in model.named_modules()
            if isinstance(module, MultiHeadAttention) and name.endswith("cross_attention")
        ]
        self._handles: list[Any] = []
        self._thread = 0

    def __enter__(self) -> "CrossAttentionWeights":
        self.layers = []
        self._thread = threading.get_ident()
        self._handles = [
            module.register_forward_pre_hook(self._keep, with_kwargs=True)
            for module in self._modules
        ]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in self._handles:
            handle.remove()

    def _keep(
        self, module: MultiHeadAttention, inputs: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        if threading.get_ident() != self._thread:  # another thread translates with the same model
            return
        states, memory, mask = inputs
        self.layers.append(module.weights(states, memory, mask, cache=named.get("cache")))

    def mean(self) -> Tensor:
        """The mean of all heads of all layers, (B, T, S)."""
        return torch.stack([weights.mean(1) for weights in self.layers]).mean(0)


def attention_maps(
    model: Transformer,
    source: Sequence[int],
    target: Sequence[int],
    start: int,
) -> Tensor:  # (layers, H, T, S)
    """Every head's cross-attention for a given pair; row t predicts target[t]."""
    device = next(model.parameters()).device
    with torch.inference_mode(), CrossAttentionWeights(model) as cross_attention:
        model(
            torch.tensor([list(source)], device=device),
            torch.tensor([[start, *target[:-1]]], device=device),
        )
        return torch.cat(cross_attention.layers).clone()
