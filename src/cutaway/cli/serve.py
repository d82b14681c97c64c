"""`cutaway serve`: the page of a model folder on this machine."""

from pathlib import Path
from typing import Annotated

import typer


def serve(
    folder: Annotated[Path, typer.Argument(help="Model folder to serve.")],
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="Another model folder to compare with; may be given several times."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 8765,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Open the page: translate, look inside, click any number. Ends with Ctrl-C."""
    from cutaway.serve.running import serve_folder

    serve_folder(
        folder,
        beside=beside or (),
        host=host,
        port=port,
        open_browser=open_browser,
        told=lambda url: typer.echo(f"Cutaway shows {folder} at {url}  (Ctrl-C ends)"),
    )
