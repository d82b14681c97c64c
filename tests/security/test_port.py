"""Who may use the port: whoever has the printed address, under every form of --host."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from cutaway.artifact.folder import write_model_folder
from cutaway.cli.main import app as cli
from cutaway.serve.app import create_app
from cutaway.serve.listening import address, bound, local, names
from cutaway.serve.server import Server
from cutaway.serve.token import own_token, with_token
from tests.export.helpers import random_folder


def ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True


HOSTS = ["127.0.0.1", "localhost", "0.0.0.0", "127.0.0.7", ""] + (["::1", "::"] if ipv6() else [])


@contextmanager
def served(host: str) -> Iterator[str]:
    """The address that would be printed, of a server on that host."""
    with bound(host, 0) as listening:
        app = create_app(hosts=names(listening, host), token=own_token())
        server = Server(app, listening).start()
        yield with_token(address(listening), own_token())
        server.stop()


@pytest.mark.parametrize("host", HOSTS)
def test_the_printed_address_opens_the_page(host: str) -> None:
    with served(host) as url, httpx.Client(follow_redirects=True) as browser:
        opened = browser.get(url)
        assert opened.status_code == 200
        assert "<!doctype html>" in opened.text.lower()
        assert "token" not in str(opened.url)  # history and screenshots do not show it
        base = url.partition("?")[0]
        assert browser.get(f"{base}api/info").status_code == 200
        assert browser.get(f"{base}web/app.js").status_code == 200
        posted = browser.post(f"{base}api/translate", json={"text": "x"})
        assert posted.status_code == 422  # let in; there is no model


@pytest.mark.parametrize("host", HOSTS)
def test_nobody_else_gets_anything(host: str) -> None:
    with served(host) as url, httpx.Client(follow_redirects=True) as stranger:
        base = url.partition("?")[0]
        wrong = own_token()[:-1] + ("A" if own_token()[-1] != "A" else "B")
        for headers in (
            {},
            {"Host": "localhost"},
            {"Host": f"localhost:{urlsplit(base).port}"},
            {"Cookie": f"cutaway-{urlsplit(base).port}={wrong}"},
            {"Authorization": f"Bearer {wrong}"},
            {"Authorization": "Bearer x"},
        ):
            for path in ("", "api/info", "web/app.js", "api/learn", f"?token={wrong}", "nothing"):
                answer = stranger.get(f"{base}{path}", headers=headers)
                assert answer.status_code in (401, 403), (path, headers)
                assert own_token() not in answer.text
        posted = stranger.post(f"{base}api/translate", json={"text": "x"})
        assert posted.status_code == 401


def test_a_script_shows_the_token_in_a_header() -> None:
    with served("127.0.0.1") as url:
        base = url.partition("?")[0]
        headers = {"Authorization": f"Bearer {own_token()}"}
        assert httpx.get(f"{base}api/info", headers=headers).status_code == 200


def test_the_cookie_stays_with_this_host_and_away_from_scripts() -> None:
    with served("127.0.0.1") as url:
        answer = httpx.get(url)
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "domain" not in cookie


def test_another_name_is_refused_where_one_address_was_asked_for() -> None:
    """DNS rebinding: a name of the attacker's that leads here."""
    with served("127.0.0.1") as url:
        answer = httpx.get(url, headers={"Host": "attacker.example"})
        assert answer.status_code == 403


def test_beyond_this_machine_a_line_says_what_is_exposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [local(host) for host in ("127.0.0.1", "127.9.9.9", "localhost", "::1")] == [True] * 4
    assert not any(local(host) for host in ("0.0.0.0", "::", "192.168.1.5", "", "box.lan"))
    write_model_folder(tmp_path / "model", random_folder())
    monkeypatch.setattr("cutaway.serve.server.Server.run", lambda server: None)
    arguments = ["serve", str(tmp_path / "model"), "--port", "0", "--no-open"]
    quiet = CliRunner().invoke(cli, arguments)
    assert quiet.exit_code == 0
    assert "warning" not in quiet.output
    assert f"/?token={own_token()}" in quiet.output
    loud = CliRunner().invoke(cli, [*arguments, "--host", "0.0.0.0"])
    assert loud.exit_code == 0
    assert "warning: --host 0.0.0.0 lets other machines in" in loud.output
