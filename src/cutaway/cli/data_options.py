"""Options that the commands of `cutaway data` share, and how their values are read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutaway.cli.options import sets, under
from cutaway.config import DataConfig, RunConfig, one_of
from cutaway.errors import InputError

if TYPE_CHECKING:
    from cutaway.text import Tokenizer

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
Several = Annotated[
    list[str] | None,
    under(
        Files,
        "One file with both sides (TSV, JSONL, TMX, PO, MO), or several with weights: "
        "-d a.tsv:2 -d b.tmx.",
        "--data",
        "-d",
    ),
]
Settings = Annotated[
    Path | None, under(Files, "run.toml whose tables data and tokenizer are used.")
]
Reverse = Annotated[bool, sets(DataConfig, "reverse", "--reverse", panel=Files)]
SetColumns = Annotated[str, sets(DataConfig, "columns", panel=Files)]
Ray = Annotated[
    str,
    typer.Option(
        help="Work on this Ray cluster: its address, or local. Files of lines are cut into shards; "
        "the same command resumes. Needs cutaway\\[ray]."
    ),
]


def named(
    corpus: list[str] | None, source: str, target: str, both: list[str] | None
) -> tuple[str, str, list[str]]:
    """Files given without an option: one is both sides, two are source and target."""
    if not corpus:
        return source, target, both or []
    if len(corpus) > 2 or source or target or both:
        raise InputError(f"{len(corpus)} files and options for files: give the corpus once")
    return ("", "", corpus) if len(corpus) == 1 else (corpus[0], corpus[1], [])


def loaded(given: str) -> "tuple[Tokenizer, Tokenizer | None]":
    """The tokenizer of a file, or both of a model folder or store."""
    from cutaway.text import Tokenizer

    place = Path(given)
    if not place.is_dir():
        return Tokenizer.load(place), None
    target = place / "target.model"
    return Tokenizer.load(place / "tokenizer.model"), (
        Tokenizer.load(target) if target.is_file() else None
    )


def long_pairs(config: RunConfig) -> Any:
    """What to do with pairs that are too long; pairs cannot be split."""
    long = "skip" if config.data.long == "auto" else config.data.long
    one_of("--long", long, ("skip", "truncate", "error"))
    return long
