"""Ids → logits: the paper's Transformer, from the same blocks in three families.

Axis letters used in every shape comment of this folder:

    B  sentences in the batch          H  heads
    S  source positions                W  width of one head, d_k = d_v
    T  target positions                D  d_model, width of the residual stream
    Q  queries, K  keys                F  d_ff, inner width of the feed-forward
    L  positions of either side        V  vocabulary
"""

from cutaway.model.attention import MultiHeadAttention, attention, explicit, local_attention
from cutaway.model.cache import DecodingState
from cutaway.model.masks import causal_mask, padding_mask
from cutaway.model.positions import sinusoidal
from cutaway.model.transformer import Transformer

__all__ = [
    "DecodingState",
    "MultiHeadAttention",
    "Transformer",
    "attention",
    "causal_mask",
    "explicit",
    "local_attention",
    "padding_mask",
    "sinusoidal",
]
