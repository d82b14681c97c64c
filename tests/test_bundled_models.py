"""The models of the package: undamaged, small, as good as they claim, found by their names."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools.measures import everyday_right, measures
from typer.testing import CliRunner

import cutaway
from cutaway.artifact.files import damage, sha256
from cutaway.artifact.folder import read_model_folder
from cutaway.artifact.snapshots import read_index, read_snapshot
from cutaway.cli.main import app
from cutaway.corpus.embedded import PAIRS, chosen_sentences, embedded
from cutaway.data import CORPUS, bundled_model, demo_model, demo_seeds, located, name_of
from cutaway.errors import InputError

LIMIT = 8_000_000  # bytes of a model folder


def metrics(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("model", [bundled_model, demo_model])
def test_a_carried_model_is_an_ordinary_folder_and_small(model: Any, pair: str) -> None:
    folder = model(pair)
    assert damage(folder) is None
    assert read_model_folder(folder).languages == tuple(pair.split("-"))
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < LIMIT
    assert metrics(folder)["corpus_sha256"] == sha256(CORPUS)
    assert metrics(folder)["seed"] == 1  # fixed beforehand


@pytest.mark.parametrize("pair", PAIRS)
def test_the_demo_models_snapshots_lead_from_the_first_update_to_the_last(pair: str) -> None:
    snapshots = demo_model(pair) / "snapshots"
    updates = [entry["update"] for entry in read_index(snapshots)]
    assert updates[0] == 0
    assert len(updates) >= 3
    names = set(read_model_folder(demo_model(pair)).model.state_dict())
    for update in updates:
        assert set(read_snapshot(snapshots, update)) <= names


@pytest.mark.parametrize("pair", PAIRS)
def test_what_the_demo_model_scores_is_what_its_metrics_say(pair: str) -> None:
    """Counts within a few sentences: near ties fall differently on other processors."""
    said, found = metrics(demo_model(pair)), measures(cutaway.load(demo_model(pair)), pair)
    assert found["exact_test"] == pytest.approx(said["exact_test"], abs=4)
    assert found["exact_test"] >= 0.95 * len(embedded(pair, "test"))
    assert found["right_in_training"] == said["right_in_training"]
    assert found["right_unseen"] == said["right_unseen"]
    for name in ("along_cats_minus_cat", "along_mean_plural"):
        assert found["number_words"][name] == pytest.approx(said["number_words"][name], abs=2e-4)


@pytest.mark.parametrize("pair", PAIRS)
def test_what_a_person_types_first_is_translated_right(pair: str) -> None:
    """The forty sentences of tests/everyday, as the metrics say; a near tie may differ."""
    said = metrics(bundled_model(pair))
    right, sentences = everyday_right(cutaway.load(bundled_model(pair)), pair)
    assert sentences == said["everyday_sentences"] == 40
    assert right == pytest.approx(said["everyday_right"], abs=1)
    assert right >= 0.8 * sentences


@pytest.mark.parametrize("pair", PAIRS)
def test_an_everyday_model_knows_the_lessons_sentences(pair: str) -> None:
    said, translator = metrics(bundled_model(pair)), cutaway.load(bundled_model(pair))
    for kind, name in (("known", "in_training"), ("unseen", "unseen")):
        pairs = chosen_sentences(pair, kind)
        outputs = translator.translate([source for source, _ in pairs])
        right = sum(o.text == target for o, (_, target) in zip(outputs, pairs, strict=True))
        assert right == pytest.approx(said[f"right_{name}"], abs=1)
    assert said["right_in_training"] >= 0.9 * said["sentences_in_training"]


@pytest.mark.parametrize(("pair", "file"), [("en-fr", "eng-fra"), ("en-zh", "eng-zho")])
def test_its_bleu_on_tatoeba_is_what_its_metrics_say(
    pair: str, file: str, shared_data: Path
) -> None:
    path = shared_data / "tatoeba" / f"{file}.test.tsv.gz"
    said = metrics(bundled_model(pair))
    assert said["tatoeba_test_sha256"] == sha256(path)
    scores = cutaway.evaluate(bundled_model(pair), path).scores
    assert scores.bleu.score == pytest.approx(said["tatoeba_test_bleu"], abs=0.2)


def test_the_seeds_are_measured_on_this_corpus() -> None:
    """The rows that the lesson reads; the first is the carried model's."""
    for pair in PAIRS:
        assert next(row["seed"] for row in demo_seeds(pair)) == 1
        for row in demo_seeds(pair):
            assert row["sentences_test"] == len(embedded(pair, "test"))
            assert row["sentences_in_training"] == len(chosen_sentences(pair, "known"))
            assert row["sentences_unseen"] == len(chosen_sentences(pair, "unseen"))
        first = demo_seeds(pair)[0]
        assert first["number_words"] == metrics(demo_model(pair))["number_words"]


def test_en_fr_names_the_carried_model_unless_a_folder_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert located("en-fr") == bundled_model("en-fr")
    assert located(Path("en-zh")) == bundled_model("en-zh")
    assert located("demo-en-zh") == demo_model("en-zh")
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
        (["translate", "Where is the station?"], "Où est la gare ?"),
        (["translate", "--to", "zh", "I don't understand."], "我不"),
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
    (answer,) = cutaway.load().translate(["Where is the station?"])
    assert answer.text == "Où est la gare ?"
