"""What the routes refuse, and that one clear line says why."""

import re
from typing import Any

import pytest

from cutaway.serve.app import BODY
from cutaway.serve.session import LONGEST
from tests.serve.asking import TEXT, error, translate
from tests.serve.conftest import Client


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": "x" * 3000}, "text"),
        ({"text": TEXT, "beam": 99}, "beam"),
        ({"text": TEXT, "prefix": [10**9]}, "prefix"),
        ({"text": TEXT, "temperature": 0}, "temperature"),
        ({"text": TEXT, "snapshot": "nine"}, "snapshot"),
        ({"text": TEXT, "snapshot": "999"}, "snapshot"),
        ({"text": TEXT, "change": "explode"}, "change"),
        ({"text": TEXT, "change": "order:0,0"}, "order"),
        ({"text": TEXT, "change": "shift:decoder.layers.0.self_attention:one"}, "change"),
        ({"text": TEXT, "model": "other"}, "--compare"),
        ({"text": TEXT, "change": "silence:decoder.layers.0.cross_attention:9"}, "heads"),
        ({"text": "the " * (LONGEST + 2)}, "tokens"),
        ({"text": "   "}, "nothing"),
    ],
)
def test_bad_questions_get_one_line_in_the_readers_language(
    client: Client, body: dict[str, Any], words: str
) -> None:
    for language, expected in (("en", words), ("zh", "[一-鿿]")):
        headers = {"Accept-Language": language}
        response = client.post("/api/translate", json=body, headers=headers)
        assert response.status_code in (400, 422)
        assert re.search(expected, error(response))


def test_missing_things_get_one_line(client: Client) -> None:
    key = translate(client)["key"]
    for path in (
        "/nothing",
        "/glass/unknown",
        f"/glass/{key}/buffer/99999",
        f"/glass/{key}/explain?address=no.such.thing[0]",
    ):
        response = client.get(path)
        assert response.status_code == 404, path
        assert error(response)
    unknown = client.post("/api/lessons/none", json={})
    assert unknown.status_code == 422
    assert "by-hand" in error(unknown)  # the ones there are
    wrong: list[Any] = [{"buffer": 0}, {"buffer": "a", "start": 0, "stop": 1}, {"address": 1}, []]
    for part in wrong:
        response = client.post(f"/glass/{key}/numbers", json={"parts": [part]})
        assert response.status_code == 422, part
        assert error(response)
    assert client.get(f"/glass/{key}/window?address=probabilities&spans=x").status_code == 400


def test_only_its_own_page_is_answered(client: Client) -> None:
    body = {"text": TEXT}
    for headers in (
        {"origin": "https://elsewhere.example"},
        {"host": "elsewhere.example"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "null"},
    ):
        response = client.post("/api/translate", json=body, headers=headers)
        assert response.status_code == 403, headers
        assert "answers" in error(response)
    own = client.post(
        "/api/translate", json=body, headers={"origin": str(client.base_url).rstrip("/")}
    )
    assert own.status_code == 200


def test_forms_and_floods_are_refused(client: Client) -> None:
    form = client.post("/api/translate", content="text=a", headers={"content-type": "text/plain"})
    assert form.status_code == 415
    flood = client.post("/api/translate", json={"text": "x" * (BODY + 1)})
    assert flood.status_code == 413
