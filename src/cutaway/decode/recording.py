"""Record a model on one sentence, with every axis labelled by its tokens.

`record_sentence` starts from text; `record_translation` and `record_training` from token ids.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from cutaway.artifact.folder import ModelFolder, read_model_folder
from cutaway.decode.translator import Translator
from cutaway.errors import InputError
from cutaway.glass import Trace, record
from cutaway.model import Transformer
from cutaway.text import Tokenizer
from cutaway.training.objective import PAD, TaskBatch
from cutaway.training.recording import VOCABULARY, record_step

RATE = 1e-3  # learning rate of the recorded update


def record_sentence(
    folder: ModelFolder | str | Path,
    text: str,
    *,
    target: str | None = None,
    like: Trace | None = None,
    training: bool = False,
) -> Trace:
    """Record a model on a text: the translation's whole forward pass, or a training step.

    The translation is the model's own unless `target` is given, or `like`: a trace of another
    model, whose tokens this one is to read. A decoder or encoder reads the text alone. `training`
    adds the trainer's loss, gradients and one update on this sentence alone, without dropout and
    with a fresh optimizer; the model in the folder is not changed.
    """
    contents = folder if isinstance(folder, ModelFolder) else read_model_folder(Path(folder))
    if contents.model.config.family == "encoder-decoder":
        return _translation(contents, text, target, like, training)
    if target is not None:
        raise InputError(
            f"a model of family {contents.model.config.family!r} reads one text; leave out target"
        )
    return _one_text(contents, text, training)


def record_translation(
    translator: Translator, source_ids: Sequence[int], target_ids: Sequence[int]
) -> Trace:
    """The whole translation in one pass: row t of the decoder equals decoding step t.

    The causal mask makes them equal: no row depends on a later one.
    """
    fed = [translator.special.start, *target_ids[:-1]]
    trace = record_pass(translator.model, source_ids, fed)
    _label_pair(trace, translator, source_ids, fed)
    return trace


def record_pass(model: Transformer, source_ids: Sequence[int], fed_ids: Sequence[int]) -> Trace:
    """One pass from ids to probabilities: the source, and the target as the decoder reads it."""
    source, target = torch.tensor([list(source_ids)]), torch.tensor([list(fed_ids)])
    with torch.no_grad(), record(model) as trace:
        logits = model(source, target)
        probabilities = torch.softmax(logits, dim=-1)
    assert probabilities.shape[1] == len(fed_ids)
    return trace


def record_training(
    translator: Translator, source_ids: Sequence[int], target_ids: Sequence[int], *, rate: float
) -> tuple[Trace, dict[str, Any]]:
    """One training step on one pair, recorded, and its loss and facts; the model is not changed."""
    source = torch.tensor([list(source_ids)])
    target = torch.tensor([[translator.special.start, *target_ids[:-1]]])
    gold = torch.tensor([list(target_ids)])
    question = TaskBatch(source, target, gold, len(target_ids))
    trace, facts = record_step(translator.model, question, translator.folder.recipe, rate=rate)
    _label_pair(trace, translator, source_ids, target[0].tolist())
    return trace, facts


def _translation(
    contents: ModelFolder, text: str, target: str | None, like: Trace | None, training: bool
) -> Trace:
    translator = Translator(contents)
    tokenizer = translator.target_tokenizer
    task = translator.task(text)
    assert task.source is not None
    given = {} if like is None else like.meta
    if target is None and given.get("tokenizer") == tokenizer.fingerprint:
        output = list(given["target_ids"])
    elif target is not None or "target" in given:
        output = list(tokenizer.encode(target or given["target"], end=True))
    else:
        (result,) = translator.engine.search([task], translator.options(), translator.special)
        output = list(result.hypotheses[0].ids)
    if not output:
        raise InputError(f"the model gives no token for {text!r}; give a target")
    if training:
        trace, _ = record_training(translator, task.source, output, rate=RATE)
    else:
        trace = record_translation(translator, task.source, output)
    trace.meta |= {
        "source": text,
        "target": tokenizer.decode(output),
        "target_ids": output,
        "tokenizer": tokenizer.fingerprint,
    }
    return trace


def _one_text(contents: ModelFolder, text: str, training: bool) -> Trace:
    model, tokenizer = contents.model.eval(), contents.tokenizer
    ids = list(tokenizer.encode(text, end=True))
    source = torch.tensor([ids])
    if training:
        question = _question(contents, source)
        trace, _ = record_step(
            model, question, {"task": contents.task, **contents.recipe}, rate=RATE
        )
    else:
        with torch.no_grad(), record(model) as trace:
            logits = model(source)
            probabilities = torch.softmax(logits, dim=-1)
        del probabilities
    trace.meta["source"] = text
    _label(trace, tokenizer, source=tokenizer.pieces(ids))
    return trace


def _question(contents: ModelFolder, source: torch.Tensor) -> TaskBatch:
    """What training on one text asks: the next token, every token, or the likeliest class."""
    if contents.task == "classify":
        with torch.no_grad():
            return TaskBatch(source, None, contents.model.classify(source).argmax(-1), 1)
    gold = source.clone()
    if contents.model.config.family == "decoder":  # position t is asked for token t + 1
        gold = torch.cat([source[:, 1:], torch.full((1, 1), PAD)], dim=1)
    return TaskBatch(source, None, gold, int((gold != PAD).sum()))


def _label_pair(
    trace: Trace, translator: Translator, source_ids: Sequence[int], target_ids: Sequence[int]
) -> None:
    _label(
        trace,
        translator.target_tokenizer,
        source=translator.tokenizer.pieces(source_ids),
        target=translator.target_tokenizer.pieces(target_ids),
    )


def _label(trace: Trace, tokenizer: Tokenizer, **sides: Sequence[str]) -> None:
    words = tokenizer.pieces(range(tokenizer.vocabulary))
    trace.label(**sides, vocabulary=words, axes=VOCABULARY)
