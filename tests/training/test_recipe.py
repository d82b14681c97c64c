"""What is chosen for a model and a corpus when nothing is said."""

from pathlib import Path
from typing import Any

import pytest

from cutaway.config import PRESETS, ModelConfig, RunConfig, TrainConfig
from cutaway.training.events import Event, Note, Started
from cutaway.training.recipe import (
    chosen_epochs,
    described,
    last_epochs,
    resolved,
    suits,
    teacher_epochs,
)
from cutaway.training.run import train
from cutaway.training.schedule import peak_rate
from tests.training.helpers import tables

CHOSEN = {  # preset: peak rate at most, warm-up, tokens of an update at least
    "tiny": (4e-3, 800, 4096),
    "small": (1.7e-3, 800, 4096),
    "base": (7.1e-4, 4000, 25_000),
    "big": (5e-4, 4000, 25_000),
}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_no_preset_is_trained_too_hot(name: str, norm: str) -> None:
    rate, warmup, tokens = CHOSEN[name]
    model = ModelConfig.preset(name, vocabulary=97, norm=norm)
    settings = resolved(TrainConfig(), model)
    assert settings.warmup == warmup
    assert settings.tokens * settings.accumulate >= tokens
    assert peak_rate(settings, model, 100_000) <= (rate if norm == "pre" else 3.2e-3)
    if name in ("base", "big"):
        assert peak_rate(settings, model, 100_000) <= 7.1e-4


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_an_update_of_a_large_model_holds_as_much_in_any_number_of_processes(
    processes: int,
) -> None:
    model = ModelConfig.preset("base", vocabulary=97)
    settings = resolved(TrainConfig(tokens=1999), model, processes)
    tokens = settings.tokens * settings.accumulate * processes
    assert 25_000 <= tokens < 25_000 + 1999 * processes


def test_what_is_said_is_kept() -> None:
    model = ModelConfig.preset("base", vocabulary=97)
    settings = resolved(TrainConfig(warmup=13, accumulate=3), model, 5)
    assert (settings.warmup, settings.accumulate) == (13, 3)


SMALL = ModelConfig.preset("tiny", vocabulary=97)


def test_a_small_translator_keeps_a_high_rate() -> None:
    settings = resolved(TrainConfig(), SMALL, pairs=29_000)
    assert (settings.optimizer, settings.schedule) == ("muon", "inverse-sqrt")
    assert peak_rate(settings, SMALL, 6000) == pytest.approx(1e-2, rel=0.01)


@pytest.mark.parametrize(
    ("said", "model", "pairs"),
    [
        ({}, SMALL, 9_999),
        ({}, ModelConfig.preset("small", vocabulary=97), 29_000),
        ({}, ModelConfig.preset("tiny", vocabulary=97, norm="post"), 29_000),
        ({"start_from": "models/en-fr"}, SMALL, 29_000),
        ({"task": "generate"}, SMALL, 29_000),
        ({"ema": 0.0}, SMALL, 29_000),  # nothing would remove the noise of a high rate
    ],
)
def test_others_get_adamw_and_a_cosine(
    said: dict[str, Any], model: ModelConfig, pairs: int
) -> None:
    settings = resolved(TrainConfig(**said), model, pairs=pairs)
    assert (settings.optimizer, settings.schedule) == ("adamw", "cosine")


def test_an_optimizer_or_a_schedule_that_is_named_is_kept() -> None:
    settings = resolved(TrainConfig(optimizer="muon"), SMALL, pairs=29_000)
    assert (settings.optimizer, settings.schedule) == ("muon", "cosine")
    settings = resolved(TrainConfig(schedule="constant"), SMALL, pairs=29_000)
    assert (settings.optimizer, settings.schedule) == ("adamw", "constant")


def test_a_small_corpus_gets_enough_updates_and_a_large_one_hears_what_is_usual() -> None:
    assert chosen_epochs(500, 2) == 500  # a thousand updates, not 60 epochs of two
    assert chosen_epochs(29_000, 133) == 45
    assert chosen_epochs(160_000, 700) == 8
    assert chosen_epochs(10**7, 40_000) == 3
    assert "usual" not in described(500, 1000, 4096)
    said = described(8, 5600, 4096)
    assert said.startswith("8 epochs chosen: 5,600 updates of up to 4,096 tokens per side; ")
    assert "--epochs 50" in said
    assert "6.2 times as long" in said


def test_a_run_says_how_many_tokens_one_update_takes(tmp_path: Path) -> None:
    """Those of all its batches, however many parts these are cut into."""
    values = tables(tmp_path, tokens=2048, accumulate=3)
    del values["train"]["updates"]
    notes: list[str] = []

    class Enough(Exception):
        pass

    def watch(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
        if isinstance(event, Started):
            raise Enough

    with pytest.raises(Enough):
        train(RunConfig.from_tables(values), tmp_path / "model", watch=watch)
    assert any("updates of up to 6,144 tokens per side" in note for note in notes)


def test_diversification_takes_less_than_twice_the_rows_of_a_usual_run() -> None:
    for pairs in (20_000, 29_000, 61_000, 99_999):
        assert suits(pairs, 1)
        rows = pairs * (2 * teacher_epochs(pairs) + 3 * last_epochs(pairs, 3 * pairs))
        usual = pairs * chosen_epochs(pairs, pairs // 200)
        assert usual < rows < 2 * usual
    assert not any(suits(*case) for case in ((19_999, 1), (100_000, 1), (29_000, 2)))
    assert (teacher_epochs(2_000), last_epochs(2_000, 6_000)) == (0, 0)  # updates decide
