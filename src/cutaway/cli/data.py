"""`cutaway data`: look at a corpus, encode it once, write out the one inside, harvest another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cutaway.text import Tokenizer

data = typer.Typer(
    help="Look into a corpus, encode it, or get one: check, build, embedded, harvest.",
    no_args_is_help=True,
)

Pairs = list[tuple[str, str]]

Files = "Files"
Text = "Text"
Training = "Training"


def _in(panel: str, help: str, *names: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel)


Corpus = Annotated[
    list[str] | None,
    typer.Argument(help="One file with both sides, or a source file and a target file."),
]
Source = Annotated[str, _in(Files, "Source sentences, one a line; - is standard input.")]
Target = Annotated[str, _in(Files, "Their translations, line by line.")]
Both = Annotated[
    str, _in(Files, "One file with both sides: TSV, JSONL, TMX, PO, MO.", "--data", "-d")
]
Embedded = Annotated[str, _in(Files, "The package's own corpus: en-fr or en-zh.")]
Format = Annotated[str, _in(Files, "text, tsv, jsonl, tmx, po or mo; by default by the name.")]
Encoding = Annotated[str, _in(Files, "Encoding of the files; by default UTF-8.")]
Columns = Annotated[str, _in(Files, "TSV columns of source and target, counted from 1.")]
Keys = Annotated[str, _in(Files, "JSONL keys of source and target, as question,answer.")]
Languages = Annotated[str, _in(Files, "Languages of source and target in a TMX, as en,fr.")]
Given = Annotated[str, _in(Text, "A tokenizer to use instead of learning one.", "--tokenizer")]
Kind = Annotated[str, _in(Text, "bpe, unigram, word or char.")]
Vocabulary = Annotated[int, _in(Text, "Tokens to learn; 0: by the size of the corpus.")]
Separate = Annotated[bool, _in(Text, "A vocabulary for each side.", "--separate")]
Lowercase = Annotated[bool, _in(Text, "All text in lower case.", "--lowercase")]
MaxLength = Annotated[int, _in(Text, "Longest side in tokens.")]
Long = Annotated[str, _in(Text, "Longer pairs: skip, truncate or error.")]
Uncleaned = Annotated[bool, _in(Text, "Keep what the filters would remove.", "--no-clean")]


@data.command()
def check(
    corpus: Corpus = None,
    source: Source = "",
    target: Target = "",
    both: Both = "",
    embedded: Embedded = "",
    val_source: Annotated[str, _in(Files, "Validation sources.")] = "",
    val_target: Annotated[str, _in(Files, "Validation targets.")] = "",
    val_data: Annotated[str, _in(Files, "Validation file with both sides.")] = "",
    test_source: Annotated[str, _in(Files, "Test sources.")] = "",
    test_target: Annotated[str, _in(Files, "Test targets.")] = "",
    test_data: Annotated[str, _in(Files, "Test file with both sides.")] = "",
    format: Format = "",
    encoding: Encoding = "",
    columns: Columns = "1,2",
    keys: Keys = "",
    languages: Languages = "",
    html: Annotated[Path | None, _in(Files, "Also write the report as an HTML page.")] = None,
    tokenizer: Given = "",
    kind: Kind = "bpe",
    vocabulary: Vocabulary = 0,
    separate: Separate = False,
    lowercase: Lowercase = False,
    max_length: MaxLength = 256,
    long: Long = "skip",
    tokens: Annotated[int, _in(Training, "Tokens a side in a batch.")] = 4096,
    preset: Annotated[str, _in(Training, "tiny, small, base or big; by default by size.")] = "",
    epochs: Annotated[int, _in(Training, "Passes to foretell; 0: as train would choose.")] = 0,
    threads: Annotated[int, _in(Training, "CPU threads; 0: torch's own choice.")] = 0,
    probe: Annotated[
        float, _in(Training, "Seconds of real training to foretell time and memory; 0: none.")
    ] = 4.0,
) -> None:
    """Say what is in a corpus, what is wrong with it, and what training on it will cost."""
    from cutaway.cli.data_view import show
    from cutaway.corpus.check import check as examine
    from cutaway.corpus.check_page import write_page
    from cutaway.errors import InputError

    if tokens < 1 or probe < 0:
        raise InputError(f"--tokens {tokens}, --probe {probe}: expected positive numbers")
    source, target, both = _named(corpus, source, target, both)
    options = _options(format, encoding, columns, keys, languages)
    notes: list[list[str]] = [[], [], []]
    train = _read(source, target, both, embedded, "train", options, notes[0])
    validation = _read(
        val_source, val_target, val_data, embedded, "validation", options, notes[1], needed=False
    )
    test = _read(test_source, test_target, test_data, embedded, "test", options, notes[2],
                 needed=False)  # fmt: skip
    tokenizers = _tokenizers(train, tokenizer, kind, vocabulary, separate, lowercase)
    forecaster = None
    if probe:
        from cutaway.cli.data_probe import make_probe
        from cutaway.config import RunConfig

        if threads:
            import torch

            torch.set_num_threads(threads)
        forecaster = make_probe(
            RunConfig.from_tables(
                {
                    "model": {"preset": preset} if preset else {},
                    "data": {"max_length": max_length},
                    "train": {"tokens": tokens, "epochs": epochs},
                }
            ),
            probe,
        )
    report = examine(
        train,
        validation=validation,
        test=test,
        notes=notes,
        tokenizers=tokenizers,
        tokens=tokens,
        max_length=max_length,
        long=_long(long),
        probe=forecaster,
    )
    show(report)
    if html is not None:
        write_page(report, html, f"Corpus check: {source or both or embedded}")
        typer.echo(f"\nThe same as a page: {html}")


@data.command()
def build(
    out: Annotated[Path, _in(Files, "Folder to make.")],
    corpus: Corpus = None,
    source: Source = "",
    target: Target = "",
    both: Both = "",
    embedded: Embedded = "",
    format: Format = "",
    encoding: Encoding = "",
    columns: Columns = "1,2",
    keys: Keys = "",
    languages: Languages = "",
    tokenizer: Given = "",
    kind: Kind = "bpe",
    vocabulary: Vocabulary = 0,
    separate: Separate = False,
    lowercase: Lowercase = False,
    max_length: MaxLength = 256,
    long: Long = "skip",
    no_clean: Uncleaned = False,
) -> None:
    """Encode a corpus once into a memory-mapped token store, whatever its size."""
    from cutaway.corpus import Cleaner, build_store, iterate_pairs, open_store
    from cutaway.errors import DataError

    source, target, both = _named(corpus, source, target, both)
    options = _options(format, encoding, columns, keys, languages)
    notes: list[str] = []
    path = _place(source, target, both)
    if path is None:
        stream: Any = lambda notes: iter(  # noqa: E731 - one of two ways to begin anew
            _read("", "", "", embedded, "train", {}, notes)
        )
    else:
        if "-" in (source, target, both) and not tokenizer:
            raise DataError("standard input can be read once only; give --tokenizer FILE too")
        stream = lambda notes: iterate_pairs(path, notes=notes, **options)  # noqa: E731
    learnt = _tokenizers(lambda: stream([]), tokenizer, kind, vocabulary, separate, lowercase)
    cleaner = Cleaner()
    pairs = stream(notes)
    report = build_store(
        out,
        pairs if no_clean else cleaner.passing(pairs),
        *learnt,
        max_length=max_length,
        long=_long(long),
    )
    for note in notes:
        typer.echo(note)
    if not no_clean:
        _say_cleaning(cleaner.report())
    typer.echo(str(report))
    store = open_store(out)
    ids = len(store.source_tokens) + len(store.target_tokens)
    typer.echo(f"{out}: {len(store):,} pairs, {ids:,} ids; fingerprint {store.fingerprint[:16]}")


@data.command(name="embedded")
def write_embedded(
    pair: Annotated[str, typer.Argument(help="en-fr or en-zh.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("embedded"),
) -> None:
    """Write the package's own corpus to aligned files: train, validation and test."""
    from cutaway.corpus import embedded
    from cutaway.corpus.writing import write_lines

    first, _, second = pair.partition("-")
    for split in ("train", "validation", "test"):
        pairs = embedded(pair, split=split)
        for side, language in enumerate((first, second)):
            path = out / f"{split}.{language}"
            write_lines(path, (row[side] for row in pairs))
        typer.echo(f"{out / split}.{first} and .{second}: {len(pairs):,} pairs")


