"""What is shared says no more than it must: no paths, no processor, no sentences if so asked."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cutaway
from cutaway.cli.main import app
from cutaway.config import RunConfig
from cutaway.training.environment import describe
from tests.training.helpers import corpus, run_here, tables


def folder_text(folder: Path) -> str:
    """Every text of a model folder."""
    return "\n".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".json", ".jsonl", ".md", ".html")
    )


@pytest.mark.parametrize("private", [False, True])
def test_a_model_folder_has_no_paths_no_processor_and_sentences_only_if_allowed(
    tmp_path: Path, private: bool
) -> None:
    import torch

    values = tables(tmp_path, updates=8, validate_every=4, keep=2, private=private)
    cutaway.train(tmp_path / "model", RunConfig.from_tables(values))
    text = folder_text(tmp_path / "model")
    assert str(tmp_path) not in text
    assert os.path.expanduser("~") + "/" not in text
    assert "train.tsv" in text  # the name alone
    processor = str(describe(torch.device("cpu"), 1, "ddp")["cpu"])
    assert processor not in text
    held_out = [source for source, _ in corpus()[240:]]
    found = [sentence for sentence in held_out if sentence in text]
    assert bool(found) is not private
    assert (tmp_path / "model" / "report.html").read_text().count("Content-Security-Policy") == 1


def test_the_model_card_lists_what_is_inside(tmp_path: Path) -> None:
    run_here(tables(tmp_path, updates=8, validate_every=4, keep=2), tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    inside = card.partition("## Inside")[2].partition("##")[0]
    for name in ("tokenizer.model", "log.jsonl", "report.html", "snapshots"):
        assert f"- {name}: " in inside
        assert (tmp_path / "model" / name).exists()


def test_a_notebook_does_not_say_where_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_here(tables(tmp_path, updates=2), tmp_path / "model")
    arguments = ["lesson", "self-attention", "--model", str(tmp_path / "model"), "--notebook"]
    arguments += [str(tmp_path / "book.ipynb")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    book = json.loads((tmp_path / "book.ipynb").read_text())
    assert str(tmp_path) not in json.dumps(book)
    assert "model" in json.dumps(book["cells"])
