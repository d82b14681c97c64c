"""Read the rows of a run: cleaned, in parts, with validation rows given or held out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cutaway.config import DataConfig, RunConfig, Task
from cutaway.corpus import read_labelled, read_texts
from cutaway.corpus.opening import direction, of_split, open_pairs, open_parts, settings_of
from cutaway.corpus.parts import Part, Rows, Stream, both_ways, targets
from cutaway.corpus.store import read_header, store_parts
from cutaway.errors import ConfigError


def read_rows(config: RunConfig, notes: list[str]) -> tuple[list[Part], list[Part]]:
    """Training and validation rows, cleaned; without validation files some are set aside."""
    data, task = config.data, config.train.task
    if data.store:
        return _of_store(config, notes)
    if task == "translate":
        training = [part.read() for part in open_parts(data, notes)]
    else:
        training = [Part(_read(task, data, "train", notes))]
        notes.append(f"{len(training[0].rows):,} texts read")
    validation = given_validation(config, training, notes)
    if not validation:
        training, validation = _held_out(config, training, notes)
    streams = in_directions(config, training, validation, notes)
    if data.both_ways:
        training = [part.read() for part in streams]
        validation = [part.read() for part in both_ways(validation)]
    leaked = len(_all(validation) & _all(training))
    if leaked:
        count = sum(len(part.rows) for part in validation)
        notes.append(f"{leaked} of {count} validation pairs also occur in training")
    return training, [part for part in validation if part.rows]


def _all(parts: list[Part]) -> set[tuple[str, str]]:
    return {row for part in parts for row in part.rows}


def in_directions(
    config: RunConfig, training: Sequence[Stream], validation: Sequence[Part], notes: list[str]
) -> Sequence[Stream]:
    """The parts in every direction the settings ask for, without what validation will ask."""
    if config.data.both_ways:
        if not all(part.languages for part in training):
            raise ConfigError("data.both_ways needs the two languages: give --languages en-de too")
        held = [row for part in validation for row in part.rows]
        if held:
            notes.append(f"pairs with a target of the {len(held):,} validation pairs are left out")
        training = both_ways(training, held)
    if targets(training) and not config.tokenizer.joint:
        raise ConfigError(
            "tokenizer.joint is false, and there are several target languages; expected one "
            "vocabulary for all: leave tokenizer.joint out"
        )
    return training


def given_validation(config: RunConfig, training: Sequence[Stream], notes: list[str]) -> list[Part]:
    """The rows of the validation files: those of single sources, and those of the whole."""
    data = config.data
    found: list[Part] = []
    for source, part in zip(data.each_source(), training, strict=False):
        if source.val:
            own = list(open_pairs(settings_of(data, source, validation=True), "train", notes))
            found.append(Part(_limited(own, data, notes), part.languages, part.mark))
    if data.val_source or data.val_data or data.embedded:
        rows = _limited(_read(config.train.task, data, "validation", notes), data, notes)
        found.append(Part(rows, direction(data) or training[0].languages))
    return found


def _held_out(
    config: RunConfig, training: list[Part], notes: list[str]
) -> tuple[list[Part], list[Part]]:
    """The parts without the rows held out for validation, and these by part."""
    by = 0 if config.train.task == "translate" else 1  # of labelled text, the text
    rows = [row for part in training for row in part.rows]
    _, held = set_aside(rows, config.data.holdout, config.train.seed, by=by)
    if held:
        notes.append(f"no validation given: {len(held):,} held out for it")
    texts, wanted = {row[by] for row in held}, set(held)
    validation: list[Part] = []
    for number, part in enumerate(training):
        mine = list(dict.fromkeys(row for row in part.rows if row in wanted))
        wanted -= set(mine)
        validation.append(Part(mine, part.languages, part.mark))
        rest = [row for row in part.rows if row[by] not in texts]
        training[number] = replace(part, rows=rest)
    return training, validation


def _of_store(config: RunConfig, notes: list[str]) -> tuple[list[Part], list[Part]]:
    """The parts of a store, without texts, and the validation rows in the store's directions."""
    data = config.data
    if config.train.task != "translate":
        raise ConfigError("a store holds pairs to translate; give --store alone, without files")
    # The validation files go with those the store was built from: what swapped them swaps these.
    data = replace(data, reverse=read_header(data.store).get("reverse") is True)
    parts = [part for _, part in store_parts(data.store)]
    ways = tuple(dict.fromkeys(part.languages for part in parts if part.languages))
    if ways and not direction(data):
        first, second = ways[0][::-1] if data.reverse else ways[0]
        data = replace(data, source_language=first, target_language=second)
    asked = direction(data)
    if asked and ways and asked not in ways:
        raise ConfigError(
            f"the store translates {', '.join(' → '.join(way) for way in ways)}, not "
            f"{' → '.join(asked)}: give --languages as to `cutaway data build`, or leave it out"
        )
    validation = given_validation(replace(config, data=data), parts, notes)
    if not validation:
        notes.append("no validation: give --val-source and --val-target, or --val-data")
    back = [part.reversed() for part in validation if asked and asked[::-1] in ways]
    validation += [part.read() for part in back]
    return [replace(part, languages=part.languages or asked) for part in parts], validation


def _limited(rows: Rows, data: DataConfig, notes: list[str]) -> Rows:
    most = data.val_limit
    if not most or len(rows) <= most:
        return rows
    notes.append(
        f"{most:,} of {len(rows):,} validation rows used, spread evenly; data.val_limit changes it"
    )
    return [rows[place * len(rows) // most] for place in range(most)]


def _read(task: Task, settings: DataConfig, split: str, notes: list[str]) -> Rows:
    """The rows of one split, as the settings name them."""
    data = of_split(settings, split)
    kind: Any = data.format or None
    encoding = data.encoding or None
    if task == "translate":
        return list(open_pairs(data, split, notes))
    if task in ("generate", "fill") and (data.data or data.source):
        texts = read_texts(data.data or data.source, kind, encoding=encoding, notes=notes)
        return [("", text) for text in texts]
    if task == "classify" and data.data:
        return read_labelled(data.data, kind, encoding=encoding, notes=notes)
    raise ConfigError(f"nothing to {split.replace('train', 'train on')}: give --data")


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