@data.command()
def harvest(
    language: Annotated[str, typer.Argument(help="A language code, as fr or zh_CN.")],
    out: Annotated[
        str, typer.Option(help="TSV to write (source, target, origin); - is standard output.")
    ] = "",
    root: Annotated[
        list[Path] | None, typer.Option(help="Search this folder instead of the usual ones.")
    ] = None,
) -> None:
    """Collect the translations installed on this computer into a TSV, for personal use."""
    from cutaway.corpus import harvest as collect
    from cutaway.corpus.writing import write_tsv

    notes: list[str] = []
    rows = collect(language, root, notes=notes)
    for note in notes:
        typer.echo(note, err=True)
    if out == "-":
        for row in rows:
            typer.echo(f"{row.source}\t{row.target}\t{row.origin}")
        return
    path = out or f"harvest-{language}.tsv"
    count = write_tsv(path, ((row.source, row.target, row.origin) for row in rows))
    typer.echo(f"{path}: {count:,} pairs. Mind the licences of the programs they come from.")


def _options(format: str, encoding: str, columns: str, keys: str, languages: str) -> dict[str, Any]:
    """The options of the readers, from their spelling on the command line."""
    from cutaway.errors import InputError

    def two(text: str, name: str) -> tuple[str, str]:
        first, comma, second = text.partition(",")
        if not (comma and first.strip() and second.strip()):
            raise InputError(f"--{name} {text!r}: expected two, with a comma between")
        return first.strip(), second.strip()

    places = two(columns, "columns")
    if not all(place.isdecimal() for place in places):
        raise InputError(f"--columns {columns!r}: expected two numbers from 1")
    return {
        "format": format or None,
        "encoding": encoding or None,
        "columns": (int(places[0]), int(places[1])),
        "keys": two(keys, "keys") if keys else None,
        "languages": two(languages, "languages") if languages else None,
    }


