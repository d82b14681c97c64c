"""`cutaway translate`: a text, standard input, a file or a .po catalogue, in order."""

import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutaway.errors import DataError, InputError

if TYPE_CHECKING:
    from cutaway.decode import Translation, Translator

TOGETHER = 64  # lines of standard input translated at once when so many are waiting


def translate(
    folder: Annotated[Path, typer.Argument(help="Model folder.")],
    text: Annotated[
        str | None,
        typer.Argument(help="Text, a text file, or a .po file; nothing or -: standard input."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here, resuming a broken run.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Target language, where the model knows several.")
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.")] = None,
    n_best: Annotated[int | None, typer.Option(help="Translations returned (--json).")] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Exponent of the length in the score.")
    ] = None,
    coverage_penalty: Annotated[
        float | None, typer.Option(help="Price of attending a source token more than once.")
    ] = None,
    min_length: Annotated[int | None, typer.Option(help="Least number of tokens.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Greatest number of tokens.")] = None,
    no_repeat: Annotated[int | None, typer.Option(help="Forbid to repeat such n-grams.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of --sample.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Of --sample: the k likeliest only.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Of --sample: this much probability.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of --sample.")] = None,
    prefix: Annotated[str, typer.Option(help="What the translation must begin with.")] = "",
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object a line: tokens, alternatives, alignment."),
    ] = False,
    rivals: Annotated[int, typer.Option(help="--json: runners-up named for each token.")] = 3,
    tree: Annotated[bool, typer.Option("--tree", help="--json: the tree of the beam.")] = False,
    engine: Annotated[str, typer.Option(help="torch or ctranslate2.")] = "torch",
) -> None:
    """Translate a text, standard input line by line, a file, or what a .po file leaves open."""
    from cutaway.cli.engines import open_translator

    changes: dict[str, Any] = {
        name: value
        for name, value in {
            "beam": beam,
            "n_best": n_best,
            "length_penalty": length_penalty,
            "coverage_penalty": coverage_penalty,
            "min_length": min_length,
            "max_length": max_length,
            "no_repeat": no_repeat,
            "sample": sample or None,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
        }.items()
        if value is not None
    }
    path = _existing_file(text)
    translator = open_translator(folder, engine)
    settings = {**changes, "language": to, "prefix": prefix}
    if as_json:
        settings |= {"rivals": rivals, "alignment": True, "tree": tree}
    if path is not None and path.suffix == ".po":
        from cutaway.cli.translate_po import translate_po

        translate_po(translator, path, output, settings)
    elif path is not None and output is not None:
        from cutaway.cli.translate_file import translate_file

        translate_file(translator, folder, path, output, settings, as_json=as_json)
    elif path is not None:
        with path.open("rb") as stream:
            _print_all(translator, _lines(stream, str(path)), settings, as_json=as_json)
    elif text is None or text == "-":
        _print_all(
            translator, _lines(sys.stdin.buffer, "standard input"), settings, as_json=as_json
        )
    else:
        (translation,) = translator.translate([text], **settings)
        tell(translation)
        result = line_of(translation, as_json=as_json) if as_json else translation.text + "\n"
        if output is None:
            sys.stdout.write(result)
        else:
            output.write_text(result, encoding="utf-8")


def _existing_file(text: str | None) -> Path | None:
    """The argument as a file, if it is one; a .po that is not there is an error, not a text."""
    if text is None or not any(letter.isalnum() for letter in text):
        return None  # nothing, or symbols alone, is a text too ("." names a folder): kept as it is
    if os.path.isfile(text):  # unlike Path.is_file, false for a text too long to be a name
        return Path(text)
    if text.endswith(".po") or os.path.isdir(text):
        raise InputError(f"{text} is no file; give a text, or the path of a text or .po file")
    return None


def line_of(translation: "Translation", *, as_json: bool) -> str:
    """One line of output; a line break inside the translation becomes a space."""
    if as_json:
        return json.dumps(translation.to_dict(), ensure_ascii=False) + "\n"
    return " ".join(translation.text.split("\n")) + "\n"


def tell(translation: "Translation", where: str = "") -> None:
    """Warnings go to standard error, so that standard output stays the translation."""
    for notice in translation.warnings:
        if notice.kind != "unchanged":
            typer.echo(f"{where}warning: {notice.message}", err=True)


def decoded(line: bytes, number: int, name: str) -> str:
    """A line of bytes as text; what is not UTF-8 is refused with its place."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}, line {number}: byte 0x{line[error.start]:02x} at column {error.start + 1} "
            f"is not UTF-8; convert it first, for example with iconv -t UTF-8"
        ) from None


def _lines(stream: Any, name: str) -> Iterator[list[str]]:
    """Lines as they come: one at a time from a slow writer, many at once from a fast one."""
    waiting: queue.Queue[bytes | None] = queue.Queue(maxsize=4 * TOGETHER)

    def read() -> None:
        for line in stream:
            waiting.put(line)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    number = 0
    line = waiting.get()
    while line is not None:
        batch: list[str] = []
        while line is not None:
            number += 1
            batch.append(decoded(line, number, name).removesuffix("\n"))
            if len(batch) == TOGETHER or waiting.empty():
                break
            line = waiting.get()
        yield batch
        if line is not None:
            line = waiting.get()


def _print_all(
    translator: "Translator",
    batches: Iterator[list[str]],
    settings: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    number = 0
    for batch in batches:
        for translation in translator.translate(batch, **settings):
            number += 1
            tell(translation, f"line {number}: ")
            sys.stdout.write(line_of(translation, as_json=as_json))
        sys.stdout.flush()
