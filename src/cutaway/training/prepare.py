"""Prepare a run: read, clean and tokenize the data, and fill in settings left open."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cutaway.artifact.folder import ModelFolder, read_model_folder
from cutaway.config import DataConfig, ModelConfig, RunConfig, Task, TokenizerConfig
from cutaway.config.dump import model_changes
from cutaway.corpus import (
    EncodedPairs,
    LongReport,
    clean,
    encode_labelled,
    encode_pairs,
    encode_texts,
    read_labelled,
    read_texts,
)
from cutaway.corpus.opening import of_split, open_pairs
from cutaway.corpus.store import open_store, store_tokenizers
from cutaway.errors import ConfigError, DataError
from cutaway.text import Reservoir, Tokenizer

LEARNT_FROM = 1_000_000  # sentences of a side, or of both if joint, that a tokenizer is learnt from

Rows = list[tuple[str, str]]  # (source, target); texts: ("", text); labelled: (label, text)

FAMILIES = {
    "translate": "encoder-decoder",
    "generate": "decoder",
    "fill": "encoder",
    "classify": "encoder",
}


@dataclass
class Prepared:
    """Everything a run trains on."""

    task: Task
    train: EncodedPairs
    rows: Rows  # the texts of `train`, by its `numbers`; none of a store
    validation: EncodedPairs | None
    validation_rows: Rows
    tokenizer: Tokenizer
    target_tokenizer: Tokenizer | None
    labels: tuple[str, ...]
    languages: tuple[str, str] | None
    model: ModelConfig
    start: ModelFolder | None  # the model to start from
    notes: list[str] = field(default_factory=list)  # messages for the user


def prepare(config: RunConfig, kept: tuple[Tokenizer, Tokenizer | None] | None = None) -> Prepared:
    """Read the corpus and settle tokenizer and model; `kept`: the tokenizers of a run resumed."""
    task = config.train.task
    notes: list[str] = []
    start = read_model_folder(Path(config.train.start_from)) if config.train.start_from else None
    rows, validation_rows = _corpus(config, notes)
    if config.data.store:
        tokenizer, target_tokenizer = _of_store(config, start)
        train = open_store(config.data.store)
        most = max(config.data.max_length, train.max_length or int(train.lengths.max()))
        train = replace(train, max_length=train.max_length or most)
        config = replace(config, data=replace(config.data, max_length=most))  # the longest fits
        notes.append(f"{len(train):,} pairs in the store {config.data.store}")
        labels: tuple[str, ...] = ()
    else:
        tokenizer, target_tokenizer = kept or _tokenizers(config, rows, start, notes)
        labels = _labels(task, rows, start)
        train, report = _encode(config, rows, tokenizer, target_tokenizer, labels)
        if report.numbers:
            notes.append(str(report))
    validation = None
    if validation_rows:
        validation, report = _encode(config, validation_rows, tokenizer, target_tokenizer, labels)
        if report.numbers:
            notes.append(f"validation: {report}")
    model = model_settings(config, len(train), tokenizer, target_tokenizer, labels, start, notes)
    _refuse_long(config, model, [train, *([validation] if validation else [])])
    languages = (config.data.source_language, config.data.target_language)
    if not all(languages) and config.data.embedded:
        first, _, second = config.data.embedded.partition("-")
        languages = (first, second)
    known = languages if all(languages) else (start.languages if start else None)
    return Prepared(
        task=task,
        train=train,
        rows=rows,
        validation=validation,
        validation_rows=validation_rows,
        tokenizer=tokenizer,
        target_tokenizer=target_tokenizer,
        labels=labels,
        languages=known,
        model=model,
        start=start,
        notes=notes,
    )


def _corpus(config: RunConfig, notes: list[str]) -> tuple[Rows, Rows]:
    """Training and validation rows, cleaned; without validation files some are set aside."""
    data, task = config.data, config.train.task
    if data.store:
        if task != "translate" or data.source or data.data or data.embedded:
            raise ConfigError("a store holds pairs to translate; give --store alone, without files")
        if not (data.val_source or data.val_data):
            notes.append("no validation: give --val-source and --val-target, or --val-data")
            return [], []
        return [], _validation(task, data, notes)
    rows = _read(task, data, "train", notes)
    given = bool(data.val_source or data.val_data or data.embedded)
    rows, held = clean_and_hold_out(config, rows, notes, hold_out=not given)
    if given:
        validation = _validation(task, data, notes)
        leaked = len(set(validation) & set(rows))
        if leaked:
            notes.append(f"{leaked} of {len(validation)} validation pairs also occur in training")
        return rows, validation
    return rows, held


def _validation(task: Task, data: DataConfig, notes: list[str]) -> Rows:
    """The validation rows, of many only `data.val_limit`: each validation translates them all."""
    rows = _read(task, data, "validation", notes)
    most = data.val_limit
    if not most or len(rows) <= most:
        return rows
    notes.append(
        f"{most:,} of {len(rows):,} validation rows used, spread evenly; data.val_limit changes it"
    )
    return [rows[place * len(rows) // most] for place in range(most)]


def clean_and_hold_out(
    config: RunConfig, rows: Rows, notes: list[str], *, hold_out: bool
) -> tuple[Rows, Rows]:
    """The rows to train on and those held out for validation, from the rows as they were read."""
    task = config.train.task
    if task == "translate" and config.data.clean:
        rows, cleaning = clean(rows)
        cleaning.require_some()
        notes.append(str(cleaning))
    else:
        notes.append(f"{len(rows):,} {'pairs' if task == 'translate' else 'texts'} read")
    if not hold_out:
        return rows, []
    by = 0 if task == "translate" else 1  # of labelled text, the text
    rows, held = set_aside(rows, config.data.holdout, config.train.seed, by=by)
    if held:
        notes.append(f"no validation given: {len(held):,} held out for it")
    return rows, held


def _of_store(config: RunConfig, start: ModelFolder | None) -> tuple[Tokenizer, Tokenizer | None]:
    """The tokenizers a store was built with, which must be those of the model to start from."""
    tokenizers = store_tokenizers(config.data.store)
    if start is None:
        return tokenizers
    for side, ours, theirs in zip(
        ("source", "target"), tokenizers, (start.tokenizer, start.target_tokenizer), strict=True
    ):
        if (ours and ours.fingerprint) != (theirs and theirs.fingerprint):
            raise ConfigError(
                f"{config.data.store} was built with another {side} tokenizer than "
                f"{config.train.start_from}; build it with the tokenizers of that folder: "
                f"cutaway data build --tokenizer {config.train.start_from}"
            )
    return tokenizers


def _read(task: Task, settings: DataConfig, split: str, notes: list[str]) -> Rows:
    """The rows of one split, as the settings name them."""
    data = of_split(settings, split)
    kind: Any = data.format or None
    encoding = data.encoding or None
    if task == "translate" and (data.source or data.data or data.embedded):
        return list(open_pairs(data, split, notes))
    if task in ("generate", "fill") and (data.data or data.source):
        texts = read_texts(data.data or data.source, kind, encoding=encoding, notes=notes)
        return [("", text) for text in texts]
    if task == "classify" and data.data:
        return read_labelled(data.data, kind, encoding=encoding, notes=notes)
    wanted = "--source and --target, or --data" if task == "translate" else "--data"
    raise ConfigError(f"nothing to {split.replace('train', 'train on')}: give {wanted}")


def set_aside(rows: Rows, count: int, seed: int, *, by: int = 0) -> tuple[Rows, Rows]:
    """Take rows for validation, at most 5 %, so that none of their texts stays in training."""
    texts = sorted({row[by] for row in rows})
    wanted = min(count, len(rows) // 20)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(texts))
    chosen = {texts[place] for place in order[:wanted]}
    first: set[str] = set()
    validation: Rows = []
    for row in rows:  # a text with several answers is held out once
        if row[by] in chosen and row[by] not in first:
            first.add(row[by])
            validation.append(row)
    return [row for row in rows if row[by] not in chosen], validation


def _tokenizers(
    config: RunConfig, rows: Rows, start: ModelFolder | None, notes: list[str]
) -> tuple[Tokenizer, Tokenizer | None]:
    """The tokenizers: those of the model to start from, or new ones learnt from the rows."""
    settings, train = config.tokenizer, config.train
    if start is not None:
        if not train.grow:
            return start.tokenizer, start.target_tokenizer
        if start.target_tokenizer is not None:
            raise ConfigError("grow needs a joint vocabulary; this model has one for each side")
        grown = start.tokenizer.grow(_texts(train.task, rows), train.grow, seed=train.seed)
        notes.append(f"vocabulary grown from {start.tokenizer.vocabulary} to {grown.vocabulary}")
        return grown, None
    joint = settings.joint or train.task != "translate"
    sides = (1,) if train.task != "translate" else (0, 1)
    learnt = learn_tokenizers(replace(settings, joint=joint), rows, train.seed, sides=sides)
    for tokenizer in learnt:
        if tokenizer is not None:
            notes.append(f"{settings.kind} vocabulary of {tokenizer.vocabulary:,} tokens")
    return learnt


def learn_tokenizers(
    settings: TokenizerConfig,
    rows: Iterable[tuple[str, str]],
    seed: int,
    *,
    sides: tuple[int, ...] = (0, 1),
) -> tuple[Tokenizer, Tokenizer | None]:
    """Tokenizers of the training rows, which are read once; of many rows a sample is kept."""
    groups = [sides] if settings.joint else [(0,), (1,)]
    samples = [Reservoir(LEARNT_FROM, seed) for _ in groups]
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - the count is used after the loop
        for sample, group in zip(samples, groups, strict=True):
            for side in group:
                sample.add(row[side])
    learnt = []
    while samples:
        tokenizer = Tokenizer.train(
            samples.pop(0).sentences,
            kind=settings.kind,
            vocabulary=settings.vocabulary or chosen_vocabulary(count),
            seed=seed,
            lowercase=settings.lowercase,
        )
        learnt.append(tokenizer)
    return learnt[0], learnt[1] if len(learnt) > 1 else None


def _texts(task: Task, rows: Rows) -> Iterable[str]:
    for source, target in rows:
        if task == "translate":
            yield source
        yield target


def _labels(task: Task, rows: Rows, start: ModelFolder | None) -> tuple[str, ...]:
    if task != "classify":
        return ()
    labels = tuple(sorted({label for label, _ in rows}))
    if start is not None and start.labels and set(labels) <= set(start.labels):
        return start.labels
    if len(labels) < 2:
        raise DataError(f"the labels are {', '.join(labels) or 'missing'}; expected at least two")
    return labels


def _encode(
    config: RunConfig,
    rows: Rows,
    tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | None,
    labels: tuple[str, ...],
) -> tuple[EncodedPairs, LongReport]:
    task, most, long = config.train.task, config.data.max_length, config.data.long
    if long == "split" and task in ("translate", "classify"):
        raise ConfigError(f"data.long is 'split'; for {task} use truncate, skip or error")
    if task == "translate":
        fate: Any = "skip" if long == "auto" else long
        return encode_pairs(rows, tokenizer, target_tokenizer, max_length=most, long=fate)
    if task == "classify":
        fate = "truncate" if long == "auto" else long
        return encode_labelled(rows, tokenizer, labels, max_length=most, long=fate)
    fate = "split" if long == "auto" else long
    return encode_texts((text for _, text in rows), tokenizer, max_length=most, long=fate)


def model_settings(
    config: RunConfig,
    pairs: int,
    tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | None,
    labels: tuple[str, ...],
    start: ModelFolder | None,
    notes: list[str],
) -> ModelConfig:
    """The model's settings: of the model to start from, of a preset, or by the corpus's size."""
    task = config.train.task
    if start is not None:
        changes = {name: value for name, value in config.model.items() if name != "preset"}
        if start.model.config.family != FAMILIES[task]:
            raise ConfigError(
                f"the model to start from is of family {start.model.config.family!r}; the task "
                f"{task!r} needs {FAMILIES[task]!r}"
            )
        free = {"dropout", "attention_dropout", "activation_dropout"}
        fixed = sorted(set(changes) - free)
        if fixed:
            raise ConfigError(f"model.{fixed[0]} is fixed by the model to start from; leave it out")
        return replace(
            start.model.config, vocabulary=tokenizer.vocabulary, classes=len(labels), **changes
        )
    preset = config.model.get("preset") or chosen_preset(pairs)
    if not config.model.get("preset"):
        notes.append(f"size {preset!r} chosen for {pairs:,} rows")
    values: dict[str, Any] = {
        "family": FAMILIES[task],
        "classes": len(labels),
        **model_changes(config),
    }
    if target_tokenizer is not None:
        values["target_vocabulary"] = target_tokenizer.vocabulary
        values.setdefault("tied", "output")  # a store's tokenizers may be two
    return ModelConfig.preset(preset, vocabulary=tokenizer.vocabulary, **values)


def _refuse_long(config: RunConfig, model: ModelConfig, encoded: list[EncodedPairs]) -> None:
    """Refuse sequences longer than the position table now, not in the middle of an epoch."""
    longest = max(
        (max(int(pairs.lengths[:, 0].max()), int(pairs.lengths[:, 1].max()) - 1))
        for pairs in encoded
        if len(pairs)
    )
    if config.tokenizer.sample:  # sampled segmentations may be longer
        longest = max(longest, config.data.max_length)
    if longest > model.max_length:
        raise ConfigError(
            f"model.max_length is {model.max_length} and sequences have up to {longest} tokens; "
            f"set data.max_length to {model.max_length}, or model.max_length to {longest} or more"
        )


def chosen_preset(pairs: int) -> str:
    """A preset for the corpus's size: tiny below 100,000 rows, then small, base from a million."""
    return "tiny" if pairs < 100_000 else "small" if pairs < 1_000_000 else "base"


def chosen_vocabulary(pairs: int) -> int:
    """A vocabulary size for a corpus of so many rows: 6,000 for thousands, 32,000 for millions."""
    for most, size in ((2_000, 2_000), (50_000, 6_000), (300_000, 10_000), (3_000_000, 16_000)):
        if pairs < most:
            return size
    return 32_000
