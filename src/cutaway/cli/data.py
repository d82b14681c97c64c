"""`cutaway data`: check, encode or write out a corpus, harvest installed translations."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutaway.cli.back_translate import back_translate
from cutaway.cli.once import Group, OnceCommand
from cutaway.cli.options import given, sets, under
from cutaway.cli.outputs import Force, check_file, check_folder, is_report
from cutaway.cli.train import run_config
from cutaway.config import DataConfig, RunConfig, TokenizerConfig, given_files, one_of
from cutaway.errors import ConfigError, DataError, InputError

if TYPE_CHECKING:
    from cutaway.text import Tokenizer

data = typer.Typer(
    cls=Group,
    help="Look into a corpus, encode it, or get one.",
    no_args_is_help=True,
)

Pairs = list[tuple[str, str]]

Files = "Files"
Text = "Text"
Training = "Training"


Corpus = Annotated[
    list[str] | None,
    typer.Argument(help="One file with both sides, or a source file and a target file."),
]
Source = Annotated[str, under(Files, "Source sentences, one per line; - is standard input.")]
Target = Annotated[str, under(Files, "Their translations, line by line.")]
Both = Annotated[
    list[str] | None,
    under(
        Files,
        "One file with both sides (TSV, JSONL, TMX, PO, MO), or several: -d a.tsv -d b.tmx.",
        "--data",
        "-d",
    ),
]
Embedded = Annotated[str, under(Files, "The package's own corpus: en-fr or en-zh.")]
Format = Annotated[str, under(Files, "text, tsv, jsonl, tmx, po or mo; by default by the name.")]
Encoding = Annotated[str, under(Files, "Encoding of the files; by default UTF-8.")]
Columns = Annotated[str, under(Files, "TSV columns of source and target, counted from 1.")]
Keys = Annotated[str, under(Files, "JSONL keys of source and target, as question,answer.")]
Languages = Annotated[
    str, under(Files, "Source and target language, as en-de: which sides of a TMX are read.")
]
Given = Annotated[
    str,
    under(Text, "A tokenizer, or a folder with one, to use instead of learning.", "--tokenizer"),
]
Kind = Annotated[str, under(Text, "bpe, unigram, word or char.")]
Vocabulary = Annotated[int, under(Text, "Tokens to learn; 0: by the size of the corpus.")]
Separate = Annotated[bool, under(Text, "A vocabulary for each side.", "--separate")]
Lowercase = Annotated[bool, under(Text, "All text in lower case.", "--lowercase")]
MaxLength = Annotated[int, under(Text, "Longest side in tokens.")]
Long = Annotated[str, under(Text, "Longer pairs: skip, truncate or error.")]
Uncleaned = Annotated[bool, under(Text, "Keep what the filters would remove.", "--no-clean")]


@data.command(cls=OnceCommand)
def check(
    corpus: Corpus = None,
    source: Source = "",
    target: Target = "",
    both: Both = None,
    embedded: Embedded = "",
    val_source: Annotated[str, under(Files, "Validation sources.")] = "",
    val_target: Annotated[str, under(Files, "Validation targets.")] = "",
    val_data: Annotated[str, under(Files, "Validation file with both sides.")] = "",
    test_source: Annotated[str, under(Files, "Test sources.")] = "",
    test_target: Annotated[str, under(Files, "Test targets.")] = "",
    test_data: Annotated[str, under(Files, "Test file with both sides.")] = "",
    format: Format = "",
    encoding: Encoding = "",
    columns: Columns = "1,2",
    keys: Keys = "",
    languages: Languages = "",
    html: Annotated[Path | None, under(Files, "Also write the report as an HTML page.")] = None,
    tokenizer: Given = "",
    kind: Kind = "bpe",
    vocabulary: Vocabulary = 0,
    separate: Separate = False,
    lowercase: Lowercase = False,
    max_length: MaxLength = 256,
    long: Long = "skip",
    tokens: Annotated[int, under(Training, "Most tokens per side in a batch.")] = 4096,
    preset: Annotated[str, under(Training, "tiny, small, base or big; by default by size.")] = "",
    epochs: Annotated[int, under(Training, "Passes to estimate; 0: as train would choose.")] = 0,
    threads: Annotated[int, under(Training, "CPU threads; 0: torch's own choice.")] = 0,
    probe: Annotated[
        float, under(Training, "Seconds of real training to estimate time and memory; 0: none.")
    ] = 4.0,
    force: Force = False,
) -> None:
    """Report what a corpus holds, what is wrong with it, and what training on it will cost."""
    from cutaway.cli.data_view import show
    from cutaway.corpus import Part, clean
    from cutaway.corpus.check import check as examine
    from cutaway.corpus.check_report import write_report
    from cutaway.training.prepare import learn_tokenizers
    from cutaway.training.rows import set_aside

    if html is not None:
        check_file(html, "--html", force=force, ours=is_report)
    if probe < 0:
        raise InputError(f"--probe is {probe}; expected seconds, or 0 for no probe")
    config = RunConfig.from_tables(
        {
            "data": {"max_length": max_length, "long": long},
            "tokenizer": {
                "kind": kind,
                "vocabulary": vocabulary,
                "joint": not separate,
                "lowercase": lowercase,
            },
            "model": given(preset=preset),
            "train": {"tokens": tokens, "epochs": epochs},
        }
    )
    source, target, files = _named(corpus, source, target, both)
    reader = _reader(format, encoding, columns, keys, languages)
    notes: list[list[str]] = [[], [], []]
    train = list(reader(source, target, files, embedded, "train", notes[0]))
    validation = _perhaps(
        reader, val_source, val_target, val_data, embedded, "validation", notes[1]
    )
    test = _perhaps(reader, test_source, test_target, test_data, embedded, "test", notes[2])
    if tokenizer:
        tokenizers = _loaded(tokenizer)
    else:
        rows, cleaning = clean(train)
        cleaning.require_some()
        if not validation:
            rows, _ = set_aside(rows, config.data.holdout, config.train.seed)
        tokenizers = learn_tokenizers(config.tokenizer, [Part(rows)], config.train.seed)
    forecaster = None
    if probe:
        from cutaway.training.probe import make_probe

        if threads:
            import torch

            torch.set_num_threads(threads)
        forecaster = make_probe(config, probe)
    report = examine(
        train,
        validation=validation,
        test=test,
        notes=notes,
        tokenizers=tokenizers,
        tokens=tokens,
        max_length=max_length,
        long=_long(config),
        probe=forecaster,
    )
    show(report)
    if html is not None:
        write_report(report, html, f"Corpus check: {source or ', '.join(files) or embedded}")
        typer.echo(f"\nThe same as a page: {html}")


@data.command(cls=OnceCommand)
def build(
    out: Annotated[Path, under(Files, "Folder to make.")],
    corpus: Corpus = None,
    source: Source = "",
    target: Target = "",
    both: Annotated[
        list[str] | None,
        under(
            Files,
            "One file with both sides (TSV, JSONL, TMX, PO, MO), or several with weights: "
            "-d a.tsv:2 -d b.tmx.",
            "--data",
            "-d",
        ),
    ] = None,
    embedded: Embedded = "",
    format: Format = "",
    encoding: Encoding = "",
    columns: Annotated[str, sets(DataConfig, "columns", panel=Files)] = "",
    keys: Keys = "",
    languages: Languages = "",
    reverse: Annotated[bool, sets(DataConfig, "reverse", "--reverse", panel=Files)] = False,
    both_ways: Annotated[bool, sets(DataConfig, "both_ways", "--both-ways", panel=Files)] = False,
    config: Annotated[
        Path | None, under(Files, "run.toml whose tables data and tokenizer are used.")
    ] = None,
    tokenizer: Given = "",
    kind: Annotated[str, under(Text, "bpe (by default), unigram, word or char.")] = "",
    vocabulary: Annotated[int | None, sets(TokenizerConfig, "vocabulary", panel=Text)] = None,
    separate: Separate = False,
    lowercase: Lowercase = False,
    max_length: Annotated[int | None, sets(DataConfig, "max_length", panel=Text)] = None,
    long: Annotated[str, under(Text, "Longer pairs: skip (by default), truncate or error.")] = "",
    no_clean: Uncleaned = False,
) -> None:
    """Encode a corpus once into a memory-mapped token store; memory does not grow with it."""
    from cutaway.corpus import build_store, open_store, store_parts
    from cutaway.corpus.opening import languages_of, open_parts
    from cutaway.corpus.parts import require_tags
    from cutaway.corpus.store import HEADER, read_header
    from cutaway.training.prepare import learn_tokenizers
    from cutaway.training.rows import given_validation, in_directions

    check_folder(out, "--out", ours=lambda folder: (folder / HEADER).is_file())
    source, target, files = _named(corpus, source, target, both)
    first, second = languages_of(languages) if languages else ("", "")
    tables: dict[str, dict[str, Any]] = {
        "data": given(
            source=source, target=target, embedded=embedded, **given_files(files),
            format=format, encoding=encoding, columns=columns, keys=keys,
            source_language=first, target_language=second, reverse=reverse, both_ways=both_ways,
            max_length=max_length, long=long,
        ) | ({"clean": False} if no_clean else {}),
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
    whole = open_parts(asked, notes)
    held = given_validation(settings, whole, []) if asked.both_ways else []
    parts = in_directions(settings, whole, held, notes)
    if _reads_standard_input(asked) and (asked.both_ways or not tokenizer):
        raise DataError(
            "standard input can be read once only; give --tokenizer FILE, and no --both-ways"
        )
    if tokenizer:
        tokenizers = _loaded(tokenizer)
        require_tags(parts, tokenizers[0])
    else:
        tokenizers = learn_tokenizers(settings.tokenizer, parts, settings.train.seed)
    report = build_store(
        out,
        parts,
        *tokenizers,
        max_length=asked.max_length,
        long=_long(settings),
        reverse=asked.reverse,
    )
    for note in dict.fromkeys(notes):  # each pass over the files says the same
        typer.echo(note)
    typer.echo(str(report))
    store = open_store(out)
    for count, part in store_parts(out):
        typer.echo(f"{count:,} pairs{f': {part}' if str(part) else ''}")
    ids = len(store.source_tokens) + len(store.target_tokens)
    name = read_header(out)["fingerprint"][:16]
    typer.echo(f"{out}: {len(store):,} pairs, {ids:,} ids; fingerprint {name}")


@data.command(name="embedded", cls=OnceCommand)
def write_embedded(
    pair: Annotated[str, typer.Argument(help="en-fr or en-zh.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("embedded"),
    force: Force = False,
) -> None:
    """Write the package's own corpus to aligned files: train, validation and test."""
    from cutaway.corpus import embedded
    from cutaway.corpus.writing import write_lines

    first, _, second = pair.partition("-")
    corpus = {split: embedded(pair, split=split) for split in ("train", "validation", "test")}
    files = {
        out / f"{split}.{language}": [row[side] for row in pairs]
        for split, pairs in corpus.items()
        for side, language in enumerate((first, second))
    }
    out.mkdir(parents=True, exist_ok=True)
    for path, lines in files.items():
        text = "".join(f"{line}\n" for line in lines).encode()
        check_file(path, "--out", force=force, ours=lambda file: file.read_bytes() == text)  # noqa: B023
    for split, pairs in corpus.items():
        for language in (first, second):
            path = out / f"{split}.{language}"
            write_lines(path, files[path])
        typer.echo(f"{out / split}.{first} and .{second}: {len(pairs):,} pairs")


