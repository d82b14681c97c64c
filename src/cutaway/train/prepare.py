"""From settings to numbers: read, clean, tokenize, and choose what was left to choose."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cutaway.config import ModelConfig, RunConfig, Task
from cutaway.corpus import (
    EncodedPairs,
    LongReport,
    clean,
    encode_labelled,
    encode_pairs,
    encode_texts,
    read_labelled,
    read_pairs,
    read_texts,
)
from cutaway.corpus.store import open_store, store_tokenizers
from cutaway.errors import ConfigError, DataError
from cutaway.text import Tokenizer
from cutaway.train.folder import ModelFolder, read_model_folder

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
    start: ModelFolder | None  # the model to begin with
    notes: list[str] = field(default_factory=list)  # what was found and chosen, for a person


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
        config = replace(config, data=replace(config.data, max_length=most))  # room for all of it
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
    model = _model(config, len(train), tokenizer, target_tokenizer, labels, start, notes)
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
        return [], _read(
            task, data.val_source, data.val_target, data.val_data, "", "validation", data.format
        )
    rows = _read(task, data.source, data.target, data.data, data.embedded, "train", data.format)
    if task == "translate" and data.clean:
        rows, cleaning = clean(rows)
        removed = ", ".join(f"{name} {count}" for name, count in cleaning.removed.items() if count)
        notes.append(
            f"{cleaning.given:,} pairs read, {cleaning.kept:,} kept"
            + (f" (removed: {removed})" if removed else "")
        )
    else:
        notes.append(f"{len(rows):,} {'pairs' if task == 'translate' else 'texts'} read")
    if data.val_source or data.val_data or data.embedded:
        validation = _read(
            task, data.val_source, data.val_target, data.val_data,
            "" if data.val_source or data.val_data else data.embedded, "validation", data.format,
        )  # fmt: skip
        leaked = len(set(validation) & set(rows))
        if leaked:
            notes.append(f"{leaked} of {len(validation)} validation pairs also occur in training")
        return rows, validation
    by = 0 if task == "translate" else 1  # of labelled text, the text
    rows, validation = set_aside(rows, data.holdout, config.train.seed, by=by)
    if validation:
        notes.append(f"no validation given: {len(validation):,} set aside for it")
    return rows, validation


def _of_store(config: RunConfig, start: ModelFolder | None) -> tuple[Tokenizer, Tokenizer | None]:
    """The tokenizers a store was built with, which must be those of the model to begin with."""
    tokenizer, target_tokenizer = store_tokenizers(config.data.store)
    if start is not None and start.tokenizer.fingerprint != tokenizer.fingerprint:
        raise ConfigError(
            f"{config.data.store} was built with another tokenizer than the model to begin with; "
            f"build it with --tokenizer {config.train.start_from}/tokenizer.model"
        )
    return tokenizer, target_tokenizer


def _read(
    task: Task, source: str, target: str, data: str, pair: str, split: str, format: str
) -> Rows:
    """The rows of one split, from wherever the settings point."""
    kind: Any = format or None
    if pair and task == "translate":
        from cutaway.corpus.embedded import embedded  # its grammar costs time to load

        return list(embedded(pair, split=split))
    if task == "translate" and source:
        return read_pairs((source, target), kind)
    if task == "translate" and data:
        return read_pairs(data, kind)
    if task in ("generate", "fill") and (data or source):
        return [("", text) for text in read_texts(data or source, kind)]
    if task == "classify" and data:
        return read_labelled(data, kind)
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
    for row in rows:  # a text with several answers is asked once
        if row[by] in chosen and row[by] not in first:
            first.add(row[by])
            validation.append(row)
    return [row for row in rows if row[by] not in chosen], validation


def _tokenizers(
    config: RunConfig, rows: Rows, start: ModelFolder | None, notes: list[str]
) -> tuple[Tokenizer, Tokenizer | None]:
    """The tokenizers: those of the model to begin with, or new ones learnt from the rows."""
    settings, train = config.tokenizer, config.train
    if start is not None:
        if not train.grow:
            return start.tokenizer, start.target_tokenizer
        if start.target_tokenizer is not None:
            raise ConfigError("grow needs a joint vocabulary; this model has one for each side")
        grown = start.tokenizer.grow(_texts(train.task, rows), train.grow, seed=train.seed)
        notes.append(f"vocabulary grown from {start.tokenizer.vocabulary} to {grown.vocabulary}")
        return grown, None
    if train.grow:
        raise ConfigError("grow needs a model to begin with; give --from FOLDER too")
    size = settings.vocabulary or chosen_vocabulary(len(rows))

    def learn(sentences: Iterable[str]) -> Tokenizer:
        tokenizer = Tokenizer.train(
            sentences,
            kind=settings.kind,
            vocabulary=size,
            seed=train.seed,
            lowercase=settings.lowercase,
        )
        notes.append(f"{settings.kind} vocabulary of {tokenizer.vocabulary:,} tokens")
        return tokenizer

    if settings.joint or train.task != "translate":
        return learn(_texts(train.task, rows)), None
    return learn(source for source, _ in rows), learn(target for _, target in rows)


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


def _model(
    config: RunConfig,
    pairs: int,
    tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | None,
    labels: tuple[str, ...],
    start: ModelFolder | None,
    notes: list[str],
) -> ModelConfig:
    """The model's settings: of the model to begin with, of a preset, or by the corpus's size."""
    task = config.train.task
    changes = {name: value for name, value in config.model.items() if name != "preset"}
    if start is not None:
        if start.model.config.family != FAMILIES[task]:
            raise ConfigError(
                f"the model to begin with is of family {start.model.config.family!r}; the task "
                f"{task!r} needs {FAMILIES[task]!r}"
            )
        free = {"dropout", "attention_dropout", "activation_dropout"}
        fixed = sorted(set(changes) - free)
        if fixed:
            raise ConfigError(f"model.{fixed[0]} is fixed by the model to begin with; leave it out")
        return replace(
            start.model.config, vocabulary=tokenizer.vocabulary, classes=len(labels), **changes
        )
    preset = config.model.get("preset") or chosen_preset(pairs)
    if not config.model.get("preset"):
        notes.append(f"size {preset!r} chosen for {pairs:,} rows")
    values: dict[str, Any] = {
        "family": FAMILIES[task],
        "classes": len(labels),
        "max_length": max(256, config.data.max_length),
        **changes,
    }
    if target_tokenizer is not None:
        values["target_vocabulary"] = target_tokenizer.vocabulary
        values.setdefault("tied", "output")
    return ModelConfig.preset(preset, vocabulary=tokenizer.vocabulary, **values)


def chosen_preset(pairs: int) -> str:
    """A size the corpus can fill: tiny below 100,000 rows, then small, base from a million."""
    return "tiny" if pairs < 100_000 else "small" if pairs < 1_000_000 else "base"


def chosen_vocabulary(pairs: int) -> int:
    """Tokens a corpus of so many rows can teach: 6,000 for thousands, 32,000 for millions."""
    for most, size in ((2_000, 2_000), (50_000, 6_000), (300_000, 10_000), (3_000_000, 16_000)):
        if pairs < most:
            return size
    return 32_000


def chosen_epochs(pairs: int) -> int:
    """Passes when neither epochs nor updates are given: about 1.3 million rows seen, 3 to 60."""
    return max(3, min(60, round(1_300_000 / max(1, pairs))))
