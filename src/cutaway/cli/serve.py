"""`cutaway serve`: the page of a model folder on this machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.completion import model_folders
from cutaway.data import located
from cutaway.errors import InputError


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Model folder to serve; without one, the everyday models of the package.",
            autocompletion=model_folders,
        ),
    ] = None,
    compare: Annotated[
        list[Path] | None,
        typer.Option(
            help="Another model folder to compare with; may be given several times.",
            autocompletion=model_folders,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 8765,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Open the page: translate, look inside, click any number. Ends with Ctrl-C."""
    if folder is None and compare:
        raise InputError("--compare needs a FOLDER to compare with; en-fr is one of the package")
    serve_until_interrupted(
        located(folder) if folder else None,
        compared=compare or (),
        host=host,
        port=port,
        browser=open_browser,
    )


def serve_until_interrupted(
    folder: Path | None,
    *,
    compared: Sequence[Path] = (),
    host: str = "127.0.0.1",
    port: int,
    browser: bool,
) -> None:
    """Serve a folder's page until Ctrl-C, and print its address."""
    from cutaway.serve.listening import local
    from cutaway.serve.server import serve_folder

    if not local(host):
        typer.echo(
            f"warning: --host {host} lets other machines in: anyone with the address below can "
            f"use the model, read what is typed and see its training sentences; it is sent "
            f"unencrypted",
            err=True,
        )
    serve_folder(
        folder,
        compared=compared,
        host=host,
        port=port,
        open_browser=browser,
        announce=lambda url: typer.echo(
            f"Cutaway shows {folder or 'its everyday models'} at {url}  (Ctrl-C ends)"
        ),
    )
