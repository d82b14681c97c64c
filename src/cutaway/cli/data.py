"""`cutaway data`: check, clean, encode or write out a corpus, harvest installed translations."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.back_translate import back_translate
from cutaway.cli.data_build import build, clean
from cutaway.cli.data_options import (
    Both,
    Columns,
    Corpus,
    Embedded,
    Encoding,
    Files,
    Format,
    Given,
    Keys,
    Kind,
    Languages,
    Long,
    Lowercase,
    MaxLength,
    Separate,
    Source,
    Target,
    Training,
    Vocabulary,
    loaded,
    long_pairs,
    named,
)
from cutaway.cli.once import Group, OnceCommand
from cutaway.cli.options import given, under
from cutaway.cli.outputs import Force, check_file, is_report
from cutaway.config import DataConfig, RunConfig, given_files
from cutaway.errors import InputError

data = typer.Typer(
    cls=Group,
    help="Look into a corpus, clean it, encode it, or get one.",
    no_args_is_help=True,
)

Pairs = list[tuple[str, str]]


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
    source, target, files = named(corpus, source, target, both)
    reader = _reader(format, encoding, columns, keys, languages)
    notes: list[list[str]] = [[], [], []]
    train = list(reader(source, target, files, embedded, "train", notes[0]))
    validation = _perhaps(
        reader, val_source, val_target, val_data, embedded, "validation", notes[1]
    )
    test = _perhaps(reader, test_source, test_target, test_data, embedded, "test", notes[2])
    if tokenizer:
        tokenizers = loaded(tokenizer)
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
        long=long_pairs(config),
        probe=forecaster,
    )
    show(report)
    if html is not None:
        write_report(report, html, f"Corpus check: {source or ', '.join(files) or embedded}")
        typer.echo(f"\nThe same as a page: {html}")


data.command(cls=OnceCommand)(build)
data.command(cls=OnceCommand)(clean)


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
