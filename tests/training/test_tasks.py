"""The four tasks, fine-tuning with a grown vocabulary, and what a run leaves behind."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cutaway.artifact.folder import ModelFolder, read_model_folder
from cutaway.artifact.snapshots import read_index, read_snapshot, snapshot_updates
from cutaway.config import RunConfig
from cutaway.corpus import Part, build_store
from cutaway.errors import ConfigError, ModelFolderError
from cutaway.evaluation.validation import validator
from cutaway.text import Tokenizer
from cutaway.training.events import Validated
from cutaway.training.initial import initial_model
from cutaway.training.objective import Objective, TaskBatch, hide
from cutaway.training.prepare import prepare
from cutaway.training.run import run_folder
from cutaway.training.validation import validation_scores
from tests.training.helpers import corpus, results, run_here, tables


def text_values(folder: Path, task: str, **train: Any) -> dict[str, Any]:
    values = tables(folder, task=task, **train)
    path = folder / "texts.txt"
    path.write_text("".join(f"{source}\n" for source, _ in corpus()))
    values["data"] = {"data": str(path)}
    return values


def scores(events: list[Any]) -> list[dict[str, float]]:
    return [event.metrics for event in events if isinstance(event, Validated)]


@pytest.mark.parametrize("task", ["generate", "fill"])
def test_language_models_learn_and_end_in_a_folder(tmp_path: Path, task: str) -> None:
    values = text_values(tmp_path, task, updates=60, validate_every=20, learning_rate=0.01)
    found = scores(run_here(values, tmp_path / "model"))
    assert found[-1]["loss"] < found[0]["loss"]
    folder = read_model_folder(tmp_path / "model")
    assert folder.task == task
    assert folder.model.config.family == ("decoder" if task == "generate" else "encoder")


def test_a_masked_language_model_becomes_a_classifier(tmp_path: Path) -> None:
    """Whether the subject is alive: pre-train on plain text, then fine-tune with labels."""
    alive = {"cat", "king", "child", "tree"}
    run_here(text_values(tmp_path, "fill", updates=20), tmp_path / "encoder")
    rows = [("alive" if s.split()[2] in alive else "dead", s) for s, _ in corpus()]
    path = tmp_path / "labelled.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    values = tables(
        tmp_path, task="classify", start_from=str(tmp_path / "encoder"), updates=60,
        learning_rate=0.01, validate_every=20,
    )  # fmt: skip
    values.update(data={"data": str(path)}, tokenizer={}, model={"dropout": 0.1})
    found = scores(run_here(values, tmp_path / "classifier"))
    assert found[-1]["accuracy"] == 1.0
    folder = read_model_folder(tmp_path / "classifier")
    assert folder.labels == ("alive", "dead")
    ids = torch.tensor([folder.tokenizer.encode("the old king waits", start=True, end=True)])
    with torch.no_grad():
        assert int(folder.model.classify(ids).argmax()) == 0


def test_fine_tuning_grows_the_vocabulary_and_keeps_old_rows(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=4)
    run_here(values, tmp_path / "first")
    before = read_model_folder(tmp_path / "first")
    new = tmp_path / "new.tsv"
    words = [f"zebra {a} {b}" for a, b in itertools.product(("jazz", "quiz", "fizz"), repeat=2)]
    new.write_text("".join(f"{w}\t{w[::-1]}\n" for w in words * 5))
    values.update(
        data={"data": str(new), "clean": False, "holdout": 0}, tokenizer={}, model={},
        train={**values["train"], "start_from": str(tmp_path / "first"), "grow": 360,
               "updates": 1, "learning_rate": 1e-12},
    )  # fmt: skip
    run_here(values, tmp_path / "second")
    after = read_model_folder(tmp_path / "second")
    rows = before.tokenizer.vocabulary
    assert after.tokenizer.vocabulary > rows
    torch.testing.assert_close(
        after.model.embedding.weight[:rows], before.model.embedding.weight, atol=1e-6, rtol=0
    )


def test_a_token_store_trains_as_its_files_do(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=8)
    run_here(values, tmp_path / "files")
    tokenizer = Tokenizer.load(tmp_path / "files" / "tokenizer.model")
    build_store(tmp_path / "store", [Part(corpus()[:240])], tokenizer)
    values["data"] = {"store": str(tmp_path / "store"), "val_data": values["data"]["val_data"]}
    del values["tokenizer"]["vocabulary"]  # the store has its own
    run_here(values, tmp_path / "stored")
    assert results(tmp_path / "stored") == results(tmp_path / "files")


def test_a_store_with_another_target_tokenizer_than_the_model_is_refused(tmp_path: Path) -> None:
    pairs = corpus()[:60]
    values = {**tables(tmp_path, updates=1), "tokenizer": {"vocabulary": 330, "joint": False}}
    run_here(values, tmp_path / "model")
    source, theirs = (
        Tokenizer.load(tmp_path / "model" / f"{name}.model") for name in ("tokenizer", "target")
    )
    other = Tokenizer.train([target for _, target in pairs], kind="char", vocabulary=310)
    values["train"]["start_from"] = str(tmp_path / "model")
    values["model"] = {}
    data = {"store": str(tmp_path / "store"), "val_data": values["data"]["val_data"]}
    values = {**values, "data": data, "tokenizer": {}}
    for target in (other, None):
        build_store(tmp_path / "store", [Part(pairs)], source, target)
        with pytest.raises(ConfigError, match="another target tokenizer"):
            run_here(values, tmp_path / "refused")
    build_store(tmp_path / "store", [Part(pairs)], source, theirs)
    run_here(values, tmp_path / "continued")


def test_a_store_of_longer_sentences_makes_room_for_them(tmp_path: Path) -> None:
    values = {**tables(tmp_path, updates=1, tokens=700), "tokenizer": {}}
    tokenizer = Tokenizer.train([s for s, _ in corpus()], kind="word", vocabulary=400)
    long = (" ".join(["river"] * 300), " ".join(["king"] * 280))
    build_store(tmp_path / "store", [Part([long, *corpus()[:50]])], tokenizer)
    values["data"] = {"store": str(tmp_path / "store"), "val_data": values["data"]["val_data"]}
    run_here(values, tmp_path / "model")
    assert read_model_folder(tmp_path / "model").model.config.max_length >= 301


def test_a_task_for_another_family_is_refused(tmp_path: Path) -> None:
    run_here(tables(tmp_path, updates=1), tmp_path / "translator")
    values = text_values(tmp_path, "generate", start_from=str(tmp_path / "translator"))
    values.update(model={}, tokenizer={})
    with pytest.raises(ConfigError, match="needs 'decoder'"):
        run_here(values, tmp_path / "other")


def test_hidden_words_follow_the_shares() -> None:
    ids = np.random.Generator(np.random.PCG64(1)).integers(5, 900, (211, 97))
    ids[:, 0], ids[:, -1] = 2, 3
    hidden, gold = hide(ids, 0.15, 900, draw=7)
    chosen = gold != 0
    assert not chosen[:, 0].any()
    assert not chosen[:, -1].any()
    assert (gold[chosen] == ids[chosen]).all()
    assert (hidden[~chosen] == ids[~chosen]).all()
    assert chosen[:, 1:-1].mean() == pytest.approx(0.15, abs=0.01)
    assert (hidden[chosen] == 4).mean() == pytest.approx(0.8, abs=0.02)
    assert (hidden[chosen] == ids[chosen]).mean() == pytest.approx(0.1, abs=0.02)
    again = hide(ids, 0.15, 900, draw=7)
    assert all(np.array_equal(a, b) for a, b in zip(again, (hidden, gold), strict=True))


def test_snapshots_can_be_scrubbed_through(tmp_path: Path) -> None:
    assert snapshot_updates(100, 5) == [0, 6, 25, 56, 100]
    out = tmp_path / "model"
    run_here(tables(tmp_path, keep=5, updates=16), out)
    index = read_index(out / "snapshots")
    assert [entry["update"] for entry in index] == snapshot_updates(16, 5)
    final = read_model_folder(out).model
    for entry in index:
        weights = read_snapshot(out / "snapshots", entry["update"])
        final.load_state_dict(weights)  # every name and shape fits
    with pytest.raises(ModelFolderError, match=r"no snapshot of update 3; it has: 0, 1, 4"):
        read_snapshot(out / "snapshots", 3)


def test_early_stopping_waits_as_long_as_told(tmp_path: Path) -> None:
    values = tables(tmp_path, learning_rate=1e-30, validate_every=1, patience=3, updates=20)
    events = run_here(values, tmp_path / "model")
    assert len(scores(events)) <= 5


def test_of_many_validation_pairs_some_are_used_spread_evenly(tmp_path: Path) -> None:
    values = tables(tmp_path)
    values["data"]["val_limit"] = 7
    prepared = prepare(RunConfig.from_tables(values))
    everything = corpus()[240:]
    assert prepared.validation_rows == [everything[n * len(everything) // 7] for n in range(7)]
    assert any("7 of 40 validation rows" in note for note in prepared.notes)
    values["data"]["val_limit"] = 0
    assert len(prepare(RunConfig.from_tables(values)).validation_rows) == 40


def test_the_report_needs_no_other_file(tmp_path: Path) -> None:
    run_here(tables(tmp_path, updates=8), tmp_path / "model")
    page = (tmp_path / "model" / "report.html").read_text()
    assert "<polyline" in page
    assert "://" not in page
    assert "default-src 'none'" in page
    assert "training loss per token" in page
    text = (run_folder(tmp_path / "model") / "log.jsonl").read_text()
    log = [json.loads(line) for line in text.splitlines()]
    assert [line["update"] for line in log if "loss" in line] == [3, 6, 8]


def test_nothing_of_the_users_is_written_over(tmp_path: Path) -> None:
    precious = tmp_path / "documents"
    precious.mkdir()
    (precious / "novel.txt").write_text("It was a dark and stormy night")
    with pytest.raises(ModelFolderError, match="no model; choose a new folder"):
        run_here(tables(tmp_path), precious)
    assert (precious / "novel.txt").is_file()


def test_an_unspaced_target_without_languages_keeps_its_best_weights(tmp_path: Path) -> None:
    """With 13a every Chinese sentence is one word: BLEU stays 0 and the first weights are kept."""
    digits = "零一二三四五六七八九"
    numbers = [f"{n:03d}" for n in range(0, 1000, 7)]
    pairs = [(" ".join(text), "".join(digits[int(d)] for d in text)) for text in numbers]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    values = tables(
        tmp_path, updates=40, validate_every=10, tokens=512, learning_rate=0.02, ema=0.9
    )
    values["data"] = {"data": str(path), "holdout": 7}
    values["tokenizer"] = {"kind": "char", "vocabulary": 300}
    values["model"]["dropout"] = 0.0
    events = run_here(values, tmp_path / "model", validate=validator(1))
    tried = [event for event in events if isinstance(event, Validated)]
    assert len(tried) == 4
    assert tried[-1].metrics["loss"] < tried[0].metrics["loss"]
    best = [event.update for event in tried if event.best]
    assert best[-1] > tried[0].update
    metrics = json.loads((tmp_path / "model" / "metrics.json").read_text())
    assert "tok:zh" in metrics["signatures"]["bleu"]


def test_sequences_longer_than_the_position_table_are_refused_at_the_start(tmp_path: Path) -> None:
    values = tables(tmp_path)
    values["tokenizer"] = {"vocabulary": 330}
    values["model"]["max_length"] = 3
    with pytest.raises(ConfigError, match=r"model\.max_length is 3 and sequences have up to \d+"):
        run_here(values, tmp_path / "model")
    assert not run_folder(tmp_path / "model").exists()


def test_validation_runs_where_the_model_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the device `meta` as on a GPU: batches go to the device of the weights."""
    config = RunConfig.from_tables(tables(tmp_path))
    prepared = prepare(config)
    seen: list[torch.Tensor] = []

    def forward(objective: Objective, question: TaskBatch) -> float:
        seen.extend([question.source, question.gold])
        return 0.0

    monkeypatch.setattr(Objective, "forward", forward)
    model = initial_model(prepared, seed=1).to("meta")
    folder = ModelFolder(model, prepared.tokenizer)
    validation_scores(folder, prepared, config.train, None)
    assert {tensor.device.type for tensor in seen} == {"meta"}
