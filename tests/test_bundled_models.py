"""The bundled models: undamaged, small, trained on the embedded corpus, as good as they claim."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools.measures import measures
from typer.testing import CliRunner

import cutaway
from cutaway.artifact.files import damage, sha256
from cutaway.artifact.folder import read_model_folder
from cutaway.artifact.snapshots import read_index, read_snapshot
from cutaway.cli.main import app
from cutaway.corpus.embedded import PAIRS, chosen_sentences, embedded
from cutaway.data import CORPUS, bundled_model, demo_seeds, located, name_of
from cutaway.errors import InputError

LIMIT = 8_000_000  # bytes of a model folder


def metrics(pair: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bundled_model(pair) / "metrics.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("pair", PAIRS)
def test_a_carried_model_is_an_ordinary_folder_and_small(pair: str) -> None:
    folder = bundled_model(pair)
    assert damage(folder) is None
    assert read_model_folder(folder).languages == tuple(pair.split("-"))
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < LIMIT


@pytest.mark.parametrize("pair", PAIRS)
def test_it_was_trained_on_the_embedded_corpus_with_the_seed_fixed_beforehand(pair: str) -> None:
    assert metrics(pair)["corpus_sha256"] == sha256(CORPUS)
    assert metrics(pair)["seed"] == 1


@pytest.mark.parametrize("pair", PAIRS)
def test_its_snapshots_lead_from_the_first_update_to_the_last(pair: str) -> None:
    snapshots = bundled_model(pair) / "snapshots"
    updates = [entry["update"] for entry in read_index(snapshots)]
    assert updates[0] == 0
    assert len(updates) >= 3
    names = set(read_model_folder(bundled_model(pair)).model.state_dict())
    for update in updates:
        assert set(read_snapshot(snapshots, update)) <= names


@pytest.mark.parametrize("pair", PAIRS)
def test_what_it_scores_is_what_its_metrics_say(pair: str) -> None:
    """Counts within a few sentences: near ties fall differently on other processors."""
    said, found = metrics(pair), measures(cutaway.load(bundled_model(pair)), pair)
    assert found["exact_test"] == pytest.approx(said["exact_test"], abs=4)
    assert found["exact_test"] >= 0.95 * len(embedded(pair, "test"))
    assert found["right_in_training"] == said["right_in_training"]
    assert found["right_unseen"] == said["right_unseen"]
    for name in ("along_cats_minus_cat", "along_mean_plural"):
        assert found["number_words"][name] == pytest.approx(said["number_words"][name], abs=2e-4)


def test_the_seeds_are_measured_on_this_corpus() -> None:
    """The rows that the lesson reads; the first is the carried model's."""
    for pair in PAIRS:
        assert next(row["seed"] for row in demo_seeds(pair)) == 1
        for row in demo_seeds(pair):
            assert row["sentences_test"] == len(embedded(pair, "test"))
            assert row["sentences_in_training"] == len(chosen_sentences(pair, "known"))
            assert row["sentences_unseen"] == len(chosen_sentences(pair, "unseen"))
        first = demo_seeds(pair)[0]
        assert first["number_words"] == metrics(pair)["number_words"]


def test_en_fr_names_the_carried_model_unless_a_folder_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert located("en-fr") == bundled_model("en-fr")
    assert located(Path("en-zh")) == bundled_model("en-zh")
    assert located("elsewhere") == Path("elsewhere")
    assert name_of(bundled_model("en-zh"), tmp_path) == "en-zh"
    assert name_of(tmp_path / "mine", tmp_path / "book") == "../mine"
    (tmp_path / "en-fr").mkdir()
    assert located("en-fr") == Path("en-fr")
    with pytest.raises(InputError, match="'en-de' in the package; expected en-fr or en-zh"):
        bundled_model("en-de")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["translate", "en-fr", "The cat is on the mat."], "Le chat est sur le tapis."),
        (["translate", "en-zh", "The cat is on the mat."], "猫在垫子上。"),
        (["prove", "en-fr", "The cat sleeps."], "proven"),
        (["explain", "en-zh", "The cat sleeps.", "output.logits[0,0,5]"], "output.logits"),
    ],
)
def test_the_commands_know_the_carried_models(
    words: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert expected in result.output


def test_python_knows_them_too() -> None:
    assert cutaway.load("en-fr").translate(["I love AI."])[0].text == "J'aime l'IA."
