"""The cache of decoding: keys and values of the positions already computed."""

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class KeyValueCache:
    """Keys and values of one attention; self-attention's grows, cross-attention's is complete."""

    grows: bool
    key: Tensor | None = None  # (B, H, K, W)
    value: Tensor | None = None  # (B, H, K, W)

    @property
    def complete(self) -> bool:
        """Whether nothing will be added: the encoder's output has been projected already."""
        return not self.grows and self.key is not None

    def keys_and_values(self) -> tuple[Tensor, Tensor]:
        """What has been stored."""
        assert self.key is not None
        assert self.value is not None
        return self.key, self.value

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store new positions behind the old ones and return all of them."""
        if self.key is not None and self.value is not None:
            key = torch.cat([self.key, key], dim=2)
            value = torch.cat([self.value, value], dim=2)
        self.key, self.value = key, value
        return key, value

    def select(self, rows: Tensor) -> None:
        """Keep these batch rows, in this order; a row may be taken several times."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key[rows], self.value[rows]


@dataclass
class LayerState:
    """The two caches of one decoder layer."""

    self_attention: KeyValueCache = field(default_factory=lambda: KeyValueCache(grows=True))
    cross_attention: KeyValueCache = field(default_factory=lambda: KeyValueCache(grows=False))


class DecodingState:
    """A decoder in mid-sentence: caches of every layer and which earlier tokens were padding."""

    def __init__(self, layers: int) -> None:
        self.layers = [LayerState() for _ in range(layers)]
        self.length = 0  # how many target positions have been decoded
        self.real: Tensor | None = None  # (B, T) False where a token was padding; None: none was

    def extend(self, real: Tensor) -> Tensor | None:
        """Note which new tokens are real, (B, n); return the mask of all so far, (B, 1, T).

        None when no token so far is padding: attention without a mask is faster.
        """
        past = self.length
        self.length += real.shape[1]
        if self.real is None:
            if bool(real.all()):
                return None
            self.real = real.new_ones(real.shape[0], past)
        self.real = torch.cat([self.real, real], dim=1)
        return self.real.unsqueeze(1)

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep these batch rows of every cache, in this order (beam search, early removal).

        `same_sources`: every row still belongs to the source it belonged to, so that what was
        projected from the encoder's output may stay where it is.
        """
        if self.real is not None:
            self.real = self.real[rows]
        for layer in self.layers:
            layer.self_attention.select(rows)
            if not same_sources:
                layer.cross_attention.select(rows)
