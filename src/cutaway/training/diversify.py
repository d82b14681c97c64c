"""Data diversification: models of both directions translate the corpus, for the last to learn from.

    D' = D ∪ {(x, forward(x))} ∪ {(backward(y), y)}

A forward and a backward teacher are trained on D like any model, then both translate D's own
sentences; `train.diversify` says how many teachers of each direction. With `data.both_ways` one
teacher knows both directions. Kept in OUT.run/diversify:

    part-1.jsonl, …           D as it was cleaned, a file per source
    validation.jsonl          what was given or held out, so that no training sees it
    forward-1, backward-1, …  model folders of the teachers, and their runs
    forward-1.forward.part-1.HASH.jsonl, …   translations by the teacher of that hash
    timing.jsonl              seconds that translating took
    begun.json                what the teachers learn from and how: a change is refused
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cutaway.artifact.files import sha256
from cutaway.artifact.lock import held
from cutaway.artifact.places import finished, refuse_foreign, run_folder, teachers_folder
from cutaway.config import CHOOSE, DataConfig, RunConfig, TrainConfig
from cutaway.corpus.parts import Part, Rows
from cutaway.corpus.writing import write_pairs
from cutaway.errors import ConfigError, TrainingError
from cutaway.training.events import Event, Note, Validate, Watch
from cutaway.training.identity import HARMLESS
from cutaway.training.interrupts import Interrupts
from cutaway.training.prepare import chosen_preset, chosen_vocabulary
from cutaway.training.recipe import last_epochs, suits, teacher_epochs
from cutaway.training.rows import read_rows
from cutaway.training.run import train

CHUNK = 2048  # sentences between two looks for a signal
LARGEST = 32_000_000  # bytes of text that are read to see how many pairs they hold
PACKED = (".gz", ".bz2", ".xz", ".zst")  # to a quarter of the text
CHOSEN = (
    "{pairs:,} pairs: data diversification chosen; a model of each direction is trained first, and "
    "the last one learns from their translations too (--diversify 0: only from the pairs)"
)

Translate = Callable[[Sequence[str]], Sequence[str]]
# What translates with a model folder, into the language named where it knows several.
Translators = Callable[[Path, str | None], Translate]


@dataclass(frozen=True)
class Corpus:
    """D in files."""

    parts: tuple[Part, ...]
    files: tuple[Path, ...]
    validation: Path | None

    @property
    def pairs(self) -> int:
        """Rows of all parts."""
        return sum(len(part.rows) for part in self.parts)


def diversified(
    config: RunConfig,
    out: Path,
    *,
    translator: Translators,
    validate: Validate | None = None,
    watch: Watch = lambda event: None,
    allow_changes: bool = False,
) -> RunConfig:
    """The settings of the last training; trains the teachers and translates first, where not done.

    Those of a usual training where `train.diversify` is 0, or leaves the choice and the corpus is
    not one that gains by it. Raises Interrupted after a signal; the same call goes on from there.
    """
    usual = replace(config, train=replace(config.train, diversify=0))
    if not config.train.diversify:
        return usual
    left = config.train.diversify == CHOOSE
    place = teachers_folder(out)
    begun = place / "begun.json"
    was = begun.is_file()
    if left and not was and ((run_folder(out) / "run.json").is_file() or not _may(config)):
        return usual
    _refuse(config)
    refuse_foreign(out, run_folder(out))
    with held(run_folder(out)):
        notes: list[str] = []
        parts, validation = _read(config, notes)
        if left and not was and not suits(sum(len(part.rows) for part in parts), _ways(parts)):
            return usual
        if left:
            known = json.loads(begun.read_text(encoding="utf-8")) if was else {}
            teachers = known.get("teachers", 1)
            config = replace(config, train=replace(config.train, diversify=teachers))
        for note in notes:
            watch(Note(note))
        corpus = _written(config, parts, validation, place)
        if left and not was:
            watch(Note(CHOSEN.format(pairs=corpus.pairs)))
        _begin(config, corpus, place, allow_changes)
        added: list[dict[str, Any]] = []
        for number in range(1, config.train.diversify + 1):
            for way in ("forward",) if config.data.both_ways else ("forward", "backward"):
                teacher = place / f"{way}-{number}"
                settings = _settings(config, corpus, number, reverse=way == "backward")
                if not finished(teacher):
                    watch(Note(f"teacher {teacher.name}: {_direction(corpus, way)}"))
                    train(settings, teacher, validate=validate, watch=_quiet(watch))
                for one in ("forward", "backward") if config.data.both_ways else (way,):
                    added += _translations(config, corpus, teacher, one, translator, watch)
    rows = corpus.pairs + sum(_lines(Path(source["path"])) for source in added)
    watch(Note(f"{corpus.pairs:,} pairs and translations of them, {rows:,} in all"))
    return _settings(config, corpus, 0, added=added, rows=rows)


def _may(config: RunConfig) -> bool:
    """Whether it may be worth reading the corpus to see if this suits it."""
    data, train = config.data, config.train
    sources = data.each_source()
    named = [data.source, data.target, data.data, *(source.path for source in sources)]
    files = [Path(name) for name in named if name and Path(name).is_file()]
    sizes = [file.stat().st_size * (1 if file.suffix not in PACKED else 4) for file in files]
    return (
        not (train.epochs or train.updates or data.both_ways or _reasons(config))
        and not (data.embedded or any(source.embedded for source in sources))
        and sum(sizes) <= LARGEST
    )


def _reasons(config: RunConfig) -> list[str]:
    """Why this training cannot be diversified."""
    reasons = {
        f"the task {config.train.task!r}": config.train.task != "translate",
        "a store, which has no texts": bool(config.data.store),
        "a model to start from (--from)": bool(config.train.start_from),
        "several processes": int(os.environ.get("WORLD_SIZE") or 1) > 1,
    }
    return [reason for reason, holds in reasons.items() if holds]


def _refuse(config: RunConfig) -> None:
    """Refuse what cannot be diversified, before hours are spent on it."""
    for reason in _reasons(config):
        raise ConfigError(
            f"train.diversify is {config.train.diversify} with {reason}; expected pairs in "
            f"files and one process: set train.diversify to 0"
        )


def _read(config: RunConfig, notes: list[str]) -> tuple[list[Part], list[Part]]:
    """The cleaned corpus, in one direction, and what is held out of it."""
    one_way = replace(config, data=replace(config.data, both_ways=False))
    return read_rows(one_way, notes)


def _ways(parts: Sequence[Part]) -> int:
    """How many directions the parts have."""
    return len({part.languages for part in parts})


def _written(
    config: RunConfig, parts: Sequence[Part], validation: Sequence[Part], place: Path
) -> Corpus:
    """The corpus and what is held out of it, written to files."""
    if _ways(parts) > 1:
        ways = dict.fromkeys(part.languages for part in parts)
        named = ", ".join(" → ".join(way) for way in ways if way)
        raise ConfigError(
            f"train.diversify is {config.train.diversify} and the sources have several directions "
            f"({named}); expected one: set train.diversify to 0"
        )
    files = tuple(place / f"part-{number}.jsonl" for number in range(1, len(parts) + 1))
    place.mkdir(parents=True, exist_ok=True)
    for file, part in zip(files, parts, strict=True):
        write_pairs(file, part.rows)
    held_out: Rows = [row for part in validation for row in part.rows]
    if held_out:
        write_pairs(place / "validation.jsonl", held_out)
    return Corpus(tuple(parts), files, place / "validation.jsonl" if held_out else None)


def _begin(config: RunConfig, corpus: Corpus, place: Path, allow_changes: bool) -> None:
    """Write down what the teachers learn from and how, or refuse another beginning."""
    digest = hashlib.sha256()
    for file in [*corpus.files, *([corpus.validation] if corpus.validation else [])]:
        digest.update(sha256(file).encode())
    train = {
        name: value
        for name, value in config.train.to_dict().items()
        if name not in HARMLESS | {"diversify"}
    }
    now = {
        "corpus": digest.hexdigest(),
        "teachers": config.train.diversify,
        "both_ways": config.data.both_ways,
        "tokenizer": config.tokenizer.to_dict(),
        "model": config.model,
        "train": train,
    }
    file = place / "begun.json"
    if file.is_file() and not allow_changes:
        before = json.loads(file.read_text(encoding="utf-8"))
        fixed = now.keys() - {"teachers"}  # there may be more than before
        changed = [name for name in now if name in fixed and before.get(name) != now[name]]
        if changed:
            raise TrainingError(
                f"{place} was begun with other values of {', '.join(changed)}; run the old command "
                f"to resume, add --allow-changes to keep the teachers as they are, or choose "
                f"another --out"
            )
    file.write_text(json.dumps(now, ensure_ascii=False), encoding="utf-8")


def _settings(
    config: RunConfig,
    corpus: Corpus,
    teacher: int,  # its number; 0: the last model
    *,
    reverse: bool = False,
    added: Sequence[dict[str, Any]] = (),
    rows: int = 0,  # of the last model: D and the translations
) -> RunConfig:
    """Settings of one of the trainings; size and vocabulary are those of D alone."""
    directions = 2 if config.data.both_ways else 1
    pairs = corpus.pairs * directions
    first, second = corpus.parts[0].languages or ("", "")
    data: DataConfig = replace(
        DataConfig(),
        sources=(*_sources(corpus), *added),
        val_data=str(corpus.validation or ""),
        reverse=reverse,
        both_ways=config.data.both_ways,
        source_language=first,
        target_language=second,
        clean=False,  # done
        max_length=config.data.max_length,
        long=config.data.long,
        val_limit=config.data.val_limit,
        holdout=0,
    )
    vocabulary = config.tokenizer.vocabulary or chosen_vocabulary(pairs)
    own: TrainConfig = replace(config.train, diversify=0)
    if teacher:
        own = replace(own, seed=own.seed + teacher - 1, keep=0, keep_states=0, tensorboard=False)
    if not (own.epochs or own.updates):
        passes = teacher_epochs(pairs) if teacher else last_epochs(pairs, rows * directions)
        own = replace(own, epochs=passes)
    return replace(
        config,
        data=data,
        tokenizer=replace(config.tokenizer, vocabulary=vocabulary),
        model=config.model | {"preset": config.model.get("preset") or chosen_preset(pairs)},
        train=own,
    )


def _sources(corpus: Corpus) -> list[dict[str, Any]]:
    return [_source(file, part) for file, part in zip(corpus.files, corpus.parts, strict=True)]


def _source(file: Path, part: Part) -> dict[str, Any]:
    """A file with the weight and the tag of the part it is, or is a translation of."""
    tag = {"tag": part.mark} if part.mark else {}
    weight = {"weight": part.weight} if part.weight != 1 else {}
    return {"path": str(file), **weight, **tag}


def _translations(
    config: RunConfig,
    corpus: Corpus,
    teacher: Path,
    way: str,
    translator: Translators,
    watch: Watch,
) -> list[dict[str, Any]]:
    """Sources of D with one side translated by a teacher, made where they are not there yet."""
    made = sha256(teacher / "model.safetensors")[:12]
    found = []
    for original, part in zip(corpus.files, corpus.parts, strict=True):
        file = teacher.with_name(f"{teacher.name}.{way}.{original.stem}.{made}.jsonl")
        if not file.is_file():
            watch(Note(f"{teacher.name} translates the {len(part.rows):,} pairs {way}"))
            language = None
            if config.data.both_ways and part.languages:
                language = part.languages[1 if way == "forward" else 0]
            begun = time.monotonic()
            with Interrupts() as interrupts:
                each = _in_chunks(translator(teacher, language), interrupts)
                write_pairs(file, _translated(part.rows, way, each))
            line = {"file": file.name, "seconds": round(time.monotonic() - begun, 3)}
            with (teacher.parent / "timing.jsonl").open("a", encoding="utf-8") as timing:
                timing.write(json.dumps(line) + "\n")
        found.append(_source(file, part))
    return found


def _in_chunks(
    translate: Translate, interrupts: Interrupts
) -> Callable[[list[str]], Iterator[str]]:
    """A function that translates texts in chunks, and stops at a signal."""

    def translations(texts: list[str]) -> Iterator[str]:
        for begin in range(0, len(texts), CHUNK):
            with interrupts.breakable():
                outputs = translate(texts[begin : begin + CHUNK])
            yield from outputs

    return translations


def _translated(rows: Rows, way: str, each: Callable[[list[str]], Iterator[str]]) -> Rows:
    """(x, forward(x)) or (backward(y), y); pairs already in D, and empty ones, are left out."""
    side = 0 if way == "forward" else 1
    texts = list(dict.fromkeys(row[side] for row in rows))
    outputs = (" ".join(output.split()) for output in each(texts))
    made = zip(texts, outputs, strict=True)
    pairs = [(x, y) for x, y in made] if way == "forward" else [(x, y) for y, x in made]
    known = set(rows)
    return [pair for pair in pairs if all(pair) and pair not in known]


def _direction(corpus: Corpus, way: str) -> str:
    languages = corpus.parts[0].languages
    if languages is None:
        return "source → target" if way == "forward" else "target → source"
    return " → ".join(languages if way == "forward" else languages[::-1])


def _quiet(watch: Watch) -> Watch:
    """A listener that leaves out a teacher's notes about files, which are the run's own."""

    def passed(event: Event) -> None:
        if not isinstance(event, Note) or event.warning:
            watch(event)

    return passed


def _lines(file: Path) -> int:
    with file.open("rb") as opened:
        return sum(1 for _ in opened)
