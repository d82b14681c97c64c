"""Ids in, logits out: the Transformer in its three families."""

import math
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.errors import InputError
from cutaway.model.cache import DecodingState
from cutaway.model.initialise import initialise
from cutaway.model.masks import padding_mask
from cutaway.model.stacks import Decoder, Encoder


class Embedding(nn.Module):
    """Ids → vectors, each a row of a learned table.

    E(t) = table[t] · √D
    """

    def __init__(self, vocabulary: int, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, config.d_model))  # (V, D)
        self.scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0

    def forward(self, ids: Tensor) -> Tensor:
        """(B, L) → (B, L, D)."""
        if torch.compiler.is_compiling():
            tokens = F.embedding(ids, self.weight)
        else:
            try:
                tokens = F.embedding(ids, self.weight)
            except IndexError:
                raise InputError(
                    f"ids range from {int(ids.min())} to {int(ids.max())}; expected 0 to "
                    f"{len(self.weight) - 1}, this model's vocabulary: encode the text with "
                    f"the model's own tokenizer"
                ) from None
        if self.scale == 1.0:
            return tokens
        scaled = tokens * self.scale
        return scaled


class Output(nn.Module):
    """States → logits over the vocabulary, with its own table or the embedding's.

    logits = h W_oᵀ + b_o
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        vocabulary = config.output_vocabulary
        self.weight = (
            nn.Parameter(torch.empty(vocabulary, config.d_model)) if config.tied == "none" else None
        )
        self.bias = nn.Parameter(torch.empty(vocabulary)) if config.output_bias else None

    def forward(self, states: Tensor, tied: Tensor) -> Tensor:
        """(B, T, D) → (B, T, V)."""
        logits = F.linear(states, tied if self.weight is None else self.weight, self.bias)
        return logits


class Transformer(nn.Module):
    """The model of all three families.

    encoder-decoder: forward(source, target); decoder and encoder: forward(ids).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config.vocabulary, config)
        two_tables = config.family == "encoder-decoder" and config.tied != "all"
        self.target_embedding = Embedding(config.output_vocabulary, config) if two_tables else None
        self.encoder = Encoder(config) if config.family != "decoder" else None
        self.decoder = Decoder(config) if config.family != "encoder" else None
        self.output = Output(config)
        self.classifier = nn.Linear(config.d_model, config.classes) if config.classes else None
        initialise(self)

    def forward(
        self,
        source: Tensor,  # (B, S) ids; the only sequence of the one-sided families
        target: Tensor | None = None,  # (B, T) ids, shifted right: starts with <start>
        *,
        source_mask: Tensor | None = None,  # (B, 1 or S, S), True = may attend; default: no padding
        target_mask: Tensor | None = None,  # (B, 1 or T, T), in addition to causality
    ) -> Tensor:  # (B, T or S, V)
        """Logits of the next token (decoders) or of the token itself (encoder)."""
        return self.project(
            self.states(source, target, source_mask=source_mask, target_mask=target_mask)
        )

    def states(
        self,
        source: Tensor,
        target: Tensor | None = None,
        *,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        source_keep: Tensor | None = None,  # (B, S, 1), 0 where a token's embedding is cut off
        target_keep: Tensor | None = None,  # (B, T, 1)
    ) -> Tensor:  # (B, T or S, D)
        """Everything but the output projection, which the trainer computes in chunks."""
        if self.config.family == "encoder-decoder":
            if target is None:
                raise InputError("target is missing; an encoder-decoder takes (source, target)")
            memory = self.encode(source, source_mask, keep=source_keep)
            memory_mask = self._padding("source_mask", source, source_mask)
            if memory_mask is not None and memory_mask.shape[1] != 1:
                raise InputError(
                    f"source_mask has shape {tuple(memory_mask.shape)}; with a target, expected "
                    f"(batch, 1, source length): call encode and decode for finer masks"
                )
            return self.decode(
                target, memory, memory_mask, target_mask=target_mask, keep=target_keep
            )
        if target is not None:
            raise InputError(
                f"target is given, but a model of family {self.config.family!r} takes one "
                f"sequence: leave target out"
            )
        if self.config.family == "decoder":
            return self.decode(source, target_mask=source_mask, keep=source_keep)
        return self.encode(source, source_mask, keep=source_keep)

    def encode(
        self, source: Tensor, source_mask: Tensor | None = None, *, keep: Tensor | None = None
    ) -> Tensor:
        """Source ids (B, S) → memory (B, S, D)."""
        if self.encoder is None:
            raise InputError("a model of family 'decoder' has no encoder; use decode")
        self._check_ids("source", source)
        padding = self._padding("source_mask", source, source_mask)
        tokens = self.embedding(source)
        return cast(Tensor, self.encoder(_cut(tokens, keep), padding))

    def decode(
        self,
        target: Tensor,  # (B, T) ids; with a state, the new ones only
        memory: Tensor | None = None,  # (B, S, D)
        memory_mask: Tensor | None = None,  # (B, 1, S)
        *,
        target_mask: Tensor | None = None,  # (B, 1 or T, T); with a state (B, 1, T), the new ones
        state: DecodingState | None = None,
        keep: Tensor | None = None,  # (B, T, 1)
    ) -> Tensor:  # (B, T, D)
        """Target ids so far, and the encoder's output, → states that predict the next tokens."""
        if self.decoder is None:
            raise InputError("a model of family 'encoder' has no decoder; use encode")
        self._check_ids("target", target)
        self._check_memory(memory, target, state)
        if memory is not None:
            self._check_mask_shape("memory_mask", memory_mask, target, memory.shape[1])
        table = self.embedding if self.target_embedding is None else self.target_embedding
        tokens = _cut(
            table(target), keep
        )  # before the state changes: an unknown id must leave it as it was
        past = 0
        padding = self._padding("target_mask", target, target_mask)
        if state is not None:
            if padding.shape[1] != 1:
                raise InputError(
                    f"target_mask has shape {tuple(padding.shape)}; with a state, expected "
                    f"(batch, 1, new tokens): decode without a state for finer masks"
                )
            past = state.length
            mask = state.extend(padding[:, 0].expand(target.shape))  # (B, 1, past + T)
            return cast(Tensor, self.decoder(tokens, mask, memory, memory_mask, state, past))
        return cast(Tensor, self.decoder(tokens, padding, memory, memory_mask, state, past))

    def project(self, states: Tensor) -> Tensor:
        """States (B, T, D) → logits (B, T, V)."""
        table = self.embedding if self.target_embedding is None else self.target_embedding
        return cast(Tensor, self.output(states, table.weight))

    def output_weights(self) -> tuple[Tensor, Tensor | None]:
        """The table (V, D) and bias (V,) `project` uses, for a trainer that takes it in chunks."""
        table = self.embedding if self.target_embedding is None else self.target_embedding
        own = self.output.weight
        return (table.weight if own is None else own), self.output.bias

    def classify(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Source ids (B, S) → logits of the classes (B, C), from the mean of the real positions."""
        if self.classifier is None:
            raise InputError("this model has no classifier; set classes in its config")
        states = self.encode(source, source_mask)
        padding = self._padding("source_mask", source, source_mask)
        if padding.shape[1] != 1:  # a finer mask says who sees whom, not which tokens are real
            padding = self.padding(source)
        real = padding.transpose(1, 2)  # (B, S, 1)
        pooled = (states * real).sum(1) / real.sum(1).clamp(min=1)  # (B, D)
        return cast(Tensor, self.classifier(pooled))

    def start(self) -> DecodingState:
        """An empty state to decode step by step; cached decoding equals decoding in full."""
        return DecodingState(self.config.decoder_layers)

    def padding(self, ids: Tensor) -> Tensor:
        """The mask that hides padding keys, (B, 1, L): what encode uses when none is given."""
        return padding_mask(ids, self.config.pad)

    def parameter_counts(self) -> dict[str, int]:
        """How many numbers each part has learned, and the total; a shared table counts once."""
        counts = {
            name: sum(parameter.numel() for parameter in part.parameters())
            for name, part in self.named_children()
        }
        counts = {name: count for name, count in counts.items() if count}
        return {**counts, "total": sum(counts.values())}

    def _padding(self, name: str, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The mask given, checked, or the one the ids imply."""
        if mask is None:
            return self.padding(ids)
        self._check_mask_shape(name, mask, ids, ids.shape[1])
        return mask

    def _check_memory(
        self, memory: Tensor | None, target: Tensor, state: DecodingState | None
    ) -> None:
        """Refuse memory that is missing, not wanted, or not the encoder's output for this batch."""
        if self.encoder is None:
            if memory is not None:
                raise InputError(
                    f"memory of shape {tuple(memory.shape)} is given, but a model of family "
                    f"'decoder' expects none: leave it out"
                )
            return
        if memory is None:
            raise InputError("memory is missing; give decode the encoder's output")
        batch, width = target.shape[0], self.config.d_model
        projected = state is not None and state.length > 0  # its keys and values are cached
        fits = memory.dim() == 3 and memory.shape[2] == width
        if not fits or (memory.shape[0] != batch and not projected):
            raise InputError(
                f"memory has shape {tuple(memory.shape)}; expected ({batch}, source length, "
                f"{width}): give decode what encode returned for the same sentences"
            )

    def _check_mask_shape(self, name: str, mask: Tensor | None, ids: Tensor, keys: int) -> None:
        if mask is None:
            return
        if mask.dtype != torch.bool:
            raise InputError(
                f"{name} is of type {mask.dtype}; expected torch.bool with True = may attend: "
                f"compare or convert it first"
            )
        batch, length = ids.shape
        fits = (
            mask.dim() == 3
            and mask.shape[0] in (1, batch)
            and mask.shape[1] in (1, length)
            and mask.shape[2] == keys
        )
        if not fits:
            raise InputError(
                f"{name} has shape {tuple(mask.shape)}; expected ({batch} or 1, {length} or 1, "
                f"{keys}): reshape or unsqueeze it to batch, queries, keys"
            )

    def _check_ids(self, name: str, ids: Tensor) -> None:
        if ids.dim() != 2 or ids.dtype not in (torch.int64, torch.int32):
            raise InputError(
                f"{name} ids are of shape {tuple(ids.shape)} and type {ids.dtype}; "
                f"expected integers of shape (batch, length): one row of token ids per sentence"
            )
        if 0 in ids.shape:
            raise InputError(
                f"{name} ids are of shape {tuple(ids.shape)}; expected at least one token: "
                f"leave empty sequences out"
            )


def _cut(tokens: Tensor, keep: Tensor | None) -> Tensor:
    """Embedded tokens (B, L, D), zero where `keep` (B, L, 1) is; positions are added later."""
    return tokens if keep is None else tokens * keep
