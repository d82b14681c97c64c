"""Validation: the loss on held-out data, and the scores of decoding it."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.config import Task, TrainConfig
from cutaway.corpus import BatchPlan, EncodedPairs
from cutaway.corpus.parts import Rows
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
    decoded = [
        decode(one, [source for source, _ in rows], [target for _, target in rows])
        for one, rows in _by_direction(folder, prepared)
    ]
    means = {
        name: sum(scores.metrics[name] for scores in decoded) / len(decoded)
        for name in decoded[0].metrics
    }
    outputs = [output for scores in decoded for output in scores.outputs]
    return Scores({**metrics, **means}, outputs, decoded[0].signatures)


def _by_direction(folder: ModelFolder, prepared: Prepared) -> Iterator[tuple[ModelFolder, Rows]]:
    """The validation rows of each direction, with a folder that translates in that direction."""
    rows = prepared.validation_rows
    if not prepared.directions:
        yield folder, rows
        return
    begin = 0
    for count, languages in prepared.validation_parts:
        yield replace(folder, languages=languages), rows[begin : begin + count]
        begin += count


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
