"""Trying weights on unseen sentences: surprise at the answers, and scores of decoding."""

import torch

from cutaway.config import TrainConfig
from cutaway.corpus import BatchPlan, EncodedPairs, collate
from cutaway.train.events import Scores, Validate
from cutaway.train.folder import ModelFolder
from cutaway.train.objective import Objective, ask
from cutaway.train.prepare import Prepared


def scored(
    folder: ModelFolder, prepared: Prepared, settings: TrainConfig, decode: Validate | None
) -> Scores:
    """Loss (and accuracy of a classifier), and what decoding gives where there is a decoder."""
    if prepared.validation is None:
        return Scores({})
    metrics = surprise(folder, prepared.validation, prepared, settings)
    if prepared.task != "translate" or decode is None:
        return Scores(metrics)
    sources = [source for source, _ in prepared.validation_rows]
    targets = [target for _, target in prepared.validation_rows]
    decoded = decode(folder, sources, targets)
    return Scores({**metrics, **decoded.metrics}, decoded.outputs, decoded.signatures)


def surprise(
    folder: ModelFolder, pairs: EncodedPairs, prepared: Prepared, settings: TrainConfig
) -> dict[str, float]:
    """−log p of the right answers, the mean over tokens, without smoothing or dropout."""
    objective = Objective(folder.model, settings).eval()
    plan = BatchPlan(pairs.lengths, settings.tokens)
    total, asked, right = 0.0, 0, 0
    with torch.no_grad():
        for number in range(len(plan)):
            question = ask(
                prepared.task,
                collate(pairs, plan[number], number),
                device=torch.device("cpu"),
                draw=number,
                vocabulary=prepared.model.vocabulary,
                share=settings.mask_share,
            )
            total += float(objective(question))
            asked += question.asked
            if prepared.task == "classify":
                guess = folder.model.classify(question.source).argmax(-1)
                right += int((guess == question.gold).sum())
    metrics = {"loss": total / max(1, asked)}
    if prepared.task == "classify":
        metrics["accuracy"] = right / max(1, asked)
    return metrics
