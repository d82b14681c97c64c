"""Cached decoding step by step: the newest tokens in, log-probabilities of the next out."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from cutaway.decode.cross_attention import CrossAttentionWeights
from cutaway.decode.fused import FusedStep
from cutaway.decode.tasks import Ids, Task
from cutaway.errors import InputError
from cutaway.model import Transformer
from cutaway.training.precision import require


class Steps(Protocol):
    """Step-by-step decoding of a batch, by one model or by several together."""

    device: torch.device
    dtype: torch.dtype

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the newest tokens, (R, n) → log-probabilities of each one's next, (R, n, V)."""
        ...

    def excess(self) -> Tensor:
        """How much attention went to source tokens that already had their share, (R,)."""
        ...

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep these rows, in this order."""
        ...


MakeSteps = Callable[[Sequence[Task], bool], Steps]  # of tasks, and whether coverage is summed up


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
        coverage: bool = False,  # sum up the attention that each source token gets
    ) -> None:
        require(model)
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
        self.cross_attention = CrossAttentionWeights(model) if coverage else None
        self.coverage: Tensor | None = None  # (R, S) attention received so far
        self.fused = FusedStep(model) if FusedStep.fits(model) and not coverage else None

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the newest tokens, (R, n) → log-probabilities of each one's next, (R, n, V)."""
        if self.cross_attention is None:
            states = self._decode(tokens)
        else:
            with self.cross_attention:
                states = self._decode(tokens)
            received = self.cross_attention.mean().sum(1)  # (R, n, S) → (R, S)
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
