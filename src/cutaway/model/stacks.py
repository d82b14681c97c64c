"""Encoder and decoder: positions, N layers of the same shape, and (pre-norm) a last norm."""

import torch
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.model.attention import is_explicit
from cutaway.model.cache import DecodingState
from cutaway.model.dropout import Dropout
from cutaway.model.layers import DecoderLayer, EncoderLayer
from cutaway.model.masks import reach
from cutaway.model.positions import Positions

# torch 2.6 cannot tell an export from a compilation: there both keep to a dense mask.
is_exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)


class Stack(nn.Module):
    """What both sides share: positions, dropout, the last norm, and the self-attention's mask."""

    causal: bool

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.positions = Positions(config)
        self.dropout = Dropout(config.dropout)
        # Post-norm layers end with a norm of their own; pre-norm leaves the stream un-normed.
        self.norm = (
            nn.LayerNorm(config.d_model, eps=config.norm_epsilon) if config.norm == "pre" else None
        )

    def self_mask(
        self, padding: Tensor | None, queries: int, keys: int, device: torch.device
    ) -> Tensor | None:
        """Padding and reach together, (B or 1, Q or 1, K); None when everything may be seen."""
        within = reach(self.config, queries, keys, causal=self.causal, device=device)
        if within is None or padding is None:
            return padding if within is None else within.unsqueeze(0)
        return padding & within  # (B, Q, K)

    def in_blocks(self, padding: Tensor | None) -> bool:
        """Whether to keep to the window block by block, and not by a dense mask.

        Dense where every matrix is to be real, where the mask says more than which keys are
        padding, and in an exported program: the number of blocks would fix its lengths.
        """
        only_padding = padding is None or padding.shape[1] == 1
        dense = is_explicit() or is_exporting()
        return self.config.attention == "local" and only_padding and not dense

    def finish(self, states: Tensor) -> Tensor:
        """The last norm, where there is one."""
        return states if self.norm is None else self.norm(states)


class Encoder(Stack):
    """Source tokens → memory: every position sees every other."""

    causal = False

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))

    def forward(self, tokens: Tensor, padding: Tensor | None) -> Tensor:
        """Embedded tokens (B, S, D) and padding mask (B, 1, S) → memory (B, S, D)."""
        states = self.dropout(self.positions(tokens))
        length = states.shape[1]
        local = self.in_blocks(padding)
        mask = padding if local else self.self_mask(padding, length, length, states.device)
        for layer in self.layers:
            states = layer(states, mask, local=local)
        memory = self.finish(states)
        return memory


class Decoder(Stack):
    """Target tokens so far → states that predict the next: no position sees a later one."""

    causal = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))

    def forward(
        self,
        tokens: Tensor,  # (B, T, D) embedded; with a state, the new ones only
        padding: Tensor | None,  # (B, 1, past + T)
        memory: Tensor | None,  # (B, S, D)
        memory_mask: Tensor | None,  # (B, 1, S)
        state: DecodingState | None = None,
        past: int = 0,
    ) -> Tensor:  # (B, T, D)
        states = self.dropout(self.positions(tokens, past))
        length = states.shape[1]
        local = state is None and self.in_blocks(padding)
        mask = padding if local else self.self_mask(padding, length, past + length, states.device)
        for index, layer in enumerate(self.layers):
            cache = None if state is None else state.layers[index]
            states = layer(states, mask, memory, memory_mask, cache=cache, local=local)
        return self.finish(states)
