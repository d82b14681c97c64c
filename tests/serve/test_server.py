"""Listening on this machine, and one line when that cannot be."""

import asyncio
import socket
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from cutaway.decode import Translator
from cutaway.errors import InputError
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.server import Server, named, serve_folder


def test_a_busy_port_is_told_before_the_model_is_read(tmp_path: Path) -> None:
    with bound("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port}.*--port"):
            serve_folder(tmp_path / "no-model-here", port=port, open_browser=False)


def test_an_impossible_port_is_one_line() -> None:
    with pytest.raises(InputError, match="cannot listen"):
        bound("127.0.0.1", 700_000)


def test_short_answers_are_not_held_back() -> None:
    """A connection sends what it has at once (TCP_NODELAY), however little that is."""

    async def accepted() -> int:
        option: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            ours = writer.get_extra_info("socket")
            option.set_result(ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with bound("127.0.0.1", 0) as listening:
            async with await asyncio.start_server(answer, sock=listening):
                _, caller = await asyncio.open_connection(*listening.getsockname())
                at_once = await option
                caller.close()
                return at_once

    assert asyncio.run(accepted()) != 0


def test_it_listens_on_this_machine_only(folder: Path) -> None:
    app = create_app(Translator.load(folder), folder=folder)
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        try:
            assert listening.getsockname()[0] == "127.0.0.1"
            answer = httpx.get(server.url, timeout=60)
            assert answer.status_code == 200
            assert "server" not in answer.headers
        finally:
            server.stop()
        with pytest.raises(httpx.TransportError):
            httpx.get(server.url, timeout=2)


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    from cutaway.cli.main import app

    result = CliRunner().invoke(app, ["serve", str(tmp_path), "--port", "0", "--no-open"])
    assert result.exit_code != 0
    assert "is no model folder" in str(result.exception)


def test_folders_of_one_name_are_told_apart() -> None:
    assert named(["runs/a", "old/b"]) == {"a": Path("runs/a"), "b": Path("old/b")}
    assert list(named(["runs/a", "old/a"])) == ["runs/a", "old/a"]


def test_a_socket_is_closed_when_it_cannot_be_bound() -> None:
    with bound("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(InputError):
            bound("127.0.0.1", first.getsockname()[1])
    assert isinstance(first, socket.socket)
