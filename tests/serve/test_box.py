"""`cutaway serve` without a folder: the everyday models, each under its own path."""

from collections.abc import Iterator

import httpx
import pytest

from cutaway.data import PAIRS
from cutaway.serve.box import box_app
from cutaway.serve.listening import bound
from cutaway.serve.server import Server

TOKEN = "a-token"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with bound("127.0.0.1", 0) as listening:
        server = Server(box_app(token=TOKEN), listening).start()
        yield server.url.rstrip("/")
        server.stop()


def ask(url: str, path: str, **headers: str) -> httpx.Response:
    return httpx.get(url + path, headers={"Authorization": f"Bearer {TOKEN}", **headers})


@pytest.mark.parametrize(
    ("language", "pair"),
    [("zh-CN,zh;q=0.9", "en-zh"), ("en-US", "en-fr"), ("fr,zh;q=0.5", "en-fr"), ("", "en-fr")],
)
def test_a_chinese_reader_meets_the_chinese_model_first(url: str, language: str, pair: str) -> None:
    answer = ask(url, "/", **{"Accept-Language": language})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"{pair}/"


@pytest.mark.parametrize("pair", PAIRS)
def test_each_model_has_a_page_that_leads_to_the_other(url: str, pair: str) -> None:
    info = ask(url, f"/{pair}/api/info").json()
    assert info["name"] == pair.replace("-", "→")
    assert info["siblings"] == [other for other in PAIRS if other != pair]
    assert info["examples"][0] == "Where is the station?"
    assert "<title>" in ask(url, f"/{pair}/").text
    answer = httpx.post(
        f"{url}/{pair}/api/translate",
        json={"text": "The cat is on the mat."},
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=60,
    )
    assert (
        answer.json()["output"]
        == {
            "en-fr": "Le chat est sur le tapis.",
            "en-zh": "猫在垫子上。",
        }[pair]
    )


@pytest.mark.parametrize("path", ["/", "/en-fr/", "/en-zh/api/info"])
def test_nothing_is_shown_without_the_token_or_to_another_host(url: str, path: str) -> None:
    assert httpx.get(url + path).status_code == 401
    assert ask(url, path, Host="elsewhere.example").status_code == 403


def test_there_is_no_other_model(url: str) -> None:
    assert ask(url, "/en-de/api/info").status_code == 404
