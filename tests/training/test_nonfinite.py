"""A loss or gradient that is no number stops the run before the weights change."""

import math
from pathlib import Path

import pytest
import torch

from cutaway.artifact.folder import ModelFolder, write_model_folder
from cutaway.config import ModelConfig
from cutaway.errors import TrainingError
from cutaway.model import Transformer
from cutaway.text import Tokenizer
from cutaway.training.checkpoint import load_checkpoint
from cutaway.training.run import run_folder
from tests.training.helpers import corpus, run_here, tables


def test_a_poisoned_word_is_named_with_its_sentences(tmp_path: Path) -> None:
    """One row of the source table is NaN: only sentences with that word can be to blame."""
    pairs = corpus()
    tokenizer = Tokenizer.train([s for s, _ in pairs], kind="word", vocabulary=400)
    config = ModelConfig.preset(
        "tiny", vocabulary=tokenizer.vocabulary, tied="none", encoder_layers=1, decoder_layers=1,
        d_model=16, heads=2, d_ff=24,
    )  # fmt: skip
    model = Transformer(config)
    (king,) = tokenizer.encode("king")
    with torch.no_grad():
        model.embedding.weight[king] = math.nan
    write_model_folder(tmp_path / "poisoned", ModelFolder(model, tokenizer))
    values = tables(tmp_path, start_from=str(tmp_path / "poisoned"), tokens=64)
    values["tokenizer"], values["model"] = {}, {}
    with pytest.raises(TrainingError, match=r"update \d+: the loss is nan") as stopped:
        run_here(values, tmp_path / "model")
    message = str(stopped.value)
    assert "weights are as they were" in message
    named = message.partition("Sentences: ")[2].split("; line")
    assert named
    assert all("king" in sentence for sentence in named)


def test_weights_that_ran_away_stop_at_the_last_finite_ones(tmp_path: Path) -> None:
    values = tables(tmp_path, learning_rate=1e30, clip=0.0, warmup=1, schedule="constant")
    out = tmp_path / "model"
    with pytest.raises(TrainingError, match=r"update 2: the (loss|gradient) is (nan|inf)"):
        run_here(values, out)
    checkpoint, _ = load_checkpoint(run_folder(out) / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.state["progress"]["update"] == 1
    assert all(bool(torch.isfinite(w).all()) for w in checkpoint.groups["weights"].values())
