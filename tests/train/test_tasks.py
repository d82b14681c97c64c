"""The four tasks, fine-tuning with a grown vocabulary, and what a run leaves behind."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cutaway.corpus import build_store
from cutaway.errors import ConfigError, ModelFolderError
from cutaway.text import Tokenizer
from cutaway.train.events import Validated
from cutaway.train.folder import read_model_folder
from cutaway.train.objective import hide
from cutaway.train.run import run_folder
from cutaway.train.snapshots import read_index, read_snapshot, snapshot_updates
from tests.train.helpers import corpus, results, run_here, tables


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
    build_store(tmp_path / "store", corpus()[:240], tokenizer)
    values["data"] = {"store": str(tmp_path / "store"), "val_data": values["data"]["val_data"]}
    run_here(values, tmp_path / "stored")
    assert results(tmp_path / "stored") == results(tmp_path / "files")


def test_a_store_of_longer_sentences_makes_room_for_them(tmp_path: Path) -> None:
    values = {**tables(tmp_path, updates=1, tokens=700), "tokenizer": {}}
    tokenizer = Tokenizer.train([s for s, _ in corpus()], kind="word", vocabulary=400)
    long = (" ".join(["river"] * 300), " ".join(["king"] * 280))
    build_store(tmp_path / "store", [long, *corpus()[:50]], tokenizer)
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


def test_the_report_needs_no_other_file(tmp_path: Path) -> None:
    run_here(tables(tmp_path, updates=8), tmp_path / "model")
    page = (tmp_path / "model" / "report.html").read_text()
    assert "<polyline" in page
    assert "http" not in page
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
