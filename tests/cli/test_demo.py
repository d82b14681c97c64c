"""`cutaway demo`: what it prints, for both pairs, and that a trained folder is used again."""

import re
import shutil
import sys
from itertools import chain
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cutaway.cli.demo import RECIPE
from cutaway.cli.main import app
from cutaway.corpus.embedded import (
    PAIRS,
    SPLITS,
    chosen_sentences,
    embedded,
    pairs_of,
    rows,
)
from cutaway.data import demo_model

SIZES = dict(zip(SPLITS, (307, 13, 11), strict=True))  # of a corpus for a short training


def demo(*arguments: object) -> str:
    result = CliRunner().invoke(
        app, ["demo", "--no-serve", *map(str, arguments)], env={"COLUMNS": "200"}
    )
    assert result.exit_code == 0, result.output
    return result.stdout


def groups(printed: str) -> tuple[str, str, str]:
    """What is printed above, of sentences in training, and of those that are not."""
    parts = re.split("^(?:In|Not in) the training data: .*\n", printed, flags=re.MULTILINE)
    assert len(parts) == 3, printed
    return parts[0], parts[1], parts[2]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_trained_folder_is_used_again_and_its_sentences_are_shown_in_groups(
    pair: str, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(demo_model(pair), folder)
    before = (folder / "manifest.json").read_bytes()
    printed = demo("--pair", pair, "--out", folder)
    assert "trained already" in printed
    head, known, unseen = groups(printed)
    assert "unseen test sentences translated exactly" in head
    for part, group in ((known, "known"), (unseen, "unseen")):
        for source, target in chosen_sentences(pair, group):
            assert f" {source} " in part
            assert re.search(f"[✓✗] +{re.escape(source)} +.*{re.escape(target)}", part), source
    assert "Attention of" in unseen
    assert (folder / "manifest.json").read_bytes() == before


def test_a_model_of_another_pair_is_not_taken_for_this_one(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(demo_model("en-fr"), folder)
    result = CliRunner().invoke(
        app, ["demo", "--no-serve", "--pair", "en-zh", "--out", str(folder)]
    )
    assert "holds a model for en → fr" in str(result.exception)


@pytest.mark.parametrize("pair", PAIRS)
def test_a_short_training_goes_through_to_the_end(
    pair: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [[row for row in rows() if row[0] == split][:size] for split, size in SIZES.items()]
    module = sys.modules[embedded.__module__]  # the package names its function alike
    monkeypatch.setattr(module, "rows", lambda: tuple(chain(*few)))
    monkeypatch.setitem(RECIPE, "train", {**RECIPE["train"], "updates": 3, "keep": 2})
    pairs_of.cache_clear()
    try:
        printed = demo("--pair", pair, "--out", tmp_path / "model")
    finally:
        pairs_of.cache_clear()
    assert "of 11 unseen test sentences translated exactly" in groups(printed)[0]
    assert (tmp_path / "model" / "snapshots" / "index.json").is_file()
