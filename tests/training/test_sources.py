"""Sources with weights and tags, and several directions in one model, from corpus to folder."""

import json
from pathlib import Path
from typing import Any

import pytest

import cutaway
from cutaway.artifact.folder import read_model_folder
from cutaway.config import RunConfig
from cutaway.config.dump import dumped
from cutaway.decode import Translator
from cutaway.errors import ConfigError, InputError, TrainingError
from cutaway.evaluation.validation import validator
from cutaway.training.events import Note, Validated
from cutaway.training.prepare import prepare
from cutaway.training.replay import Replay
from cutaway.training.rows import set_aside
from cutaway.training.run import run_folder
from tests.training.helpers import results, run_here, tables

LANGUAGES = {"source_language": "en", "target_language": "de"}


def prepared(values: dict[str, Any]) -> Any:
    return prepare(RunConfig.from_tables(values))


def test_one_source_without_weight_is_the_file_itself_to_the_last_bit(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=4, validate_every=4)
    run_here(values, tmp_path / "plain")
    one = {"path": values["data"].pop("data")}
    values["data"]["sources"] = [one]
    run_here(values, tmp_path / "source")
    assert results(tmp_path / "plain") == results(tmp_path / "source")


def test_a_weighted_run_resumes_replays_and_refuses_other_weights(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    values = tables(tmp_path, updates=9, log_every=1, validate_every=9, tokens=120)
    lines = Path(values["data"].pop("data")).read_text().splitlines(keepends=True)
    first.write_text("".join(lines[:100]))
    second.write_text("".join(lines[100:]))
    sources: list[dict[str, Any]] = [
        {"path": str(first), "weight": 1.5},
        {"path": str(second), "tag": "bt"},
    ]
    values["data"]["sources"] = sources
    events = run_here(values, tmp_path / "model")
    told = [event.text for event in events if isinstance(event, Note)]
    assert any("a.tsv: 100 pairs read, 100 kept, weight 1.5" in text for text in told)
    assert sum(text.startswith("the first pair: ") for text in told) >= 2
    found = Replay(tmp_path / "model").record(7)
    assert found.agreement.exact
    texts = {tuple(line.rstrip("\n").split("\t")) for line in lines}
    assert {tuple(row) for batch in found.facts["batches"] for row in batch} <= texts
    report = (tmp_path / "model" / "report.html").read_text()
    assert "a.tsv" in report
    assert str(tmp_path) not in report  # names, no paths: a report may be shared
    folder = read_model_folder(tmp_path / "model")
    assert folder.tokenizer.marks == ("bt",)
    assert folder.directions == ()
    assert Translator(folder).special.forbidden[-1] == folder.tokenizer.mark("bt")
    sources[0]["weight"] = 2.0
    values["train"]["updates"] = 12
    with pytest.raises(TrainingError, match="weights"):
        run_here(values, tmp_path / "model")


def test_both_ways_in_one_model_with_a_tag_for_the_target(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=6, validate_every=6)
    values["data"] |= {**LANGUAGES, "both_ways": True}
    events = run_here(values, tmp_path / "model", validate=validator(1))
    (validated,) = (event for event in events if isinstance(event, Validated))
    assert "bleu" in validated.metrics
    folder = read_model_folder(tmp_path / "model")
    assert folder.languages == ("en", "de")
    assert folder.directions == (("en", "de"), ("de", "en"))
    assert folder.tokenizer.languages == ("de", "en")
    assert "en → de, de → en" in folder.card
    translator = Translator(folder)
    tags = {to: (translator.task("cat", language=to).source or ())[0] for to in (None, "de", "en")}
    assert tags[None] == tags["de"] == folder.tokenizer.tag("de")
    assert tags["en"] == folder.tokenizer.tag("en")
    with pytest.raises(InputError, match="knows: de, en"):
        translator.task("cat", language="fr")
    for to in ("de", "en"):  # CTranslate2 gets the same ids
        texts = {
            cutaway.load(folder, engine=engine).translate(["the red cat"], language=to)[0].text
            for engine in ("torch", "ctranslate2")
        }
        assert len(texts) == 1
    log = (run_folder(tmp_path / "model") / "log.jsonl").read_text().splitlines()
    assert json.loads(log[-1])["update"] == 6


def test_both_ways_doubles_the_pairs_and_asks_both_in_validation(tmp_path: Path) -> None:
    values = tables(tmp_path)
    plain = prepared(values)
    values["data"] |= {**LANGUAGES, "both_ways": True}
    found = prepared(values)
    assert len(found.train) == 2 * len(plain.train)
    assert len(found.validation_rows) == 2 * len(plain.validation_rows)
    assert found.rows[len(plain.rows)] == plain.rows[0][::-1]
    count = len(plain.validation_rows)
    assert found.validation_parts == ((count, ("en", "de")), (count, ("de", "en")))


def test_held_out_pairs_of_several_sources_are_trained_on_in_no_direction(tmp_path: Path) -> None:
    values = tables(tmp_path)
    path = values["data"]["data"]
    values["data"] = {**LANGUAGES, "both_ways": True, "sources": [{"path": path}, {"path": path}]}
    found = prepared(values)
    assert len(found.validation_rows) == 2 * (480 // 20)
    held = {frozenset(row) for row in found.validation_rows}
    assert not held & {frozenset(row) for row in found.rows}


def test_a_model_of_two_directions_is_tuned_for_one_with_its_tag(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=2, validate_every=2)
    values["data"] |= {**LANGUAGES, "both_ways": True}
    run_here(values, tmp_path / "both")
    again = tables(tmp_path, updates=2, validate_every=2, start_from=str(tmp_path / "both"))
    again["tokenizer"] = {"sample": 0.2}
    again["model"] = {}
    with pytest.raises(ConfigError, match="the model translates into de, en; say which"):
        prepared(again)
    again["data"] |= LANGUAGES
    found = prepared(again)
    tag = found.tokenizer.tag("de")
    assert {int(source[0]) for source, _ in found.train} == {tag}
    assert found.languages == ("en", "de")


def test_reverse_swaps_training_and_validation(tmp_path: Path) -> None:
    values = tables(tmp_path)
    plain = prepared(values)
    values["data"] |= {**LANGUAGES, "reverse": True}
    found = prepared(values)
    assert found.rows == [row[::-1] for row in plain.rows]
    assert found.validation_rows == [row[::-1] for row in plain.validation_rows]
    assert found.languages == ("de", "en")
    assert found.directions == ()


def test_three_languages_in_one_model(tmp_path: Path) -> None:
    values = tables(tmp_path)
    path, val = values["data"]["data"], values["data"]["val_data"]
    values["data"] = {
        "sources": [
            {"path": path, "languages": "en-de", "val": val},
            {"path": path, "languages": "en-fr", "val": val, "weight": 0.5},
        ]
    }
    found = prepared(values)
    assert found.tokenizer.languages == ("de", "fr")
    assert found.directions == (("en", "de"), ("en", "fr"))
    assert found.weights == ((240, 1.0), (240, 0.5))
    assert [way for _, way in found.validation_parts] == [("en", "de"), ("en", "fr")]


@pytest.mark.parametrize(
    ("data", "rest", "message"),
    [
        ({"both_ways": True}, {}, "needs the two languages"),
        ({"both_ways": True, **LANGUAGES}, {"tokenizer": {"joint": False}}, "joint is false"),
        ({"reverse": True}, {"train": {"task": "generate"}}, "reverse is for pairs from files"),
        ({"sources": [{"path": "a"}]}, {}, "data.data and data.sources are given"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, data: dict[str, Any], rest: dict[str, Any], message: str
) -> None:
    values = tables(tmp_path)
    values["data"] |= data
    for table, changes in rest.items():
        values[table] |= changes
    with pytest.raises(ConfigError, match=message):
        prepared(values)


def test_sources_make_the_round_trip_through_toml(tmp_path: Path) -> None:
    source = {
        "path": "a.tsv", "weight": 0.5, "filters": {"ratio": 3, "contains": ["x"]},
        "transforms": ["unescape"], "augment": {"typos": 0.1},
    }  # fmt: skip
    config = RunConfig.from_tables({"data": {"sources": [source]}})
    path = tmp_path / "run.toml"
    path.write_text(dumped(config))
    from cutaway.config import read_toml

    assert RunConfig.from_tables(read_toml(path)) == config


def test_a_few_texts_many_times_are_not_all_held_out() -> None:
    rows = [(text, text[::-1]) for text in ("ab", "cd", "ef")] * 30
    training, held = set_aside(rows, 100, 1)
    assert len(held) == 1
    assert len(training) == 60
    assert held[0][0] not in {source for source, _ in training}
