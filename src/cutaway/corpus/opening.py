"""Open a corpus by its settings, in the same way for train, data check and data build.

Files, format, encoding, columns, keys and languages come from `DataConfig`. A note
names what was read as source and as target, with the first pair, so that a wrong direction shows.
"""

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, islice
from typing import Any, Protocol

from cutaway.config import DataConfig, SourceConfig, one_of
from cutaway.corpus.cleaning import Cleaner, Filters, Judged
from cutaway.corpus.embedded import embedded
from cutaway.corpus.files import Path, label
from cutaway.corpus.parts import Anew, Stream, swapped
from cutaway.corpus.reading import iterate_pairs
from cutaway.corpus.transforms import augmented, transformed
from cutaway.errors import InputError

FIRST_PAIR = "the first pair: "  # begins the only note that quotes the corpus
SHOWN = 60  # characters of a sentence in the note on the first pair


def languages_of(text: str) -> tuple[str, str]:
    """Source and target language of "en-de", "en,de" or "en-GB,de"."""
    parts = [part.strip() for part in re.split("," if "," in text else "-", text)]
    if len(parts) != 2 or not all(re.fullmatch(r"[A-Za-z]+([-_][A-Za-z0-9]+)*", p) for p in parts):
        raise InputError(f"languages {text!r}: expected source and target, as en-de or en-GB,de")
    return parts[0], parts[1]


def two(text: str, name: str) -> tuple[str, str]:
    """Two words with a comma between."""
    first, comma, second = (part.strip() for part in text.partition(","))
    if not (comma and first and second):
        raise InputError(f"{name} {text!r}: expected two, with a comma between")
    return first, second


def options(data: DataConfig) -> dict[str, Any]:
    """The arguments of the readers."""
    places = two(data.columns, "columns")
    if not all(place.isdecimal() for place in places):
        raise InputError(f"columns {data.columns!r}: expected two numbers from 1")
    languages = (data.source_language, data.target_language)
    return {
        "format": data.format or None,
        "encoding": data.encoding or None,
        "columns": (int(places[0]), int(places[1])),
        "keys": two(data.keys, "keys") if data.keys else None,
        "languages": languages if all(languages) else None,
    }


def place(data: DataConfig) -> Path | tuple[Path, Path] | None:
    """The file or the two files that hold the pairs; None for the package's own corpus."""
    given = [
        data.source and "--source",
        (data.data or data.sources) and "--data",
        data.embedded and "--embedded",
    ]
    named = [name for name in given if name]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: one corpus at a time; give one of them")
    return (data.source, data.target) if data.source else data.data or None


def of_split(data: DataConfig, split: str) -> DataConfig:
    """The settings with the files of "train" or "validation" as the files to read."""
    if split == "train":
        return data
    own = bool(data.val_source or data.val_data)
    return replace(
        data,
        source=data.val_source,
        target=data.val_target,
        data=data.val_data,
        embedded="" if own else data.embedded,
        sources=(),
    )


def direction(data: DataConfig) -> tuple[str, str] | None:
    """Source and target language of the pairs as they are trained on, where known."""
    languages = (data.source_language, data.target_language)
    if not all(languages) and data.embedded:
        first, _, second = data.embedded.partition("-")
        languages = (first, second)
    if not all(languages):
        return None
    return languages[::-1] if data.reverse else languages


def open_pairs(
    data: DataConfig, split: str = "train", notes: list[str] | None = None
) -> Iterator[tuple[str, str]]:
    """(source, target) of a corpus, one at a time; messages for the user go to `notes`."""
    notes = [] if notes is None else notes
    path = place(data)
    if data.sources:
        return chain.from_iterable(part.rows for part in open_parts(data, notes))
    if path is None:
        if not data.embedded:
            raise InputError("no corpus: give --source and --target, or --data, or --embedded")
        inside = iter(embedded(data.embedded, split))
        return swapped(inside) if data.reverse else inside
    pairs = iterate_pairs(path, notes=notes, **options(data))
    pairs = swapped(pairs) if data.reverse else pairs
    first = next(pairs)
    notes += first_notes(data, first)
    return chain([first], pairs)


def first_notes(data: DataConfig, first: tuple[str, str]) -> list[str]:
    """What was read as source and as target, and the first pair."""
    return [
        described(data) + (", reversed" if data.reverse else ""),
        f"{FIRST_PAIR}{cut(first[0])} → {cut(first[1])}",
    ]


class Origin(Protocol):
    """Where the pairs of a source come from, with what the filters say of each alone."""

    def judged(self, notes: list[str]) -> Iterator[Judged]:
        """The pairs from the beginning."""
        ...

    def count(self) -> int:
        """Their number."""
        ...


@dataclass(frozen=True)
class Recipe:
    """What is done to each pair of a source alone, whoever does it: read, transform, judge."""

    settings: DataConfig
    filters: Filters
    transforms: tuple[str, ...] = ()

    def judged(self, notes: list[str]) -> Iterator[Judged]:
        """The pairs of the files, read now."""
        return self.judge(open_pairs(self.settings, "train", notes))

    def judge(self, pairs: Iterator[tuple[str, str]]) -> Iterator[Judged]:
        """Pairs as read, transformed and judged."""
        return Cleaner(self.filters).judged(transformed(pairs, self.transforms))

    def count(self) -> int:
        """The pairs in the files."""
        return sum(1 for _ in open_pairs(self.settings, "train"))


