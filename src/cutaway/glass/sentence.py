"""A sentence through a model folder, recorded: what the command line explains, proves, compares."""

from pathlib import Path

import torch
import torch.nn.functional as F

from cutaway.decode import Translator
from cutaway.errors import InputError
from cutaway.glass.pair import VOCABULARY, Sides, record_step, record_translation, restored
from cutaway.glass.record import record
from cutaway.glass.trace import Trace
from cutaway.text import Tokenizer
from cutaway.train.folder import ModelFolder, read_model_folder

RATE = 1e-3  # of the update that is shown


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
    adds loss, gradients and one AdamW update; the model in the folder is not changed.
    """
    contents = folder if isinstance(folder, ModelFolder) else read_model_folder(Path(folder))
    if contents.model.config.family == "encoder-decoder":
        return _translation(contents, text, target, like, training)
    if target is not None:
        raise InputError(
            f"a model of family {contents.model.config.family!r} reads one text; leave out target"
        )
    return _one_text(contents, text, training)


def _translation(
    contents: ModelFolder, text: str, target: str | None, like: Trace | None, training: bool
) -> Trace:
    translator = Translator(contents)
    model, theirs = translator.model, translator.target_tokenizer
    task = translator.task(text)
    assert task.source is not None
    given = {} if like is None else like.meta
    if target is None and given.get("tokenizer") == theirs.fingerprint:
        output = list(given["target_ids"])
    elif target is not None or "target" in given:
        output = list(theirs.encode(target or given["target"], end=True))
    else:
        (result,) = translator.engine.search([task], translator.options(), translator.special)
        output = list(result.hypotheses[0].ids)
    if not output:
        raise InputError(f"the model gives no token for {text!r}; give a target")
    sides = Sides(translator.tokenizer, theirs, translator.special)
    if training:
        trace, _ = record_step(model, task.source, output, sides, rate=RATE)
    else:
        trace = record_translation(model, task.source, output, sides)
    trace.meta |= {
        "source": text,
        "target": theirs.decode(output),
        "target_ids": output,
        "tokenizer": theirs.fingerprint,
    }
    return trace


def _one_text(contents: ModelFolder, text: str, training: bool) -> Trace:
    model, tokenizer = contents.model.eval(), contents.tokenizer
    ids = list(tokenizer.encode(text, end=True))
    causal = model.config.family == "decoder"
    source = torch.tensor([ids])
    if training:
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
        with restored(model), record(model, meta={"source": text}) as trace:
            logits = model(source)
            log_probabilities = F.log_softmax(logits, dim=-1)
            said = log_probabilities[0, :-1] if causal else log_probabilities[0]
            loss = F.nll_loss(said, source[0, 1:] if causal else source[0])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    else:
        with torch.no_grad(), record(model, meta={"source": text}) as trace:
            logits = model(source)
            probabilities = torch.softmax(logits, dim=-1)
        del probabilities
    _label_text(trace, tokenizer, ids)
    return trace


def _label_text(trace: Trace, tokenizer: Tokenizer, ids: list[int]) -> None:
    trace.label(
        source=tokenizer.pieces(ids),
        vocabulary=tokenizer.pieces(range(tokenizer.vocabulary)),
        axes=VOCABULARY,
    )
