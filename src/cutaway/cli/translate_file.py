"""File to file: chunk by chunk, with a progress bar, to be taken up again where it broke off."""

import hashlib
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.errors import DataError, InputError

if TYPE_CHECKING:
    from cutaway.decode import Translator

CHUNK = 256  # lines between two writes


def translate_file(
    translator: "Translator",
    folder: Path,
    source: Path,
    output: Path,
    settings: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Translate every line of a file; a second call with the same arguments resumes the first.

    Lines go to OUTPUT.partial; what they belong to stands in OUTPUT.partial.json; when all are
    there the file gets its name, so OUTPUT is whole or absent.
    """
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from cutaway.cli.translate import line_of, tell

    if output.exists() and output.samefile(source):
        raise InputError(f"output is the source file {source} itself; give another name")
    total, digest = _examined(source)
    belongs = {
        "source": digest,
        "model": hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest(),
        "engine": translator.engine.name,
        "settings": {**settings, "json": as_json},
    }
    partial = output.with_name(output.name + ".partial")
    about = output.with_name(output.name + ".partial.json")
    done = _lines_done(partial, about, belongs)
    if done:
        typer.echo(f"resuming {partial} after {done} of {total} lines", err=True)
    about.write_text(json.dumps(belongs), encoding="utf-8")
    bar = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not os.isatty(2),
    )
    with partial.open("ab") as stream, bar:
        task = bar.add_task("lines", total=total, completed=done)
        for chunk in _chunks(source, done):
            translations = translator.translate(chunk, **settings)
            for number, translation in enumerate(translations, start=done + 1):
                tell(translation, f"line {number}: ")
            text = "".join(line_of(translation, as_json=as_json) for translation in translations)
            stream.write(text.encode())
            stream.flush()
            done += len(chunk)
            bar.update(task, completed=done)
        os.fsync(stream.fileno())
    os.replace(partial, output)
    about.unlink()


def _examined(source: Path) -> tuple[int, str]:
    """Number of lines and SHA-256; a line that is not UTF-8 is refused before work begins."""
    from cutaway.cli.translate import decoded

    digest = hashlib.sha256()
    number = 0
    try:
        with source.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                digest.update(line)
                decoded(line, number, str(source))
    except OSError as error:
        raise DataError(f"cannot read {source}: {error.strerror}; give a readable file") from None
    return number, digest.hexdigest()


def _lines_done(partial: Path, about: Path, belongs: dict[str, Any]) -> int:
    """Whole lines an earlier run of the very same call has left; a half line is cut off."""
    if not partial.is_file() or not about.is_file():
        partial.unlink(missing_ok=True)
        return 0
    try:
        same = json.loads(about.read_text(encoding="utf-8")) == json.loads(json.dumps(belongs))
    except ValueError:
        same = False
    if not same:
        raise InputError(
            f"{partial} belongs to another call (other text, model or options); "
            f"remove it, or repeat that call to finish it"
        )
    lines = 0
    end = 0
    with partial.open("rb+") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                lines += 1
                end += len(line)
        stream.truncate(end)
    return lines


def _chunks(source: Path, skip: int) -> Iterator[list[str]]:
    from cutaway.cli.translate import decoded

    with source.open("rb") as stream:
        numbered = islice(enumerate(stream, start=1), skip, None)
        while chunk := [
            decoded(line, number, str(source)).removesuffix("\n")
            for number, line in islice(numbered, CHUNK)
        ]:
            yield chunk
