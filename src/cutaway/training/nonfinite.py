"""A loss or gradient that is not finite: which sentences it comes from, and what then happens."""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from cutaway.corpus import Batch
from cutaway.errors import TrainingError
from cutaway.training.events import Note
from cutaway.training.objective import PAD, Objective, TaskBatch
from cutaway.training.prepare import Prepared

if TYPE_CHECKING:
    from cutaway.training.loop import Trainer

SHOWN = 3  # sentences named in a message


def is_skipped(
    trainer: "Trainer",
    what: str,
    value: float,
    batches: list[Batch],
    questions: list[TaskBatch],
    losses: list[Tensor],
) -> bool:
    """Whether a value is not finite and the batches are to be passed over, the weights unchanged.

    The update and the sentences are named. After `train.skip_nonfinite` of them the run stops.
    """
    if math.isfinite(value):
        return False
    trainer.optimizer.zero_grad()
    named = _blamed(trainer, batches, questions, losses)
    lines = [int(trainer.prepared.train.numbers[index]) + 1 for index in named]
    shown = "; ".join(
        f"line {line}: {_shown(trainer.prepared, index)}"
        for line, index in zip(lines[:SHOWN], named, strict=False)
    )
    shown += f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    found = f"update {trainer.progress.update + 1}: the {what} is {value}; the weights are as they"
    allowed = trainer.settings.skip_nonfinite
    if trainer.progress.skipped >= allowed:
        before = f" It is number {allowed + 1}, and {allowed} may be skipped." if allowed else ""
        raise TrainingError(
            f"{found} were before it.{before} Sentences: {shown}. Look at them, or lower "
            f"learning_rate or clip and begin again, or skip such batches (--skip-nonfinite N)"
        )
    trainer.progress.skipped += 1
    count = f"{trainer.progress.skipped} of {allowed} allowed"
    trainer.watch(
        Note(f"{found} were, its batches are skipped ({count}). Sentences: {shown}", True)
    )
    trainer.record(skipped=what, lines=lines)
    return True


def _blamed(
    trainer: "Trainer", batches: list[Batch], questions: list[TaskBatch], losses: list[Tensor]
) -> list[int]:
    """The sentences that alone give a loss or gradient that is not finite; if none does, all."""
    processes, device = trainer.processes, trainer.device
    suspects: list[int] = []
    for batch, question, loss in zip(batches, questions, losses, strict=True):
        if not processes.sharded:
            rows = bad_rows(trainer.objective, question)
        else:  # a sharded model cannot run in one process alone: name the whole batch
            rows = [] if math.isfinite(float(loss)) else list(range(len(batch.indices)))
        suspects += [int(batch.indices[row]) for row in rows]
    every = [int(index) for batch in batches for index in batch.indices]
    return processes.gathered(suspects, device) or processes.gathered(every, device)


def sentence(prepared: Prepared, index: int) -> tuple[str, str]:
    """Source and target of a training pair: as read, or decoded where only ids were kept."""
    if prepared.rows:
        return prepared.rows[int(prepared.train.numbers[index])]
    source, target = prepared.train[index]
    tokenizer = prepared.target_tokenizer or prepared.tokenizer
    return prepared.tokenizer.decode(source.tolist()), tokenizer.decode(target.tolist())


def _shown(prepared: Prepared, index: int) -> str:
    source, target = sentence(prepared, index)
    text = f"{source} → {target}" if source else target
    return repr(text if len(text) <= 80 else text[:79] + "…")


def bad_rows(objective: Objective, question: TaskBatch) -> list[int]:
    """Rows of a batch whose own loss, or its gradient, is not finite; taken without dropout.

    The gradients are thrown away: nothing here touches what an optimizer reads.
    """
    was_training = objective.training
    objective.eval()
    parameters = [parameter for parameter in objective.parameters() if parameter.requires_grad]
    found = []
    for row in range(len(question.source)):
        loss = objective(_alone(question, row))
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        values = [loss, *(gradient for gradient in gradients if gradient is not None)]
        if not all(bool(torch.isfinite(value).all()) for value in values):
            found.append(row)
    objective.train(was_training)
    return found


def _alone(question: TaskBatch, row: int) -> TaskBatch:
    """One sentence of a batch as a batch of its own."""
    here = slice(row, row + 1)
    target = None if question.target is None else question.target[here]
    gold = question.gold[here]
    asked = 1 if gold.dim() == 1 else int((gold != PAD).sum())
    return TaskBatch(question.source[here], target, gold, asked)
