"""The model in mid-sentence: takes the newest tokens, gives log-probabilities of the next."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cutaway.decode.attending import CrossAttention
from cutaway.decode.fused import FusedStep
from cutaway.decode.options import DecodeOptions
from cutaway.errors import InputError
from cutaway.model import Transformer

Ids = Sequence[int]


@dataclass(frozen=True)
class Task:
    """One thing to decode: a source (none for a language model) and a beginning it must have."""

    source: tuple[int, ...] | None
    prefix: tuple[int, ...] = ()
    sample: int = 0  # of several draws for the same source, which
    longest: int | None = None  # its own limit of tokens, beside that of the options

    @property
    def key(self) -> tuple[int, ...]:
        """What a draw depends on, beside the seed."""
        return (self.prefix if self.source is None else self.source) or (0,)

    def limit(self, options: DecodeOptions, model: Transformer) -> int:
        """The most tokens its output may have, <end> counted."""
        room = min(model.config.max_length, self.longest or model.config.max_length)
        if self.source is None:
            return min(options.max_length or room, room)
        if len(self.source) > model.config.max_length:
            raise InputError(
                f"a source of {len(self.source)} tokens is longer than this model takes "
                f"({model.config.max_length}); split it into sentences"
            )
        return options.longest(len(self.source), room)


@dataclass(frozen=True)
class Special:
    """The ids with a meaning of their own."""

    start: int
    end: int
    forbidden: tuple[int, ...] = ()  # never put out: padding, start, mask, language tags

    def never(self, device: torch.device) -> Tensor:
        """The forbidden ids as a tensor."""
        return torch.tensor(self.forbidden, dtype=torch.long, device=device)


def pad(sequences: Sequence[Ids], value: int, device: torch.device) -> Tensor:
    """Sequences of ids as rows, filled up on the right: (B, L)."""
    longest = max(len(sequence) for sequence in sequences)
    rows = [[*sequence, *[value] * (longest - len(sequence))] for sequence in sequences]
    return torch.tensor(rows, dtype=torch.long, device=device)


class Stepper:
    """Cached decoding of a batch; decoding in full gives the same numbers."""

    def __init__(
        self,
        model: Transformer,
        tasks: Sequence[Task],
        *,
        coverage: bool = False,  # keep account of the attention each source token got
    ) -> None:
        self.model = model
        parameter = next(model.parameters())
        self.device = parameter.device
        self.dtype = parameter.dtype
        self.memory: Tensor | None = None  # (R, S, D)
        self.memory_mask: Tensor | None = None  # (R, 1, S)
        sources = [task.source for task in tasks if task.source is not None]
        if sources:
            source = pad(sources, model.config.pad, self.device)
            self.memory = model.encode(source)
            if len({len(ids) for ids in sources}) > 1:  # without padding there is nothing to hide
                self.memory_mask = model.padding(source)
        self.state = model.start()
        self.attending = CrossAttention(model) if coverage else None
        self.coverage: Tensor | None = None  # (R, S) attention received so far
        self.fused = FusedStep(model) if FusedStep.fits(model) and not coverage else None

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the newest tokens, (R, n) → log-probabilities of each one's next, (R, n, V)."""
        if self.attending is None:
            states = self._decode(tokens)
        else:
            with self.attending:
                states = self._decode(tokens)
            received = self.attending.mean().sum(1)  # (R, n, S) → (R, S)
            self.coverage = received if self.coverage is None else self.coverage + received
        return torch.log_softmax(self.model.project(states), dim=-1)

    def _decode(self, tokens: Tensor) -> Tensor:
        one_more = tokens.shape[1] == 1 and 0 < self.state.length < self.model.config.max_length
        if self.fused is not None and one_more and self.state.real is None:
            return self.fused(tokens[:, 0], self.state, self.memory_mask).unsqueeze(1)
        return self.model.decode(tokens, self.memory, self.memory_mask, state=self.state)

    def excess(self) -> Tensor:
        """How much attention went to source tokens that already had their share, (R,).

        Σ_s max(coverage_s − 1, 0)
        """
        if self.coverage is None:
            raise InputError("no coverage was asked for; make the Stepper with coverage=True")
        return (self.coverage - 1).clamp(min=0).sum(1)

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep these rows, in this order; a row may be taken several times.

        `same_sources`: every row stays with its source. The memory itself is no longer read.
        """
        self.state.select(rows, same_sources=same_sources)
        if self.memory_mask is not None and not same_sources:
            self.memory_mask = self.memory_mask[rows]
        if self.coverage is not None:
            self.coverage = self.coverage[rows]
