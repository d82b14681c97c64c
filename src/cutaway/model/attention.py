"""Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V, alone and with many heads.

Knows tensors and masks only, nothing of words, layers or training.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.errors import InputError
from cutaway.model.cache import KeyValueCache

_explicit_threads: set[int] = set()  # a plain set: Dynamo can guard it, a ContextVar it cannot


@contextmanager
def explicit() -> Iterator[None]:
    """Within this block, and this thread, attention runs step by step with every matrix real."""
    thread = threading.get_ident()
    entered = thread not in _explicit_threads
    _explicit_threads.add(thread)
    try:
        yield
    finally:
        if entered:
            _explicit_threads.discard(thread)


def is_explicit() -> bool:
    """Whether this thread asked for the explicit body."""
    return bool(_explicit_threads) and threading.get_ident() in _explicit_threads


def attention(
    query: Tensor,  # (B, H, Q, W)
    key: Tensor,  # (B, H, K, W)
    value: Tensor,  # (B, H, K, V)
    mask: Tensor | None = None,  # (B or 1, H or 1, Q or 1, K), True = may attend
    *,
    dropout: float = 0.0,
) -> Tensor:  # (B, H, Q, V)
    """Each query's weighted average of the values; a query that may attend nothing gets zeros.

    context = softmax(query keyᵀ / √d_k) value
    """
    if mask is not None:
        _check_mask(mask, query, key)
    if is_explicit():
        return explicit_attention(query, key, value, mask, dropout)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def explicit_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """The formula, one matrix at a time."""
    weights = attention_weights(query, key, mask)
    if dropout > 0.0:
        weights = F.dropout(weights, dropout)
    context = weights @ value  # (B, H, Q, V)
    return context


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """How much each query takes from each key; a query that may attend nothing has zeros.

    weights = softmax(query keyᵀ / √d_k)
    """
    scores = query @ key.transpose(-2, -1)  # (B, H, Q, K)
    scaled = scores / math.sqrt(query.shape[-1])
    if mask is None:
        weights = torch.softmax(scaled, dim=-1)
    else:
        masked = scaled.masked_fill(~mask, -math.inf)
        softmax = torch.softmax(masked, dim=-1)
        weights = softmax.masked_fill(~mask, 0.0)  # a row with no key at all is NaN until here
    return weights


def local_attention(
    query: Tensor,  # (B, H, L, W)
    key: Tensor,  # (B, H, L, W)
    value: Tensor,  # (B, H, L, V)
    mask: Tensor | None,  # (B, 1, 1, L), True = a real key
    *,
    window: int,
    causal: bool,
    dropout: float = 0.0,
) -> Tensor:  # (B, H, L, V)
    """Attention to keys at most `window` away, in blocks: time and memory grow with L·window.

    The queries of one block of `window` positions see their own block of keys, the one before
    and, unless causal, the one after; a mask inside the block keeps the distance exact.
    """
    batch, heads, length, width = query.shape
    blocks = (length + window - 1) // window
    tail = blocks * window - length
    ahead = 0 if causal else window
    span = 2 * window + ahead  # keys one block of queries looks at
    queries = F.pad(query, (0, 0, 0, tail)).reshape(batch, heads, blocks, window, width)
    edges = (0, 0, window, tail + ahead)
    keys = F.pad(key, edges).unfold(2, span, window).transpose(-2, -1)  # (B, H, N, span, W)
    values = F.pad(value, edges).unfold(2, span, window).transpose(-2, -1)  # (B, H, N, span, V)
    real = (
        torch.ones(1, 1, 1, length, dtype=torch.bool, device=query.device) if mask is None else mask
    )
    real = F.pad(real, (window, tail + ahead)).unfold(3, span, window)  # (B, 1, 1, N, span)
    row = torch.arange(window, device=query.device)[:, None]
    distance = torch.arange(span, device=query.device)[None, :] - window - row  # (w, span)
    near = (distance >= -window) & (distance <= (0 if causal else window))
    allowed = real.transpose(2, 3) & near  # (B, 1, N, w, span)
    context = attention(
        queries.transpose(1, 2).flatten(0, 1),  # (B·N, H, w, W)
        keys.transpose(1, 2).flatten(0, 1),
        values.transpose(1, 2).flatten(0, 1),
        allowed.transpose(1, 2).expand(batch, -1, -1, -1, -1).flatten(0, 1),  # (B·N, 1, w, span)
        dropout=dropout,
    )
    context = context.view(batch, blocks, heads, window, -1).transpose(1, 2)  # (B, H, N, w, V)
    return context.flatten(2, 3)[:, :, :length]


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own learned projection.

    head_i = Attention(X W_Qᵢ, M W_Kᵢ, M W_Vᵢ); output = concat(head_1 … head_h) W_O
    """

    while_recorded = staticmethod(explicit)  # a recorder enters it: see cutaway.glass.record
    recorded_axes = ((None, "head", None, None),)  # names it gives axes: see cutaway.glass.axes

    def __init__(self, config: ModelConfig, *, causal: bool = False) -> None:
        super().__init__()
        inner = config.heads * config.d_k
        self.heads = config.heads
        self.window = config.window
        self.causal = causal
        self.dropout = config.attention_dropout
        self.W_Q = nn.Linear(config.d_model, inner, bias=config.bias)
        self.W_K = nn.Linear(config.d_model, inner, bias=config.bias)
        self.W_V = nn.Linear(config.d_model, inner, bias=config.bias)
        self.W_O = nn.Linear(inner, config.d_model, bias=config.bias)

    def forward(
        self,
        states: Tensor,  # (B, Q, D) what asks
        memory: Tensor,  # (B, K, D) what is asked: the states themselves, or the encoder's output
        mask: Tensor | None,  # (B or 1, Q or 1, K)
        *,
        cache: KeyValueCache | None = None,
        local: bool = False,  # the mask covers padding only: keep to the window block by block
    ) -> Tensor:  # (B, Q, D)
        query = self._split(self.W_Q(states))  # (B, H, Q, W)
        if cache is not None and cache.complete:
            key, value = cache.keys_and_values()
        else:
            key = self._split(self.W_K(memory))  # (B, H, K, W)
            value = self._split(self.W_V(memory))
            if cache is not None:
                key, value = cache.append(key, value)
        if mask is not None:
            mask = mask.unsqueeze(1)  # (B, 1, Q, K)
        dropout = self.dropout if self.training else 0.0
        if local:
            context = local_attention(
                query, key, value, mask, window=self.window, causal=self.causal, dropout=dropout
            )
        else:
            context = attention(query, key, value, mask, dropout=dropout)
        concatenated = context.transpose(1, 2).flatten(2)  # (B, Q, H·W)
        output: Tensor = self.W_O(concatenated)  # (B, Q, D)
        return output

    def weights(
        self,
        states: Tensor,  # (B, Q, D)
        memory: Tensor,  # (B, K, D)
        mask: Tensor | None,  # (B or 1, Q or 1, K)
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:  # (B, H, Q, K)
        """Attention weights of every head, without dropout."""
        query = self._split(self.W_Q(states))
        complete = cache is not None and cache.complete
        key = cache.keys_and_values()[0] if cache and complete else self._split(self.W_K(memory))
        return attention_weights(query, key, mask if mask is None else mask.unsqueeze(1))

    def _split(self, projected: Tensor) -> Tensor:
        """(B, L, H·W) → (B, H, L, W)."""
        batch, length, _ = projected.shape
        return projected.view(batch, length, self.heads, -1).transpose(1, 2)


def _check_mask(mask: Tensor, query: Tensor, key: Tensor) -> None:
    """Refuse a mask that is not boolean or does not broadcast to (B, H, Q, K)."""
    if mask.dtype != torch.bool:
        raise InputError(
            f"mask is of type {mask.dtype}; expected torch.bool with True = may attend: "
            f"compare or convert it first"
        )
    wanted = (*query.shape[:-1], key.shape[-2])  # (B, H, Q, K)
    fits = mask.dim() == len(wanted) and all(
        have in (1, want) for have, want in zip(mask.shape, wanted, strict=True)
    )
    if not fits:
        raise InputError(
            f"mask has shape {tuple(mask.shape)}; expected {tuple(wanted)} "
            f"(batch, heads, queries, keys), or 1 in any of them: reshape or unsqueeze it"
        )
