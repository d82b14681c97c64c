"""The decoder's step for one new token without module calls.

The same formula as `cutaway.model.layers`, on the same weights and the same cache, for the most
frequent case: a small model spends half the time of a step in calling its forty modules.
With explicit attention, hooks or a recording, the modules run instead.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway.model import DecodingState, MultiHeadAttention, Transformer, attention
from cutaway.model.attention import is_explicit
from cutaway.model.layers import AddNorm, DecoderLayer

Pair = tuple[Tensor, Tensor | None]  # weight and bias


@dataclass(frozen=True)
class _Layer:
    """The weights of one decoder layer; W_Q, W_K and W_V of self-attention side by side."""

    self_input: Pair  # (3·H·W, D)
    self_output: Pair
    self_norm: Pair
    cross_query: Pair | None  # its keys and values are in the cache already
    cross_output: Pair | None
    cross_norm: Pair | None
    inner: Pair
    outer: Pair
    inner_norm: Pair


class FusedStep:
    """One new token per row, (R,) → states that predict the next, (R, D); extends the cache."""

    def __init__(self, model: Transformer) -> None:
        assert model.decoder is not None
        config = model.config
        self.width = config.d_model
        self.heads = config.heads
        self.epsilon = config.norm_epsilon
        self.pre = config.norm == "pre"
        self.activation = F.relu if config.activation == "relu" else F.gelu
        table = model.embedding if model.target_embedding is None else model.target_embedding
        self.table, self.scale = table.weight, table.scale
        positions = model.decoder.positions
        self.positions = positions.table
        if positions.table is not None and positions.amplitude is not None:
            self.positions = positions.table * positions.amplitude
        self.room = positions.max_length
        norm = model.decoder.norm
        self.last_norm: Pair | None = None if norm is None else (norm.weight, norm.bias)
        self.layers = [_layer(layer) for layer in model.decoder.layers]

    @staticmethod
    def fits(model: Transformer) -> bool:
        """Whether this step computes what the model would, and nothing observes its modules."""
        return (
            model.decoder is not None
            and model.config.attention == "full"
            and not model.training
            and not is_explicit()
            and torch._C._len_torch_dispatch_stack() == 0  # a recording wants the modules' lines
            and not any(
                module._forward_hooks or module._forward_pre_hooks
                for module in model.decoder.modules()
            )
        )

    def __call__(
        self,
        tokens: Tensor,  # (R,)
        state: DecodingState,  # of at least one token, none of them padding
        memory_mask: Tensor | None,  # (R, 1, S)
    ) -> Tensor:  # (R, D)
        states = F.embedding(tokens, self.table)
        if self.scale != 1.0:
            states = states * self.scale
        if self.positions is not None:
            states = states + self.positions[state.length]
        mask = None if memory_mask is None else memory_mask.unsqueeze(1)  # (R, 1, 1, S)
        for layer, cache in zip(self.layers, state.layers, strict=True):
            normed = self._before(states, layer.self_norm)
            projected = F.linear(normed, *layer.self_input)
            query, key, value = projected.view(len(tokens), 3, self.heads, 1, -1).unbind(1)
            key, value = cache.self_attention.append(key, value)  # (R, H, T, W)
            context = attention(query, key, value).flatten(1)  # (R, H·W)
            update = F.linear(context, *layer.self_output)
            states = self._after(states + update, layer.self_norm)
            if layer.cross_query and layer.cross_output and layer.cross_norm:
                normed = self._before(states, layer.cross_norm)
                query = F.linear(normed, *layer.cross_query).view(len(tokens), self.heads, 1, -1)
                key, value = cache.cross_attention.keys_and_values()  # (R, H, S, W)
                context = attention(query, key, value, mask).flatten(1)
                update = F.linear(context, *layer.cross_output)
                states = self._after(states + update, layer.cross_norm)
            normed = self._before(states, layer.inner_norm)
            update = F.linear(self.activation(F.linear(normed, *layer.inner)), *layer.outer)
            states = self._after(states + update, layer.inner_norm)
        state.length += 1
        return states if self.last_norm is None else self._normed(states, self.last_norm)

    def _before(self, states: Tensor, norm: Pair) -> Tensor:
        return self._normed(states, norm) if self.pre else states

    def _after(self, states: Tensor, norm: Pair) -> Tensor:
        return states if self.pre else self._normed(states, norm)

    def _normed(self, states: Tensor, norm: Pair) -> Tensor:
        return F.layer_norm(states, (self.width,), *norm, eps=self.epsilon)


def _layer(layer: torch.nn.Module) -> _Layer:
    assert isinstance(layer, DecoderLayer)
    own, across = layer.self_attention, layer.cross_attention
    cross_norm = layer.cross_attention_add_norm
    return _Layer(
        self_input=_side_by_side(own),
        self_output=(own.W_O.weight, own.W_O.bias),
        self_norm=_norm(layer.self_attention_add_norm),
        cross_query=None if across is None else (across.W_Q.weight, across.W_Q.bias),
        cross_output=None if across is None else (across.W_O.weight, across.W_O.bias),
        cross_norm=None if cross_norm is None else _norm(cross_norm),
        inner=(layer.feed_forward.W_1.weight, layer.feed_forward.W_1.bias),
        outer=(layer.feed_forward.W_2.weight, layer.feed_forward.W_2.bias),
        inner_norm=_norm(layer.feed_forward_add_norm),
    )


def _norm(add_norm: AddNorm) -> Pair:
    return add_norm.norm.weight, add_norm.norm.bias


def _side_by_side(module: MultiHeadAttention) -> Pair:
    parts = (module.W_Q, module.W_K, module.W_V)
    biases: list[Tensor] = [part.bias for part in parts if part.bias is not None]
    return torch.cat([part.weight for part in parts]), torch.cat(biases) if biases else None
