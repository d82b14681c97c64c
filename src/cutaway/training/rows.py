"""Read the rows of a run: cleaned, in parts, with validation rows given or held out."""

from dataclasses import replace
from typing import Any

import numpy as np

from cutaway.config import DataConfig, RunConfig, Task
from cutaway.corpus import clean, read_labelled, read_texts
from cutaway.corpus.opening import direction, of_split, open_pairs, open_source, settings_of
from cutaway.corpus.parts import Part, Rows, both_ways, targets
from cutaway.errors import ConfigError


def read_rows(config: RunConfig, notes: list[str]) -> tuple[list[Part], list[Part]]:
    """Training and validation rows, cleaned; without validation files some are set aside."""
    data, task = config.data, config.train.task
    if data.store:
        if task != "translate":
            raise ConfigError("a store holds pairs to translate; give --store alone, without files")
        if not (data.val_source or data.val_data):
            notes.append("no validation: give --val-source and --val-target, or --val-data")
            return [], []
        return [], [Part(_validation(task, data, notes), direction(data))]
    training, validation = _sources(config, notes) if data.sources else _one(config, notes)
    if data.both_ways:
        if not all(part.languages for part in training):
            raise ConfigError("data.both_ways needs the two languages: give --languages en-de too")
        held = [row for part in validation for row in part.rows]
        training, validation = both_ways(training, held), both_ways(validation)
    if len(targets(training)) > 1 and not config.tokenizer.joint:
        raise ConfigError(
            "tokenizer.joint is false, and there are several target languages; expected one "
            "vocabulary for all: leave tokenizer.joint out"
        )
    leaked = len(_all(validation) & _all(training))
    if leaked:
        count = sum(len(part.rows) for part in validation)
        notes.append(f"{leaked} of {count} validation pairs also occur in training")
    return training, [part for part in validation if part.rows]


def _all(parts: list[Part]) -> set[tuple[str, str]]:
    return {row for part in parts for row in part.rows}


def _one(config: RunConfig, notes: list[str]) -> tuple[list[Part], list[Part]]:
    """One corpus."""
    data, task = config.data, config.train.task
    rows = _read(task, data, "train", notes)
    given = bool(data.val_source or data.val_data or data.embedded)
    rows, held = clean_and_hold_out(config, rows, notes, hold_out=not given)
    if given:
        held = _validation(task, data, notes)
    return [Part(rows, direction(data))], [Part(held, direction(data))]


def _sources(config: RunConfig, notes: list[str]) -> tuple[list[Part], list[Part]]:
    """Several sources, each a part with its weight and tag."""
    data = config.data
    training: list[Part] = []
    validation: list[Part] = []
    for source in data.each_source():
        settings = settings_of(data, source)
        languages = direction(settings)
        rows = list(open_source(data, source, notes))
        training.append(Part(rows, languages, source.tag, source.weight))
        if source.val:
            own = list(open_pairs(settings_of(data, source, validation=True), "train", notes))
            validation.append(Part(_limited(own, data, notes), languages, source.tag))
    if data.val_source or data.val_data:
        rows = _validation("translate", data, notes)
        validation.append(Part(rows, direction(data) or training[0].languages))
    if validation:
        return training, validation
    rows = [row for part in training for row in part.rows]
    _, held = set_aside(rows, data.holdout, config.train.seed)
    if held:
        notes.append(f"no validation given: {len(held):,} held out for it")
    texts, wanted = {source for source, _ in held}, set(held)
    for number, part in enumerate(training):
        mine = [row for row in dict.fromkeys(part.rows) if row in wanted]
        wanted -= set(mine)
        validation.append(Part(mine, part.languages, part.mark))
        rest = [row for row in part.rows if row[0] not in texts]
        training[number] = replace(part, rows=rest)
    return training, validation


def _validation(task: Task, data: DataConfig, notes: list[str]) -> Rows:
    """The validation rows, of many only `data.val_limit`: each validation translates them all."""
    return _limited(_read(task, data, "validation", notes), data, notes)


def _limited(rows: Rows, data: DataConfig, notes: list[str]) -> Rows:
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
    wanted = min(count, len(rows) // 20, len(texts) // 2)  # a few texts many times: some stay
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(texts))
    chosen = {texts[place] for place in order[:wanted]}
    first: set[str] = set()
    validation: Rows = []
    for row in rows:  # a text with several answers is held out once
        if row[by] in chosen and row[by] not in first:
            first.add(row[by])
            validation.append(row)
    return [row for row in rows if row[by] not in chosen], validation
