"""`cutaway data build` and `cutaway data clean`: a corpus encoded, or written out filtered."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutaway.cli.data_options import (
    Both,
    Corpus,
    Embedded,
    Encoding,
    Files,
    Format,
    Given,
    Keys,
    Languages,
    Lowercase,
    Ray,
    Reverse,
    Separate,
    SetColumns,
    Settings,
    Several,
    Source,
    Target,
    Text,
    Uncleaned,
    loaded,
    long_pairs,
    named,
)
from cutaway.cli.options import given, sets, under
from cutaway.cli.outputs import Force, check_file, check_folder
from cutaway.cli.train import run_config
from cutaway.config import DataConfig, TokenizerConfig, given_files
from cutaway.errors import ConfigError, DataError

if TYPE_CHECKING:
    from cutaway.cli.data_shards import CorpusShards
    from cutaway.corpus import Stream
    from cutaway.text import Tokenizer


def build(
    out: Annotated[Path, under(Files, "Folder to make.")],
    corpus: Corpus = None,
    source: Source = "",
    target: Target = "",
    both: Several = None,
    embedded: Embedded = "",
    format: Format = "",
    encoding: Encoding = "",
    columns: SetColumns = "",
    keys: Keys = "",
    languages: Languages = "",
    reverse: Reverse = False,
    both_ways: Annotated[bool, sets(DataConfig, "both_ways", "--both-ways", panel=Files)] = False,
    config: Settings = None,
    tokenizer: Given = "",
    kind: Annotated[str, under(Text, "bpe (by default), unigram, word or char.")] = "",
    vocabulary: Annotated[int | None, sets(TokenizerConfig, "vocabulary", panel=Text)] = None,
    separate: Separate = False,
    lowercase: Lowercase = False,
    max_length: Annotated[int | None, sets(DataConfig, "max_length", panel=Text)] = None,
    long: Annotated[str, under(Text, "Longer pairs: skip (by default), truncate or error.")] = "",
    no_clean: Uncleaned = False,
    ray: Ray = "",
) -> None:
    """Encode a corpus once into a memory-mapped token store; memory does not grow with it."""
    from cutaway.corpus import build_store, open_store, store_parts
    from cutaway.corpus.opening import open_parts
    from cutaway.corpus.parts import require_tags
    from cutaway.corpus.store import HEADER, read_header
    from cutaway.training.prepare import learn_tokenizers
    from cutaway.training.rows import given_validation, in_directions

    check_folder(out, "--out", ours=lambda folder: (folder / HEADER).is_file())
    tables: dict[str, dict[str, Any]] = {
        "data": _tables(
            *named(corpus, source, target, both), languages, no_clean,
            embedded=embedded, format=format, encoding=encoding, columns=columns, keys=keys,
            reverse=reverse, both_ways=both_ways, max_length=max_length, long=long,
        ),
        "tokenizer": given(kind=kind, vocabulary=vocabulary, lowercase=lowercase)
        | ({"joint": False} if separate else {}),
    }  # fmt: skip
    settings = run_config(config, tables, [])
    asked = settings.data
    if asked.store or settings.train.task != "translate":
        raise ConfigError(
            "a store is built of pairs from files; leave data.store and train.task out"
        )
    notes: list[str] = []
    shards = _shards(ray, out, asked, tokenizer, asdict(settings.tokenizer), settings.train.seed)
    whole = open_parts(asked, notes, shards.origins() if shards else None)
    held = given_validation(settings, whole, []) if asked.both_ways else []
    parts = in_directions(settings, whole, held, notes)
    if _reads_standard_input(asked) and (asked.both_ways or not tokenizer):
        raise DataError(
            "standard input can be read once only; give --tokenizer FILE, and no --both-ways"
        )
    known = loaded(tokenizer) if tokenizer else None
    if known:
        require_tags(parts, known[0])

    def learn(parts: "Sequence[Stream]") -> "tuple[Tokenizer, Tokenizer | None]":
        return learn_tokenizers(settings.tokenizer, parts, settings.train.seed)

    limits: Any = {"max_length": asked.max_length, "long": long_pairs(settings)}
    if shards:
        tokenizers = shards.tokenizers(parts, known, learn, notes)
    else:
        tokenizers = known or learn(parts)
    encoded = shards.encoded(parts, tokenizers[0], **limits) if shards else None
    report = build_store(out, parts, *tokenizers, **limits, reverse=asked.reverse, encoded=encoded)
    if shards:
        shards.remove()
    for note in dict.fromkeys(notes):  # each pass over the files says the same
        typer.echo(note)
    typer.echo(str(report))
    store = open_store(out)
    for count, part in store_parts(out):
        typer.echo(f"{count:,} pairs{f': {part}' if str(part) else ''}")
    ids = len(store.source_tokens) + len(store.target_tokens)
    name = read_header(out)["fingerprint"][:16]
    typer.echo(f"{out}: {len(store):,} pairs, {ids:,} ids; fingerprint {name}")


def clean(
    out: Annotated[Path, under(Files, "TSV or JSONL file to write: NAME.tsv or NAME.jsonl.")],
    corpus: Corpus = None,
    source: Source = "",
    target: Target = "",
    both: Both = None,
    embedded: Embedded = "",
    format: Format = "",
    encoding: Encoding = "",
    columns: SetColumns = "",
    keys: Keys = "",
    languages: Languages = "",
    reverse: Reverse = False,
    config: Annotated[
        Path | None, under(Files, "run.toml whose table data, with filters, is used.")
    ] = None,
    no_clean: Annotated[
        bool,
        under(Text, "Keep what the filters would remove: write the corpus as it is.", "--no-clean"),
    ] = False,
    ray: Ray = "",
    force: Force = False,
) -> None:
    """Write the pairs that the filters keep, each once, to a file, and say what was removed."""
    from cutaway.corpus.opening import open_parts
    from cutaway.corpus.writing import pairs_format, write_pairs

    pairs_format(out)
    check_file(out, "--out", force=force)
    tables = _tables(
        *named(corpus, source, target, both), languages, no_clean,
        embedded=embedded, format=format, encoding=encoding, columns=columns, keys=keys,
        reverse=reverse,
    )  # fmt: skip
    asked = run_config(config, {"data": tables}, []).data
    if asked.store:
        raise ConfigError("a store has no texts to clean; give the files it was built from")
    notes: list[str] = []
    shards = _shards(ray, out, asked)
    parts = open_parts(asked, notes, shards.origins() if shards else None)
    count = write_pairs(out, chain.from_iterable(part.rows for part in parts))
    if shards:
        shards.remove()
    for note in notes:
        typer.echo(note)
    typer.echo(f"{out}: {count:,} pairs")


def _tables(
    source: str, target: str, files: list[str], languages: str, no_clean: bool, **options: Any
) -> dict[str, Any]:
    """The options for files as settings of [data], without those that were not given."""
    from cutaway.corpus.opening import languages_of

    first, second = languages_of(languages) if languages else ("", "")
    said = given(
        source=source, target=target, **given_files(files), source_language=first,
        target_language=second, **options,
    )  # fmt: skip
    return said | ({"clean": False} if no_clean else {})


def _shards(
    ray: str, out: Path, data: DataConfig, tokenizer: str = "", *settings: Any
) -> "CorpusShards | None":
    """The shards of a call on a Ray cluster; None if none is asked for."""
    if not ray:
        return None
    from cutaway.cli.data_shards import CorpusShards, on_ray

    known = loaded(tokenizer) if tokenizer else ()
    prints = [one.fingerprint for one in known if one]
    return CorpusShards(out, data, [*settings, *prints], on_ray(ray))


def _reads_standard_input(data: DataConfig) -> bool:
    sources = data.each_source()
    files = {data.source, data.target, data.data}
    return "-" in files.union(*((one.path, one.target) for one in sources))
