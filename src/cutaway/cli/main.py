"""`cutaway`: the verbs in the order of the data's journey, and one line for every error."""

import os
import sys
from typing import Annotated

import typer

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
from cutaway.cli.prove import prove
from cutaway.cli.serve import serve
from cutaway.cli.train import train
from cutaway.cli.translate import translate
from cutaway.errors import CutawayError
from cutaway.version import __version__

app = typer.Typer(
    name="cutaway",
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
app.command()(demo)
app.command()(train)
app.command()(translate)
app.command()(generate)
app.command()(fill)
app.command()(classify)
app.command()(evaluate)
app.command()(export)
app.command()(lesson)
app.command()(explain)
app.command()(prove)
app.command()(diff)
app.command()(serve)


def main() -> None:
    """Run the command line; what a user can cause becomes one line on stderr and exit status 2."""
    try:
        app(prog_name="cutaway")
    except CutawayError as error:
        typer.echo(f"cutaway: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # `cutaway … | head`: the reader left, which is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:  # a path that cannot be read or written, a full disk
        about = f"{error.filename}: " if error.filename else ""
        typer.echo(
            f"cutaway: {about}{error.strerror or error}; give a path that can be read or written, "
            f"with room on its disk",
            err=True,
        )
        sys.exit(2)
