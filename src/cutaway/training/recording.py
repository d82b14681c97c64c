"""A training step on one sentence, recorded: the trainer's loss, clipping and optimizer.

Unlike an update of a run it has no dropout, no second pass (R-Drop, SimCut) and no optimizer state.
`replay.py` records the updates of a run itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.config import TrainConfig
from cutaway.glass import Trace, record
from cutaway.model import Transformer
from cutaway.text import Tokenizer
from cutaway.training.objective import Objective, TaskBatch
from cutaway.training.optimizer import gradient_scale, make_optimizer, set_rate
from cutaway.training.processes import Processes
from cutaway.training.shards import local

# Axes that run over the vocabulary; the rules carry the labels on to logits and probabilities.
VOCABULARY: dict[str, Sequence[str | None]] = {
    "embedding.weight": ("vocabulary", None),
    "target_embedding.weight": ("vocabulary", None),
    "output.weight": ("vocabulary", None),
    "output.bias": ("vocabulary",),
    "probabilities": (None, None, "vocabulary"),
}


def record_step(
    model: Transformer, question: TaskBatch, recipe: Mapping[str, Any], *, rate: float
) -> tuple[Trace, dict[str, Any]]:
    """One training step by the settings a model was trained with; the model is left as it was.

    `recipe` holds train settings (smoothing, clip, optimizer, …), as a model folder keeps them.
    """
    settings = replace(
        TrainConfig.from_dict(dict(recipe)), r_drop=0.0, sim_cut=0.0, word_dropout=0.0
    )
    objective = Objective(model, settings).train()
    model.eval()  # the training loss, without dropout
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = make_optimizer(named.items(), settings)
    set_rate(optimizer, rate)
    with restored(model), record(model, inputs=input_names([question])) as trace:
        loss = objective(question)
        loss.backward()
        gradients = [local(p.grad) for p in named.values() if p.grad is not None]
        scale, norm = gradient_scale(gradients, question.asked, settings.clip, Processes())
        torch._foreach_mul_(gradients, scale)
        optimizer.step()
    facts = {
        "optimizer": {"adam": "Adam", "muon": "Muon"}.get(settings.optimizer, "AdamW"),
        "learning_rate": rate,
        "smoothing": settings.smoothing,
        "gradient_norm": norm,
        "clip": settings.clip,
        "tokens": question.asked,
    }
    return trace, {"loss": float(loss.detach()) / question.asked, "facts": facts}


def input_names(questions: Sequence[TaskBatch]) -> dict[str, Tensor]:
    """The input tensors by name: source, target, gold; source_2, … of the second batch."""
    found: dict[str, Tensor] = {}
    for number, question in enumerate(questions, start=1):
        suffix = "" if number == 1 else f"_{number}"
        parts = {"source": question.source, "target": question.target, "gold": question.gold}
        found |= {f"{name}{suffix}": part for name, part in parts.items() if part is not None}
    return found


def label_batch(trace: Trace, tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> None:
    """Name the rows of each batch by their sentences, and tokens of the vocabulary."""
    axes = dict(VOCABULARY)
    words: dict[str, Sequence[str]] = {
        "vocabulary": tokenizer.pieces(range(tokenizer.vocabulary)),
    }
    for number, texts in enumerate(sentences, start=1):
        suffix = "" if number == 1 else f"_{number}"
        words[f"batch{suffix}"] = texts
        for name in ("source", "target", "gold"):
            axes[f"{name}{suffix}"] = (f"batch{suffix}", None)
    trace.label(**words, axes=axes)


@contextmanager
def restored(model: nn.Module) -> Iterator[None]:
    """Undo, after the block, every change it makes to the model's weights."""
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    try:
        yield
    finally:
        model.zero_grad(set_to_none=True)
        model.load_state_dict(before)