@data.command(cls=OnceCommand)
def harvest(
    language: Annotated[str, typer.Argument(help="A language code, as fr or zh_CN.")],
    out: Annotated[
        str, typer.Option(help="TSV to write (source, target, origin); - is standard output.")
    ] = "",
    root: Annotated[
        list[Path] | None, typer.Option(help="Search this folder instead of the usual ones.")
    ] = None,
    force: Force = False,
) -> None:
    """Collect the translations installed on this computer into a TSV, for personal use."""
    from cutaway.corpus import harvest as collect
    from cutaway.corpus.writing import write_tsv

    path = out or f"harvest-{language}.tsv"
    if out != "-":
        check_file(Path(path), "--out", force=force)
    notes: list[str] = []
    rows = collect(language, root, notes=notes)
    for note in notes:
        typer.echo(note, err=True)
    if out == "-":
        for row in rows:
            typer.echo(f"{row.source}\t{row.target}\t{row.origin}")
        return
    count = write_tsv(path, ((row.source, row.target, row.origin) for row in rows))
    typer.echo(f"{path}: {count:,} pairs. Mind the licences of the programs they come from.")


data.command(name="back-translate", cls=OnceCommand)(back_translate)


Reader = Callable[[str, str, list[str], str, str, list[str]], Iterator[tuple[str, str]]]


