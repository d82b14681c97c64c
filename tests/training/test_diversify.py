"""Data diversification: what the last model learns from, and what a kill leaves of the teachers."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cutaway
from cutaway.artifact.files import sha256
from cutaway.artifact.folder import read_model_folder
from cutaway.config import RunConfig
from cutaway.corpus import read_pairs
from cutaway.errors import ConfigError, TrainingError
from cutaway.training import diversify, recipe
from cutaway.training.diversify import diversified
from cutaway.training.events import Event, Note
from cutaway.training.interrupts import Interrupted
from cutaway.training.prepare import prepare
from cutaway.training.run import run_folder, train
from tests.training.helpers import corpus, results, start, tables

LANGUAGES = {"source_language": "en", "target_language": "de"}


def settings(folder: Path, **changes: Any) -> dict[str, Any]:
    """Three trainings of a few updates."""
    given = {"diversify": 1, "updates": 7, "validate_every": 7, "save_minutes": 1e-9} | changes
    return tables(folder, **given)


def prefixed(folder: Path, language: str | None) -> Callable[[Sequence[str]], list[str]]:
    """A translator whose outputs tell which teacher made them, and into which language."""
    return lambda texts: [f"{folder.name} {language}: {text}" for text in texts]


def translations(place: Path, teacher: str, way: str) -> list[tuple[str, str]]:
    (file,) = place.glob(f"{teacher}.{way}.part-1.*.jsonl")
    return read_pairs(file)


def whole(values: dict[str, Any], out: str) -> None:
    """A run with its own teachers, translating by the real engine."""
    cutaway.train(out, values)


def cut_off(values: dict[str, Any], out: str, moment: str) -> None:
    """The same, killed at the first event of that kind or note."""

    def watch(event: Event) -> None:
        if moment in (event.text if isinstance(event, Note) else type(event).__name__):
            os.kill(os.getpid(), signal.SIGKILL)

    cutaway.train(out, values, watch=watch)


def test_each_translation_has_one_side_of_the_corpus(tmp_path: Path) -> None:
    values = settings(tmp_path)
    cutaway.train(tmp_path / "model", values)
    place = run_folder(tmp_path / "model") / "diversify"
    pairs = set(corpus()[:240])
    forward = translations(place, "forward-1", "forward")
    backward = translations(place, "backward-1", "backward")
    assert {x for x, _ in forward} <= {x for x, _ in pairs}
    assert {y for _, y in backward} <= {y for _, y in pairs}
    assert not pairs & {*forward, *backward}
    assert len(forward) > 200
    assert len(backward) > 200
    teacher = cutaway.load(place / "forward-1")
    assert [teacher.translate([x])[0].text for x, _ in forward[:5]] == [y for _, y in forward[:5]]
    record = json.loads((run_folder(tmp_path / "model") / "run.json").read_text())
    assert "forward-1.forward.part-1" in json.dumps(record)
    assert read_model_folder(tmp_path / "model").tokenizer.vocabulary == 330


def test_finished_teachers_are_left_as_they_are(tmp_path: Path) -> None:
    config = RunConfig.from_tables(settings(tmp_path))
    out, notes = tmp_path / "model", list[Event]()
    first = diversified(config, out, translator=prefixed, watch=notes.append)
    made = [event.text for event in notes if isinstance(event, Note)]
    assert [text for text in made if "teacher" in text or "translates" in text] == [
        "teacher forward-1: source → target",
        "forward-1 translates the 240 pairs forward",
        "teacher backward-1: target → source",
        "backward-1 translates the 240 pairs backward",
    ]
    assert made[-1] == "240 pairs and translations of them, 720 in all"
    notes.clear()
    assert diversified(config, out, translator=prefixed, watch=notes.append) == first
    assert not [e for e in notes if isinstance(e, Note) and "teacher" in e.text]
    found = prepare(first)
    assert len(found.train) == 720
    assert len(found.validation_rows) == 40
    sources = [source for source, _ in found.rows]
    targets = [target for _, target in found.rows]
    assert targets[240].startswith("forward-1 None: the ")
    assert sources[-1].startswith("backward-1 None: ")


def test_both_ways_one_teacher_translates_both_sides(tmp_path: Path) -> None:
    values = settings(tmp_path)
    values["data"] |= {**LANGUAGES, "both_ways": True}
    config = RunConfig.from_tables(values)
    last = diversified(config, tmp_path / "model", translator=prefixed)
    place = run_folder(tmp_path / "model") / "diversify"
    assert not (place / "backward-1").exists()
    assert translations(place, "forward-1", "forward")[0][1].startswith("forward-1 de: ")
    assert translations(place, "forward-1", "backward")[0][0].startswith("forward-1 en: ")
    assert last.data.both_ways
    ways = prepare(last).directions
    assert ways == (("en", "de"), ("de", "en"))


def test_two_of_each_direction_begin_with_seeds_of_their_own(tmp_path: Path) -> None:
    values = settings(tmp_path)
    values["train"]["diversify"] = 2
    last = diversified(RunConfig.from_tables(values), tmp_path / "model", translator=prefixed)
    assert len(last.data.sources) == 5
    place = run_folder(tmp_path / "model") / "diversify"
    weights = {sha256(place / f"forward-{one}" / "model.safetensors") for one in (1, 2)}
    assert len(weights) == 2


def test_pairs_held_out_are_in_no_training(tmp_path: Path) -> None:
    values = settings(tmp_path)
    del values["data"]["val_data"]
    last = diversified(RunConfig.from_tables(values), tmp_path / "model", translator=prefixed)
    held = read_pairs(last.data.val_data)
    assert len(held) == 12  # 5 %
    place = run_folder(tmp_path / "model") / "diversify"
    files = [Path(source["path"]) for source in last.data.sources]
    assert files[0] == place / "part-1.jsonl"
    rows = [row for file in files for row in read_pairs(file)]
    assert not {x for x, _ in held} & {x for x, _ in rows}
    assert not {y for _, y in held} & {y for _, y in rows}


@pytest.mark.parametrize(
    "moment", ["backward-1 translates", "teacher backward-1", "Validated", "in all"]
)
def test_killed_anywhere_the_same_command_ends_with_the_same_bits(
    moment: str, tmp_path: Path
) -> None:
    values = settings(tmp_path)
    for name, target, more in (("plain", whole, ()), ("cut", cut_off, (moment,))):
        process = start(target, values, str(tmp_path / name), *more)
        process.join()
        assert process.exitcode == (-signal.SIGKILL if more else 0)
    assert not (tmp_path / "cut" / "config.json").exists()
    whole(values, str(tmp_path / "cut"))
    plain, cut = results(tmp_path / "plain"), results(tmp_path / "cut")
    assert plain == cut


def test_a_signal_while_translating_stops_and_the_same_call_goes_on(tmp_path: Path) -> None:
    config, out = RunConfig.from_tables(settings(tmp_path)), tmp_path / "model"

    def signalled(folder: Path, language: str | None) -> Callable[[Sequence[str]], list[str]]:
        def translate(texts: Sequence[str]) -> list[str]:
            os.kill(os.getpid(), signal.SIGTERM)
            return list(texts)

        return translate

    with pytest.raises(Interrupted) as stopped:
        diversified(config, out, translator=signalled)
    assert stopped.value.status == 143
    place = run_folder(out) / "diversify"
    assert not list(place.glob("forward-1.forward.*"))
    last = diversified(config, out, translator=prefixed)
    train(last, out)
    assert read_model_folder(out).config.d_model == 16


def left_to_choose(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings that say nothing of diversification, for a corpus that suits it; short trainings."""
    monkeypatch.setattr(recipe, "FEW", 211)
    monkeypatch.setattr(diversify, "teacher_epochs", lambda pairs: 1)
    values = settings(folder)
    del values["train"]["diversify"], values["train"]["updates"]
    return values