def recipes(data: DataConfig) -> list[Recipe]:
    """The recipe of every source, or of the whole."""
    if not data.sources:
        return [Recipe(data, filters_of({}, data.clean))]
    return [
        Recipe(
            settings_of(data, source),
            filters_of(source.filters, data.clean),
            tuple(source.transforms),
        )
        for source in data.each_source()
    ]


def open_parts(
    data: DataConfig, notes: list[str], origins: Sequence[Origin] | None = None
) -> list[Stream]:
    """The cleaned parts of a corpus, each read when it is asked for: every source, or the whole.

    `origins`, one for each part, have read and judged the pairs already.
    """
    made = recipes(data)
    origins = made if origins is None else origins
    if not data.sources:
        begin = partial(_cleaned, made[0], origins[0], notes)
        return [Stream(Anew(begin), direction(data))]
    return [
        Stream(
            Anew(partial(_open_source, source, recipe, origin, notes)),
            direction(recipe.settings),
            source.tag,
            source.weight,
        )
        for source, recipe, origin in zip(data.each_source(), made, origins, strict=True)
    ]


def _cleaned(recipe: Recipe, origin: Origin, notes: list[str]) -> Iterator[tuple[str, str]]:
    """The pairs of one corpus that the filters keep."""
    cleaner = Cleaner(recipe.filters)
    yield from cleaner.counted(origin.judged(notes))
    cleaner.report().require_some()
    notes.append(str(cleaner.report()))


def settings_of(data: DataConfig, source: SourceConfig, *, validation: bool = False) -> DataConfig:
    """One of several sources, or its validation file, as the settings of a corpus of its own."""
    first, second = languages_of(source.languages) if source.languages else ("", "")
    path = source.val if validation else source.path
    two_files = bool(source.target) and not validation
    return replace(
        data,
        sources=(),
        source=path if two_files else "",
        target=source.target if two_files else "",
        data="" if two_files else path,
        embedded=source.embedded if not path else "",
        source_language=first or data.source_language,
        target_language=second or data.target_language,
        reverse=source.reverse != data.reverse,
        **{
            name: getattr(source, name) or getattr(data, name)
            for name in ("format", "encoding", "columns", "keys")
        },
    )


def _open_source(
    source: SourceConfig, recipe: Recipe, origin: Origin, notes: list[str]
) -> Iterator[tuple[str, str]]:
    """The pairs of one source, transformed, filtered, limited and augmented as it declares."""
    judged = origin.judged(notes)
    if source.embedded:
        notes.append(f"the package's corpus {source.embedded}")
    if source.top < 100:
        judged = islice(judged, math.ceil(origin.count() * source.top / 100))
    cleaner = Cleaner(recipe.filters)
    kept = cleaner.counted(judged)
    added = 0
    taken = islice(kept, source.limit) if source.limit else kept
    for pair in augmented(taken, source.augment, source.seed):
        added += 1
        yield pair
    report = cleaner.report()
    report.require_some()
    facts = [str(report)]
    if added > report.kept:
        facts.append(f"{added - report.kept:,} changed copies added")
    if source.weight != 1:
        facts.append(f"weight {source.weight:g}")
    if source.tag:
        facts.append(f"tag <#{source.tag}>")
    notes.append(f"{_name(source.path) if source.path else source.embedded}: {', '.join(facts)}")


def filters_of(changes: dict[str, Any], on: bool) -> Filters:
    """The ordinary filters, or none of them, with a source's own changes."""
    names = [field.name for field in fields(Filters)]
    values: dict[str, Any] = {} if on else dict.fromkeys(names)
    for name, value in changes.items():
        one_of("filters", name, tuple(names))
        values[name] = value
    return Filters(**values)


def described(data: DataConfig) -> str:
    """Which file, column, key or language is source and which is target."""
    if data.source:
        return f"source: {_name(data.source)}, target: {_name(data.target)}"
    read = options(data)
    name = _name(data.data)
    ends = str(data.format or name.removesuffix(".gz").rpartition(".")[2]).lower()
    if ends in ("tsv", "tab"):
        return f"{name}: source column {read['columns'][0]}, target column {read['columns'][1]}"
    if ends in ("jsonl", "ndjson") and read["keys"]:
        return f"{name}: source key {read['keys'][0]}, target key {read['keys'][1]}"
    if ends in ("tmx", "jsonl", "ndjson") and read["languages"]:
        return f"{name}: source {read['languages'][0]}, target {read['languages'][1]}"
    return name


def _name(path: Path) -> str:
    """The file's name without its folders: notes appear in reports that may be shared."""
    return os.path.basename(label(path))


def cut(text: str) -> str:
    """A sentence on one line, cut where it is long."""
    text = " ".join(text.split())
    return f"“{text if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}”"
