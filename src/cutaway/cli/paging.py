"""The page beside a training run: open from the first seconds, reading only what is on disk."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from cutaway.train.events import Event, Watch


@contextmanager
def page_beside(watch: "Watch", out: Path, port: int, *, browser: bool) -> "Iterator[Watch]":
    """`watch`, and a server in a thread of its own as soon as there is a model folder to show."""
    from cutaway.train.events import Note, Saved

    servers: list[Any] = []
    tried = False

    def both(event: "Event") -> None:
        nonlocal tried
        watch(event)
        if tried or not (isinstance(event, Saved) and event.kind == "model"):
            return
        tried = True
        try:
            server = serve_beside(out, port)
        except Exception as error:  # a page that cannot open is no reason to stop training
            watch(Note(f"the page cannot open ({error}); training goes on", warning=True))
            return
        servers.append(server)
        watch(Note(f"watch it learn at {server.url}"))
        if browser:
            import webbrowser

            webbrowser.open(server.url)

    try:
        yield both
    finally:
        for server in servers:
            server.stop()


def serve_beside(out: Path, port: int) -> Any:
    """A server for a folder whose run is under way."""
    from cutaway.decode import Translator
    from cutaway.serve import create_app
    from cutaway.serve.running import Server, bound

    listening = bound("127.0.0.1", port)
    try:
        return Server(create_app(Translator.load(out), folder=out), listening).start()
    except BaseException:
        with contextlib.suppress(OSError):
            listening.close()
        raise


def serve_after(out: Path, port: int, *, browser: bool) -> None:
    """Serve the finished model until Ctrl-C."""
    from cutaway.serve import serve_folder

    serve_folder(
        out,
        port=port,
        open_browser=browser,
        told=lambda url: typer.echo(f"\nCutaway shows {out} at {url}  (Ctrl-C ends)"),
    )