def _named(corpus: list[str] | None, source: str, target: str, both: str) -> tuple[str, str, str]:
    """Files given without an option: one is both sides, two are source and target."""
    from cutaway.errors import InputError

    if not corpus:
        return source, target, both
    if len(corpus) > 2 or source or target or both:
        raise InputError(f"{len(corpus)} files and options for files: name the corpus once")
    return ("", "", corpus[0]) if len(corpus) == 1 else (corpus[0], corpus[1], "")


def _place(source: str, target: str, both: str) -> str | tuple[str, str] | None:
    from cutaway.errors import InputError

    if bool(source) != bool(target):
        raise InputError(f"source {source!r} and target {target!r}: give both files or neither")
    if source and both:
        raise InputError("two aligned files and one file with both sides: give one or the other")
    return (source, target) if source else both or None


def _read(
    source: str,
    target: str,
    both: str,
    pair: str,
    split: str,
    options: dict[str, Any],
    notes: list[str],
    needed: bool = True,
) -> Pairs:
    from cutaway.corpus import embedded, read_pairs
    from cutaway.errors import InputError

    path = _place(source, target, both)
    if path is not None:
        return read_pairs(path, notes=notes, **options)
    if pair:
        return list(embedded(pair, split=split))
    if needed:
        raise InputError("no corpus: give --source and --target, or --data, or --embedded en-fr")
    return []


def _tokenizers(
    train: Any, given: str, kind: str, vocabulary: int, separate: bool, lowercase: bool
) -> "tuple[Tokenizer, Tokenizer | None]":
    """Learn tokenizers from pairs, or from a function that begins reading them anew."""
    from cutaway.errors import InputError
    from cutaway.text import Tokenizer

    if given:
        return Tokenizer.load(given), None
    if kind not in ("bpe", "unigram", "word", "char"):
        raise InputError(f"--kind {kind!r}: expected bpe, unigram, word or char")
    from cutaway.train.prepare import chosen_vocabulary

    begin = train if callable(train) else lambda: iter(train)
    size = vocabulary or chosen_vocabulary(sum(1 for _ in begin()))

    def learn(sides: tuple[int, ...]) -> Tokenizer:
        texts = (pair[side] for pair in begin() for side in sides)
        settings: Any = {"kind": kind, "vocabulary": size, "lowercase": lowercase}
        return Tokenizer.train(texts, **settings)

    return (learn((0,)), learn((1,))) if separate else (learn((0, 1)), None)


def _long(long: str) -> Any:
    from cutaway.errors import InputError

    if long not in ("skip", "truncate", "error"):
        raise InputError(f"--long {long!r}: expected skip, truncate or error")
    return long


def _say_cleaning(cleaning: Any) -> None:
    removed = ", ".join(f"{name} {count:,}" for name, count in cleaning.removed.items() if count)
    typer.echo(
        f"{cleaning.given:,} pairs read, {cleaning.kept:,} kept"
        + (f"; removed: {removed}" if removed else "")
    )
