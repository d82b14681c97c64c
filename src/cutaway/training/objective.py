"""The loss of each task: from a batch to the summed loss and the number of answers in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.config import Task, TrainConfig
from cutaway.corpus import Batch, on_device, to_tensors
from cutaway.model import Transformer
from cutaway.model.dropout import cut_mask
from cutaway.text import Tokenizer
from cutaway.training.loss import (
    cut_off_loss,
    projected_loss,
    smoothed_cross_entropy,
    two_pass_loss,
)

PAD = Tokenizer.pad


@dataclass(frozen=True)
class TaskBatch:
    """A batch as the task needs it: input ids, gold ids, and where the loss counts."""

    source: Tensor  # (B, S) ids; the only sequence of the one-sided families
    target: Tensor | None  # (B, T) ids, shifted right
    gold: Tensor  # (B, T) ids, <pad> where nothing is asked; classify: (B,) classes
    asked: int  # number of answers: tokens, or texts for a classifier


def ask(
    task: Task, batch: Batch, *, device: torch.device, draw: int, vocabulary: int, share: float
) -> TaskBatch:
    """Turn a batch into the task's question; `draw` seeds the hidden words of `fill`.

    An empty batch, when there are more processes than batches, asks nothing about one token: it
    takes the ordinary path with zero gradients, so that its process joins in every exchange.
    """
    if not len(batch.indices):
        token = torch.full((1, 1), Tokenizer.end, device=device)
        nothing = torch.zeros((1,) if task == "classify" else (1, 1), dtype=torch.long)
        target = token if task == "translate" else None
        return TaskBatch(token, target, nothing.to(device), 0)
    source, target = to_tensors(batch, device)
    shifted, gold_ids = target[:, :-1].contiguous(), target[:, 1:].contiguous()
    if task == "translate":
        return TaskBatch(source, shifted, gold_ids, batch.tokens)
    if task == "generate":
        return TaskBatch(shifted, None, gold_ids, batch.tokens)
    if task == "classify":
        return TaskBatch(source, None, target[:, 0], len(batch.indices))
    hidden, gold = hide(batch.target, share, vocabulary, draw)
    asked = int(np.count_nonzero(gold))
    return TaskBatch(on_device(hidden, device), None, on_device(gold, device), asked)


def hide(
    ids: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]", share: float, vocabulary: int, draw: int
) -> tuple[
    "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
    "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
]:
    """Choose tokens to guess: of these 80 % become <mask>, 10 % another token, 10 % stay.

    Returns the altered ids and the gold ids, <pad> where nothing was chosen; every text has at
    least one chosen token. Special tokens are never chosen.
    """
    random = np.random.Generator(np.random.PCG64(draw))
    ordinary = ids > Tokenizer.mask
    chance = np.where(ordinary, random.random(ids.shape), np.inf)
    chosen = chance < share
    surest = chance.argmin(axis=1)  # a text with no chosen token gets its likeliest
    rows = np.flatnonzero(ordinary.any(axis=1))
    chosen[rows, surest[rows]] = True
    fate = random.random(ids.shape)
    others = random.integers(Tokenizer.mask + 1, vocabulary, ids.shape)
    hidden = np.where(chosen & (fate < 0.8), Tokenizer.mask, ids)
    hidden = np.where(chosen & (fate >= 0.9), others, hidden)
    return hidden, np.where(chosen, ids, PAD)


def _places(question: TaskBatch) -> Tensor:
    """Where an answer is asked for, in the flattened gold ids, (N,)."""
    wanted = (question.gold != PAD).flatten()
    if wanted.is_cuda:  # N is known: `nonzero` would wait for the GPU to count it
        return wanted.nonzero_static(size=question.asked).squeeze(-1)
    return wanted.nonzero().squeeze(-1)


class Objective(nn.Module):
    """The model with its loss: what is differentiated, and what many processes wrap."""

    def __init__(
        self,
        model: Transformer,
        settings: TrainConfig,
        tags: Sequence[int] = (),  # ids that say what is wanted, such as <2fr>: never cut off
        products: torch.dtype | None = None,  # type their operands are rounded to, if any
    ) -> None:
        super().__init__()
        self.model = model
        self.task = settings.task
        self.smoothing = settings.smoothing
        self.r_drop = settings.r_drop
        self.sim_cut = settings.sim_cut
        self.cut_share = settings.cut_share
        self.word_dropout = settings.word_dropout
        self.tags = tuple(tags)
        self.products = products

    def forward(self, question: TaskBatch) -> Tensor:
        """The summed loss of one batch."""
        smoothing = self.smoothing if self.training else 0.0  # validation uses plain cross-entropy
        if self.task == "classify":
            logits = self.model.classify(question.source)
            loss = smoothed_cross_entropy(logits.float(), question.gold, smoothing).sum()
            return loss if question.asked else 0.0 * loss
        places = _places(question)  # (N,)
        gold = question.gold.flatten().index_select(0, places)
        dropped = self.word_dropout if self.training else 0.0
        states = self._states(question, places, dropped)  # (N, D)
        answers = (*self.model.output_weights(), gold, smoothing)
        if self.training and self.r_drop:
            second = self._states(question, places, dropped)
            return two_pass_loss(states, second, *answers, self.r_drop, self.products)
        if self.training and self.sim_cut:
            cut = self._states(question, places, self.cut_share)
            return cut_off_loss(states, cut, *answers, self.sim_cut, self.products)
        return projected_loss(states, *answers, self.products)

    def _states(self, question: TaskBatch, places: Tensor, cut: float) -> Tensor:
        """The model's states where an answer is asked for; `cut`: share of inputs cut off."""
        if not cut:
            states = self.model.states(question.source, question.target)
        else:
            target = question.target
            states = self.model.states(
                question.source,
                target,
                source_keep=self._keep(question.source, cut),
                target_keep=None if target is None else self._keep(target, cut),
            )
        return states.flatten(0, 1).index_select(0, places)

    def _keep(self, ids: Tensor, cut: float) -> Tensor:
        """Which tokens keep their embedding; <start>, <end>, <mask> and tags always do."""
        spared = ids <= Tokenizer.mask
        for tag in self.tags:
            spared = spared | (ids == tag)
        dtype = next(self.model.parameters()).dtype
        return cut_mask(ids, cut, spared, dtype)
