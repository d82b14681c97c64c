"""Several models that translate as one: the mean of their probabilities at each step.

P(y_t | y_<t, source) = 1/n Σ_i P_i(y_t | y_<t, source)
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from cutaway.artifact.folder import ModelFolder
from cutaway.config import DecodeOptions
from cutaway.decode.engine import TOKENS
from cutaway.decode.hypothesis import SearchResult
from cutaway.decode.search import search
from cutaway.decode.stepper import Stepper
from cutaway.decode.tasks import Special, Task
from cutaway.errors import InputError
from cutaway.model import Transformer


class EnsembleStepper:
    """Cached decoding of a batch by several models: a `Stepper` of each."""

    def __init__(
        self, models: Sequence[Transformer], tasks: Sequence[Task], *, coverage: bool = False
    ) -> None:
        self.members = [Stepper(model, tasks, coverage=coverage) for model in models]
        self.device, self.dtype = self.members[0].device, self.members[0].dtype

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the newest tokens, (R, n) → log of the mean probability of each next, (R, n, V)."""
        each = torch.stack([member.step(tokens) for member in self.members])  # (M, R, n, V)
        return torch.logsumexp(each, 0) - math.log(len(self.members))

    def excess(self) -> Tensor:
        """The mean excess of coverage, (R,)."""
        return torch.stack([member.excess() for member in self.members]).mean(0)

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep these rows, in this order, in every model."""
        for member in self.members:
            member.select(rows, same_sources=same_sources)


class EnsembleEngine:
    """The torch models of several folders with one vocabulary."""

    def __init__(self, folders: Sequence[ModelFolder], *, tokens: int = TOKENS) -> None:
        first, *others = folders
        for number, other in enumerate(others, start=2):
            _check(first, other, number)
        self.models = [folder.model.eval() for folder in folders]
        self.tokens = tokens
        self.name = f"torch, {len(folders)} models"

    def search(
        self,
        tasks: Sequence[Task],
        options: DecodeOptions,
        special: Special,
        *,
        tree: bool = False,
        costs: bool = True,
    ) -> list[SearchResult]:
        """Decode as one model does, with the mean of the probabilities."""
        longest = min(model.config.max_length for model in self.models)
        limited = [
            Task(task.source, task.prefix, task.sample, min(task.longest or longest, longest))
            for task in tasks
        ]

        def steps(tasks: Sequence[Task], coverage: bool) -> EnsembleStepper:
            return EnsembleStepper(self.models, tasks, coverage=coverage)

        return search(
            self.models[0], limited, options, special, tokens=self.tokens, tree=tree, steps=steps
        )


def _check(first: ModelFolder, other: ModelFolder, number: int) -> None:
    """Refuse a model whose ids mean something else."""
    if other.config.family != "encoder-decoder":
        raise InputError(
            f"model {number} is of family {other.config.family!r}; it cannot translate"
        )
    ours, theirs = (
        (folder.tokenizer.fingerprint, (folder.target_tokenizer or folder.tokenizer).fingerprint)
        for folder in (first, other)
    )
    if ours != theirs:
        raise InputError(
            f"model {number} has another vocabulary than the first; models translate together only "
            f"with the same tokenizer: train one --from the other, or with the same data and seed"
        )
