"""`cutaway`: the commands, in the order of the data's journey, and one line for every error."""

import io
import os
import sys
from typing import Annotated, TextIO

import typer

from cutaway.cli.average import average
from cutaway.cli.classify import classify
from cutaway.cli.data import data
from cutaway.cli.demo import demo
from cutaway.cli.diff import diff
from cutaway.cli.evaluate import evaluate
from cutaway.cli.explain import explain
from cutaway.cli.export import export
from cutaway.cli.fill import fill
from cutaway.cli.generate import generate
from cutaway.cli.lesson import lesson
from cutaway.cli.once import Group, OnceCommand
from cutaway.cli.prove import prove
from cutaway.cli.serve import serve
from cutaway.cli.train import train
from cutaway.cli.translate import translate
from cutaway.config import sleep_while_waiting
from cutaway.errors import CutawayError
from cutaway.version import __version__

app = typer.Typer(
    name="cutaway",
    cls=Group,
    help="A Transformer you can train, translate with, and see through.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"cutaway {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A Transformer you can train, translate with, and see through."""


app.add_typer(data, name="data")
app.command(cls=OnceCommand)(demo)
app.command(cls=OnceCommand)(train)
app.command(cls=OnceCommand)(translate)
app.command(cls=OnceCommand)(generate)
app.command(cls=OnceCommand)(fill)
app.command(cls=OnceCommand)(classify)
app.command(cls=OnceCommand)(average)
app.command(cls=OnceCommand)(evaluate)
app.command(cls=OnceCommand)(export)
app.command(cls=OnceCommand)(lesson)
app.command(cls=OnceCommand)(explain)
app.command(cls=OnceCommand)(prove)
app.command(cls=OnceCommand)(diff)
app.command(cls=OnceCommand)(serve)


def main() -> None:
    """Run the command line; an expected error becomes one line on stderr and exit status 2."""
    sleep_while_waiting()
    in_utf8(sys.stdout)
    try:
        try:
            app(prog_name="cutaway")
        finally:
            _flush()
    except CutawayError as error:
        typer.echo(f"cutaway: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # `cutaway … | head`: the reader has closed the pipe, which is no error
        _drop_output()
        sys.exit(141)
    except OSError as error:  # a path that cannot be read or written, a full disk
        # Every file is opened by name; only what is printed fails without one.
        about = error.filename or "standard output"
        typer.echo(
            f"cutaway: {about}: {error.strerror or error}; give a path that can be read or "
            f"written, with room on its disk",
            err=True,
        )
        sys.exit(2)


def in_utf8(stream: TextIO) -> None:
    """Let a stream hold every character, whatever the locale: no text is lost for its letters.

    A file or pipe gets UTF-8, as `-o` writes. A terminal, and what PYTHONIOENCODING names, keeps
    its encoding, and characters outside it are written as \\uXXXX.
    """
    if not isinstance(stream, io.TextIOWrapper) or stream.encoding.lower().startswith("utf"):
        return
    if stream.isatty() or os.environ.get("PYTHONIOENCODING"):
        stream.reconfigure(errors="backslashreplace")
    else:
        stream.reconfigure(encoding="utf-8")


def _flush() -> None:
    """Write what is still held; a full disk is noticed only now."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        _drop_output()
        raise


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that Python ends in silence."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
