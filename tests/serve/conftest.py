"""A small model behind a real server on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from cutaway.decode import Translator
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.server import Server
from cutaway.serve.session import Session
from tests.browser.toy import build


class Client(httpx.Client):
    """Asks a server over the network; `session` is what works behind it."""

    session: Session


@contextmanager
def serving(app: FastAPI) -> Iterator[Client]:
    """A client of an application that is being served."""
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        with Client(base_url=server.url, timeout=60) as client:
            client.session = app.state.session
            yield client
        server.stop()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that has learned for a moment only."""
    return build(tmp_path_factory.mktemp("serve") / "toy", updates=24, layers=1, width=12)


@pytest.fixture(scope="session")
def client(folder: Path) -> Iterator[Client]:
    """A browser's view of the application."""
    app = create_app(Translator.load(folder), folder=folder, examples=["The cat sees the tree."])
    with serving(app) as client:
        yield client
