"""Translate a file in chunks, with a progress bar; an interrupted call is resumed."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.errors import DataError, InputError
from cutaway.system.files import replace

if TYPE_CHECKING:
    from cutaway.decode import Translation, Translator

CHUNK = 2048  # lines between two writes: a second or two of work


def translate_file(
    translator: "Translator",
    folder: Path,
    source: Path,
    output: Path,
    settings: dict[str, Any],
    *,
    line: "Callable[[Translation], str]",
    form: str,
    others: Sequence[str] = (),  # further models of an ensemble
) -> None:
    """Translate every line of a file; a second call with the same arguments resumes the first.

    `line` makes a line of the output, and `form` names how: another form is another call.

    Lines go to OUTPUT.partial, the arguments of the call to OUTPUT.partial.json; the complete file
    is renamed, so OUTPUT is whole or absent.
    """
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from cutaway.cli.inputs import batches
    from cutaway.cli.outputs import is_stream, written
    from cutaway.cli.warn import Warnings

    if is_stream(output):
        number = 0
        with source.open("rb") as opened, written(output) as stream, Warnings() as warnings:
            for batch in batches(opened, str(source)):
                for translation in translator.translate(batch, **settings):
                    number += 1
                    warnings.report(translation, number)
                    stream.write(line(translation).encode())
        return
    output = Path(os.path.realpath(output))
    total, digest = examined(source)
    belongs = {
        "source": digest,
        "model": manifest_hash(folder),
        "engine": translator.engine.name,
        "with": others,
        "settings": {**settings, "form": form},
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
    with partial.open("ab") as stream, bar, Warnings() as warnings:
        task = bar.add_task("lines", total=total, completed=done)
        for chunk in _chunks(source, done):
            translations = translator.translate(chunk, **settings)
            for number, translation in enumerate(translations, start=done + 1):
                warnings.report(translation, number)
            text = "".join(line(translation) for translation in translations)
            stream.write(text.encode())
            stream.flush()
            done += len(chunk)
            bar.update(task, completed=done)
        os.fsync(stream.fileno())
    replace(partial, output)
    about.unlink()


def manifest_hash(folder: Path) -> str:
    """What tells one model folder from another: the hash of its files' hashes."""
    return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()


def examined(source: Path) -> tuple[int, str]:
    """Number of lines and SHA-256; a line that is not UTF-8 is refused before work begins."""
    from cutaway.cli.inputs import decoded, numbered

    digest = hashlib.sha256()
    number = 0
    try:
        with source.open("rb") as stream:
            for number, line in numbered(stream, str(source)):
                digest.update(line)
                decoded(line, number, str(source))
    except OSError as error:
        raise DataError(f"cannot read {source}: {error.strerror}; give a readable file") from None
    return number, digest.hexdigest()


def _lines_done(partial: Path, about: Path, belongs: dict[str, Any]) -> int:
    """The number of whole lines left by an earlier run of the same call; half a line is cut off."""
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
    from cutaway.cli.inputs import decoded, numbered

    with source.open("rb") as stream:
        rest = islice(numbered(stream, str(source)), skip, None)
        while chunk := [
            decoded(line, number, str(source)).removesuffix("\n")
            for number, line in islice(rest, CHUNK)
        ]:
            yield chunk