def _reader(format: str, encoding: str, columns: str, keys: str, languages: str) -> Reader:
    """How pairs are read with these options: from files or the package's corpus, of a split."""
    from cutaway.corpus.opening import languages_of, open_pairs

    first, second = languages_of(languages) if languages else ("", "")

    def read(
        source: str, target: str, both: list[str], embedded: str, split: str, notes: list[str]
    ) -> Iterator[tuple[str, str]]:
        settings = DataConfig(
            source=source, target=target, embedded=embedded, format=format,
            encoding=encoding, columns=columns, keys=keys,
            source_language=first, target_language=second, **given_files(both),
        )  # fmt: skip
        return open_pairs(settings, split, notes)

    return read


def _perhaps(
    read: Reader, source: str, target: str, both: str, embedded: str, split: str, notes: list[str]
) -> Pairs:
    """The pairs of an optional split; empty if it is not given."""
    if source or target or both:
        return list(read(source, target, [both] if both else [], "", split, notes))
    return list(read("", "", [], embedded, split, notes)) if embedded else []


def _named(
    corpus: list[str] | None, source: str, target: str, both: list[str] | None
) -> tuple[str, str, list[str]]:
    """Files given without an option: one is both sides, two are source and target."""
    if not corpus:
        return source, target, both or []
    if len(corpus) > 2 or source or target or both:
        raise InputError(f"{len(corpus)} files and options for files: give the corpus once")
    return ("", "", corpus) if len(corpus) == 1 else (corpus[0], corpus[1], [])


def _reads_standard_input(data: DataConfig) -> bool:
    sources = data.each_source()
    files = {data.source, data.target, data.data}
    return "-" in files.union(*((one.path, one.target) for one in sources))


def _loaded(given: str) -> "tuple[Tokenizer, Tokenizer | None]":
    """The tokenizer of a file, or both of a model folder or store."""
    from cutaway.text import Tokenizer

    place = Path(given)
    if not place.is_dir():
        return Tokenizer.load(place), None
    target = place / "target.model"
    return Tokenizer.load(place / "tokenizer.model"), (
        Tokenizer.load(target) if target.is_file() else None
    )


def _long(config: RunConfig) -> Any:
    """What to do with pairs that are too long; pairs cannot be split."""
    long = "skip" if config.data.long == "auto" else config.data.long
    one_of("--long", long, ("skip", "truncate", "error"))
    return long
