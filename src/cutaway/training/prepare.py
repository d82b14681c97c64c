"""Prepare a run: read, clean and tokenize the data, and fill in settings left open."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from cutaway.artifact.folder import ModelFolder, read_model_folder
from cutaway.config import ModelConfig, RunConfig, Task, TokenizerConfig
from cutaway.config.dump import model_changes
from cutaway.corpus import (
    EncodedPairs,
    LongReport,
    encode_labelled,
    encode_pairs,
    encode_texts,
)
from cutaway.corpus.parts import Part, Rows, Stream, joined, require_tags, targets
from cutaway.corpus.store import open_store, store_parts, store_tokenizers
from cutaway.errors import ConfigError, DataError
from cutaway.text import Reservoir, Tokenizer
from cutaway.training.rows import read_rows

LEARNT_FROM = 1_000_000  # sentences of a side, or of both if joint, that a tokenizer is learnt from

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
    rows: Rows  # texts of `train`, by its `numbers`; ("", text) or (label, text); none of a store
    validation: EncodedPairs | None
    validation_rows: Rows
    tokenizer: Tokenizer
    target_tokenizer: Tokenizer | None
    labels: tuple[str, ...]
    languages: tuple[str, str] | None
    model: ModelConfig
    start: ModelFolder | None  # the model to start from
    notes: list[str] = field(default_factory=list)  # messages for the user
    directions: tuple[tuple[str, str], ...] = ()  # of a model of several, its languages first
    # Of each part of the training pairs, its number of them and its weight; empty: all weigh 1.
    weights: tuple[tuple[int, float], ...] = ()
    # Of each part of `validation_rows`, its number of them and its languages.
    validation_parts: tuple[tuple[int, tuple[str, str] | None], ...] = ()


def prepare(config: RunConfig, kept: tuple[Tokenizer, Tokenizer | None] | None = None) -> Prepared:
    """Read the corpus and settle tokenizer and model; `kept`: the tokenizers of a run resumed."""
    task = config.train.task
    notes: list[str] = []
    start = read_model_folder(Path(config.train.start_from)) if config.train.start_from else None
    parts, validation_parts = read_rows(config, notes)
    rows = _together(parts)
    validation_rows = _together(validation_parts)
    if config.data.store:
        tokenizer, target_tokenizer = _of_store(config, start)
        train = open_store(config.data.store)
        most = max(config.data.max_length, train.max_length or int(train.lengths.max()))
        train = replace(train, max_length=train.max_length or most)
        config = replace(config, data=replace(config.data, max_length=most))  # the longest fits
        notes.append(f"{len(train):,} pairs in the store {config.data.store}")
        sizes = [count for count, _ in store_parts(config.data.store)]
        for count, part in zip(sizes, parts, strict=True):
            notes += [f"{count:,} of them: {part}"] if str(part) else []
        labels: tuple[str, ...] = ()
    else:
        tokenizer, target_tokenizer = kept or _tokenizers(config, parts, start, notes)
        labels = _labels(task, rows, start)
        train, sizes = _encode_parts(config, parts, (tokenizer, target_tokenizer), labels, notes)
    weights = tuple(zip(sizes, (part.weight for part in parts), strict=True))
    validation = None
    if validation_rows:
        validation, _ = _encode_parts(
            config, validation_parts, (tokenizer, target_tokenizer), labels, notes, "validation: "
        )
    model = model_settings(config, len(train), tokenizer, target_tokenizer, labels, start, notes)
    _refuse_long(config, model, [train, *([validation] if validation else [])])
    ways = tuple(dict.fromkeys(part.languages for part in parts if part.languages))
    known = ways[0] if ways else (start.languages if start else None)
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
        directions=ways if len(ways) > 1 else start.directions if start else (),
        weights=weights if any(weight != 1 for _, weight in weights) else (),
        validation_parts=tuple((len(part.rows), part.languages) for part in validation_parts),
    )


def _together(parts: list[Part]) -> Rows:
    """The rows of all parts; of one part its own list."""
    return parts[0].rows if len(parts) == 1 else [row for part in parts for row in part.rows]


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


def _tokenizers(
    config: RunConfig, parts: list[Part], start: ModelFolder | None, notes: list[str]
) -> tuple[Tokenizer, Tokenizer | None]:
    """The tokenizers: those of the model to start from, or new ones learnt from the rows."""
    settings, train = config.tokenizer, config.train
    if start is not None:
        if not train.grow:
            require_tags(parts, start.tokenizer)
            return start.tokenizer, start.target_tokenizer
        if start.target_tokenizer is not None:
            raise ConfigError("grow needs a joint vocabulary; this model has one for each side")
        texts = _texts(train.task, _together(parts))
        grown = start.tokenizer.grow(texts, train.grow, languages=targets(parts), seed=train.seed)
        notes.append(f"vocabulary grown from {start.tokenizer.vocabulary} to {grown.vocabulary}")
        return grown, None
    joint = settings.joint or train.task != "translate"
    sides = (1,) if train.task != "translate" else (0, 1)
    learnt = learn_tokenizers(replace(settings, joint=joint), parts, train.seed, sides=sides)
    for tokenizer in learnt:
        if tokenizer is not None:
            notes.append(f"{settings.kind} vocabulary of {tokenizer.vocabulary:,} tokens")
    return learnt


def learn_tokenizers(
    settings: TokenizerConfig,
    parts: Sequence[Stream],
    seed: int,
    *,
    sides: tuple[int, ...] = (0, 1),
) -> tuple[Tokenizer, Tokenizer | None]:
    """Tokenizers of the training parts, which are read once; of many rows a sample is kept."""
    groups = [sides] if settings.joint else [(0,), (1,)]
    samples = [Reservoir(LEARNT_FROM, seed) for _ in groups]
    count = 0
    rows = chain.from_iterable(part.rows for part in parts)
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
            languages=targets(parts),
            marks=tuple(dict.fromkeys(part.mark for part in parts if part.mark)),
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


def _encode_parts(
    config: RunConfig,
    parts: list[Part],
    tokenizers: tuple[Tokenizer, Tokenizer | None],
    labels: tuple[str, ...],
    notes: list[str],
    named: str = "",
) -> tuple[EncodedPairs, list[int]]:
    """All parts as ids, each with its tags, and the number of pairs of each."""
    encoded: list[EncodedPairs] = []
    for part in parts:
        pairs, report = _encode(config, part, *tokenizers, labels)
        if report.numbers:
            notes.append(f"{named}{report}")
        encoded.append(pairs)
    whole = joined(encoded, [len(part.rows) for part in parts])
    return whole, [len(pairs) for pairs in encoded]


def _encode(
    config: RunConfig,
    part: Part,
    tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | None,
    labels: tuple[str, ...],
) -> tuple[EncodedPairs, LongReport]:
    rows = part.rows
    task, most, long = config.train.task, config.data.max_length, config.data.long
    if long == "split" and task in ("translate", "classify"):
        raise ConfigError(f"data.long is 'split'; for {task} use truncate, skip or error")
    if task == "translate":
        fate: Any = "skip" if long == "auto" else long
        return encode_pairs(
            rows,
            tokenizer,
            target_tokenizer,
            language=part.target_tag(tokenizer),
            mark=part.mark or None,
            max_length=most,
            long=fate,
        )
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
