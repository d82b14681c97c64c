"""A server on this machine: the page of a model folder, or of the models in the package."""

import asyncio
import contextlib
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from cutaway.decode import Translator
from cutaway.serve.listening import address, bound, names
from cutaway.serve.token import own_token, with_token

PORT = 8765


def serve_folder(
    folder: str | Path | None = None,
    *,
    compared: Sequence[str | Path] = (),
    host: str = "127.0.0.1",
    port: int = PORT,
    open_browser: bool = True,
    announce: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a model folder's page until interrupted; `announce` gets the address once it listens.

    Without a folder, the everyday models of the package. `compared` are further folders, to compare
    with the first.
    """
    from cutaway.serve.app import create_app
    from cutaway.serve.box import box_app

    listening = bound(host, port)  # before the model: a busy port is reported at once
    with contextlib.closing(listening):
        if folder is None:
            app = box_app(hosts=names(listening, host), token=own_token())
            run(app, listening, token=own_token(), open_browser=open_browser, announce=announce)
            return
        path = Path(folder)
        others = {name: Translator.load(other) for name, other in named(compared).items()}
        app = create_app(
            Translator.load(path),
            folder=path,
            compared=others,
            hosts=names(listening, host),
            token=own_token(),
            warm=True,
        )
        run(app, listening, token=own_token(), open_browser=open_browser, announce=announce)


def named(folders: Sequence[str | Path]) -> dict[str, Path]:
    """Folders by their own names; two of the same name get their whole path."""
    paths = [Path(folder) for folder in folders]
    names = [path.resolve().name for path in paths]
    return {
        name if names.count(name) == 1 else str(path): path
        for name, path in zip(names, paths, strict=True)
    }


def run(
    app: FastAPI,
    listening: socket.socket,
    *,
    token: str = "",
    open_browser: bool = False,
    announce: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve an application on a bound socket until interrupted."""
    server = Server(app, listening)
    url = with_token(server.url, token)
    announce(url)
    if open_browser:
        threading.Timer(0.5, webbrowser.open, [url]).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run()


class Server:
    """uvicorn on a given socket; `start` runs it in a thread of its own."""

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        self.url = address(listening)
        config = uvicorn.Config(app, log_level="warning", lifespan="off", server_header=False)
        self._server = uvicorn.Server(config)
        self._sockets = [listening]
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve in this thread until interrupted."""
        self._server.run(sockets=self._sockets)

    def start(self) -> "Server":
        """Serve in a thread of its own."""
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        serve: Callable[..., Any] = self._server.serve
        self._thread = threading.Thread(
            target=lambda: asyncio.run(serve(sockets=self._sockets)), daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """End serving and wait for it."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=10)