def test_a_corpus_of_that_size_is_diversified_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = RunConfig.from_tables(left_to_choose(tmp_path, monkeypatch))
    notes: list[Event] = []
    last = diversified(config, tmp_path / "model", translator=prefixed, watch=notes.append)
    told = [event.text for event in notes if isinstance(event, Note)]
    assert [text for text in told if "--diversify 0" in text] == [
        "240 pairs: data diversification chosen; a model of each direction is trained first, and "
        "the last one learns from their translations too (--diversify 0: only from the pairs)"
    ]
    assert (len(last.data.sources), last.train.diversify) == (3, 0)
    longer = replace(config, train=replace(config.train, diversify=2))
    assert len(diversified(longer, tmp_path / "model", translator=prefixed).data.sources) == 5
    again = diversified(config, tmp_path / "model", translator=prefixed)
    assert len(again.data.sources) == 5  # as it was begun


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("train", "epochs", 3),
        ("train", "updates", 7),
        ("train", "diversify", 0),
        ("data", "both_ways", True),
    ],
)
def test_what_is_told_otherwise(
    table: str, name: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = left_to_choose(tmp_path, monkeypatch)
    values["data"] |= LANGUAGES
    values[table][name] = value
    config = RunConfig.from_tables(values)
    last = diversified(config, tmp_path / "model", translator=prefixed)
    assert last == replace(config, train=replace(config.train, diversify=0))
    assert not run_folder(tmp_path / "model").exists()


def test_other_sizes_and_a_run_begun_without_are_not_diversified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = left_to_choose(tmp_path, monkeypatch)
    config, out = RunConfig.from_tables(values), tmp_path / "model"
    plain = replace(config, train=replace(config.train, diversify=0))
    for name, module, value in (
        ("FEW", recipe, 241), ("MANY", recipe, 240), ("LARGEST", diversify, 1000),
    ):  # fmt: skip
        with monkeypatch.context() as changed:
            changed.setattr(module, name, value)
            assert diversified(config, out, translator=prefixed) == plain
    assert not (run_folder(out) / "diversify").exists()
    cutaway.train(out, RunConfig.from_tables(settings(tmp_path, diversify=0)))
    assert diversified(config, out, translator=prefixed) == plain


@pytest.mark.parametrize(
    ("table", "name", "value", "what"),
    [
        ("train", "start_from", "elsewhere", "a model to start from"),
        ("data", "store", "a.store", "a store"),
        ("train", "task", "generate", "the task 'generate'"),
    ],
)
def test_what_cannot_be_diversified_is_one_line(
    table: str, name: str, value: str, what: str, tmp_path: Path
) -> None:
    values = settings(tmp_path)
    if name != "task":
        values |= {"tokenizer": {}, "model": {}}
    if name == "store":
        values["data"] = {}
    values[table][name] = value
    with pytest.raises(ConfigError, match=f"diversify is 1 with {what}.*set train.diversify to 0"):
        cutaway.train(tmp_path / "model", values)
    assert not run_folder(tmp_path / "model").exists()


def test_several_processes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="several processes"):
        cutaway.train(tmp_path / "model", settings(tmp_path))


def test_another_corpus_is_refused_where_teachers_were_begun(tmp_path: Path) -> None:
    values, out = settings(tmp_path), tmp_path / "model"
    diversified(RunConfig.from_tables(values), out, translator=prefixed)
    file = Path(values["data"]["data"])
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[1:]))
    changed = RunConfig.from_tables(values)
    with pytest.raises(TrainingError, match=r"other values of corpus; run the old command"):
        diversified(changed, out, translator=prefixed)
    file.write_text("".join(lines))
    values["train"]["clip"] = 0.5
    with pytest.raises(TrainingError, match=r"other values of train; run the old command"):
        diversified(RunConfig.from_tables(values), out, translator=prefixed)
