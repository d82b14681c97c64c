"""Which sentences a loss or gradient that is no number comes from."""

import torch

from cutaway.train.objective import PAD, Objective, Question


def bad_rows(objective: Objective, question: Question) -> list[int]:
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


def _alone(question: Question, row: int) -> Question:
    """One sentence of a batch as a batch of its own."""
    here = slice(row, row + 1)
    target = None if question.target is None else question.target[here]
    gold = question.gold[here]
    asked = 1 if gold.dim() == 1 else int((gold != PAD).sum())
    return Question(question.source[here], target, gold, asked)
