"""Ask the server what the page asks, and read the one line of an error."""

from typing import Any

from tests.serve.conftest import Client

TEXT = "The cat is on the mat."


def translate(client: Client, text: str = TEXT, **more: Any) -> dict[str, Any]:
    response = client.post("/api/translate", json={"text": text, **more})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def error(response: Any) -> str:
    answer = response.json()
    assert list(answer) == ["error"]
    assert "\n" not in answer["error"]
    return str(answer["error"])
