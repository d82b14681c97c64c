"""Recorded runs by their keys: kept, made again, refused when the weights are others."""

import shutil
from pathlib import Path

from cutaway.artifact.snapshots import write_snapshot
from cutaway.decode import Translator
from cutaway.serve.app import create_app
from cutaway.serve.runs import RUNS_IN_MEMORY, key_of
from tests.serve.asking import TEXT, error, translate
from tests.serve.conftest import Client, serving


def test_a_snapshot_the_run_has_just_made_can_be_seen(folder: Path, tmp_path: Path) -> None:
    model = shutil.copytree(folder, tmp_path / "model")
    run = shutil.copytree(model / "snapshots", tmp_path / "model.run" / "snapshots")
    translator = Translator.load(model)
    write_snapshot(run, 9973, translator.model.state_dict(), {"loss": 0.0})
    with serving(create_app(translator, folder=model)) as client:
        assert client.get("/api/learn").json()["snapshots"][-1]["step"] == 9973
        assert client.session.snapshots[-1]["step"] == 9973
        translate(client, snapshot="9973")


def test_the_same_question_is_answered_from_memory(client: Client) -> None:
    assert translate(client, "A child sees the tree.") == translate(
        client, "A child sees the tree."
    )


def test_a_run_that_made_room_is_recorded_again(client: Client) -> None:
    asked = {"change": "silence:decoder.layers.0.cross_attention:1", "beam": 2}
    key = translate(client, "The dog sees the mat.", **asked)["key"]
    step = client.post("/api/training", json={"text": TEXT, "target": "Le chat."}).json()["key"]
    before = [client.get(f"/glass/{each}/bundle").content for each in (key, step)]
    for number in range(RUNS_IN_MEMORY):
        translate(client, "The dog sees the mat.", prefix=[270 + number])
    assert client.session.runs.known(key) is None
    assert client.session.runs.known(step) is None
    assert [client.get(f"/glass/{each}/bundle").content for each in (key, step)] == before


def test_a_key_holds_on_another_server_of_the_same_model(client: Client, folder: Path) -> None:
    key = translate(client, snapshot="0")["key"]
    header = client.get(f"/glass/{key}").json()
    with serving(create_app(Translator.load(folder), folder=folder)) as other:
        assert other.get(f"/glass/{key}").json() == header


def test_the_run_of_a_lesson_is_made_again(client: Client) -> None:
    given = client.post("/api/lessons/by-hand", json={"choices": {}}).json()
    key = next(step["trace"] for step in given["steps"] if step["trace"])
    before = client.get(f"/glass/{key}").content
    with serving(create_app(client.session.translator, folder=client.session.folder)) as other:
        assert other.get(f"/glass/{key}").content == before


def test_a_key_that_is_none_is_refused(client: Client) -> None:
    wrong = key_of("translation", 0, {"text": TEXT, "beam": "wide"})
    nothing = key_of("recipe", 0, {"text": TEXT})
    for key in ("run-1", wrong, nothing, "A" * 300):
        response = client.get(f"/glass/{key}")
        assert response.status_code == 404
        assert "translate again" in error(response)


def test_a_run_of_weights_that_were_replaced_is_outdated(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "model")
    with serving(create_app(Translator.load(copy), folder=copy)) as client:
        key = translate(client)["key"]
        client.session.runs.clear()
        (copy / "manifest.json").touch()
        response = client.get(f"/glass/{key}")
        assert response.status_code == 410
        assert "learned since" in error(response)
        again = translate(client)["key"]
        assert again != key
        assert client.get(f"/glass/{again}").status_code == 200
