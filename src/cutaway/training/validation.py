"""Validation: the loss on held-out data, and the scores of decoding it."""

import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.config import Task, TrainConfig
from cutaway.corpus import BatchPlan, EncodedPairs
from cutaway.model import Transformer
from cutaway.training.events import Scores, Validate
from cutaway.training.objective import Objective, ask
from cutaway.training.prepare import Prepared


def validation_scores(
    folder: ModelFolder, prepared: Prepared, settings: TrainConfig, decode: Validate | None
) -> Scores:
    """Loss, accuracy of a classifier, and the scores of decoding for a translator."""
    if prepared.validation is None:
        return Scores({})
    metrics = validation_loss(folder.model, prepared.task, prepared.validation, settings)
    if prepared.task != "translate" or decode is None:
        return Scores(metrics)
    sources = [source for source, _ in prepared.validation_rows]
    targets = [target for _, target in prepared.validation_rows]
    decoded = decode(folder, sources, targets)
    return Scores({**metrics, **decoded.metrics}, decoded.outputs, decoded.signatures)


def validation_loss(
    model: Transformer, task: Task, pairs: EncodedPairs, settings: TrainConfig
) -> dict[str, float]:
    """−log p of the right answers, the mean over tokens, without smoothing or dropout."""
    objective = Objective(model, settings).eval()
    plan = BatchPlan(pairs.lengths, settings.tokens)
    device = next(model.parameters()).device
    total, asked, right = 0.0, 0, 0
    with torch.no_grad():
        for batch in plan.batches(pairs):
            question = ask(
                task,
                batch,
                device=device,
                draw=batch.number,
                vocabulary=model.config.vocabulary,
                share=settings.mask_share,
            )
            total += float(objective(question))
            asked += question.asked
            if task == "classify":
                guess = model.classify(question.source).argmax(-1)
                right += int((guess == question.gold).sum())
    metrics = {"loss": total / max(1, asked)}
    if task == "classify":
        metrics["accuracy"] = right / max(1, asked)
    return metrics
