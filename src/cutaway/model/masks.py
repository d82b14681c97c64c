"""Attention masks: boolean, True = may attend, rows are queries and columns keys."""

import torch
from torch import Tensor

from cutaway.config import ModelConfig


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """True where a key is a real token.

    ids (B, K) → (B, 1, K)
    """
    return (ids != pad).unsqueeze(1)


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """True where a key is not later than its query; the last query stands at the last key.

    (Q, K): key ≤ query + (K − Q)
    """
    return distances(queries, keys, device) >= 0


def distances(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """How far each key lies behind its query, (Q, K); the last query stands at the last key."""
    query_position = torch.arange(keys - queries, keys, device=device)
    key_position = torch.arange(keys, device=device)
    return query_position[:, None] - key_position[None, :]


def reach(
    config: ModelConfig, queries: int, keys: int, *, causal: bool, device: torch.device
) -> Tensor | None:
    """Which keys a self-attention's query reaches by position alone, (Q, K), or None for all.

    full: every key; local: |distance| ≤ window; strided: those, and every stride-th beyond.
    """
    if config.attention == "full":
        return causal_mask(queries, keys, device) if causal and queries > 1 else None
    distance = distances(queries, keys, device)
    near = distance.abs() <= config.window
    if config.attention == "strided":
        near = near | (distance % config.stride == 0)
    return near & (distance >= 0) if causal else near
