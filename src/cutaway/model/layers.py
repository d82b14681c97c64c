"""The blocks of the paper's figure: feed-forward, add & norm, encoder and decoder layers."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.model.attention import MultiHeadAttention
from cutaway.model.cache import LayerState
from cutaway.model.dropout import Dropout


class FeedForward(nn.Module):
    """The same two-layer network at every position.

    FFN(x) = activation(x W_1 + b_1) W_2 + b_2
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.W_1 = nn.Linear(config.d_model, config.d_ff)
        self.W_2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = F.relu if config.activation == "relu" else F.gelu
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, states: Tensor) -> Tensor:
        hidden = self.W_1(states)  # (B, L, F)
        activated = self.dropout(self.activation(hidden))
        output: Tensor = self.W_2(activated)  # (B, L, D)
        return output


class AddNorm(nn.Module):
    """A sublayer with its residual connection and layer norm, in either order.

    post: norm(x + sublayer(x)); pre: x + sublayer(norm(x))
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
        self.dropout = Dropout(config.dropout)

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        added: Tensor
        normed: Tensor
        if self.pre:
            normed = self.norm(states)
            update = self.dropout(sublayer(normed))
            added = states + update
            return added
        update = self.dropout(sublayer(states))
        added = states + update
        normed = self.norm(added)
        return normed


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_add_norm = AddNorm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_add_norm = AddNorm(config)

    def forward(self, states: Tensor, mask: Tensor | None, *, local: bool = False) -> Tensor:
        """(B, L, D) → (B, L, D)."""
        states = self.self_attention_add_norm(
            states, lambda x: self.self_attention(x, x, mask, local=local)
        )
        states = self.feed_forward_add_norm(states, self.feed_forward)
        return states


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output where there is one, feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, causal=True)
        self.self_attention_add_norm = AddNorm(config)
        self.cross_attention: MultiHeadAttention | None = None
        self.cross_attention_add_norm: AddNorm | None = None
        if config.family == "encoder-decoder":
            self.cross_attention = MultiHeadAttention(config)
            self.cross_attention_add_norm = AddNorm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_add_norm = AddNorm(config)

    def forward(
        self,
        states: Tensor,  # (B, T, D)
        mask: Tensor | None,  # (B or 1, T, keys so far)
        memory: Tensor | None,  # (B, S, D)
        memory_mask: Tensor | None,  # (B, 1, S)
        *,
        cache: LayerState | None = None,
        local: bool = False,
    ) -> Tensor:  # (B, T, D)
        self_cache = cache.self_attention if cache else None
        cross_cache = cache.cross_attention if cache else None
        states = self.self_attention_add_norm(
            states, lambda x: self.self_attention(x, x, mask, cache=self_cache, local=local)
        )
        cross_attention = self.cross_attention
        if cross_attention is not None and self.cross_attention_add_norm is not None:
            states = self.cross_attention_add_norm(
                states, lambda x: cross_attention(x, memory, memory_mask, cache=cross_cache)
            )
        states = self.feed_forward_add_norm(states, self.feed_forward)
        return states
