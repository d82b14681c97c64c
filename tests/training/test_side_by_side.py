"""Batches computed side by side give the bits of batches computed in turn."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway import glass
from cutaway.config import ModelConfig, RunConfig, TrainConfig
from cutaway.errors import ConfigError
from cutaway.model.dropout import drawing, random_bits
from cutaway.training.interrupts import Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.memory import Counting
from cutaway.training.precision import failure
from cutaway.training.prepare import prepare
from cutaway.training.processes import Processes
from cutaway.training.recipe import resolved
from cutaway.training.replay import Replay
from cutaway.training.side_by_side import SideBySide
from tests.training.helpers import results, run_here, tables

SETTINGS: dict[str, Any] = {
    "tokens": 287, "parts": 7, "updates": 5, "log_every": 1, "validate_every": 5
}  # fmt: skip


@pytest.fixture(autouse=True)
def restored_threads() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "more",
    [{}, {"r_drop": 1.3}, {"sim_cut": 1.7, "word_dropout": 0.1}, {"precision": "bfloat16"}],
)
def test_any_number_of_threads_gives_the_same_run(tmp_path: Path, more: dict[str, Any]) -> None:
    """Weights, optimizer, moving average, losses and place in the data, to the last bit.

    Only the loss of validation, which threads compute together, may differ in its last digit.
    """
    values = tables(tmp_path, **SETTINGS, **more)
    if "precision" in more and failure("bfloat16"):
        with pytest.raises(ConfigError, match="bfloat16"):
            run_here(values, tmp_path / "model")
        return
    found = []
    for threads in (1, 3):
        values["train"]["threads"] = threads
        run_here(values, tmp_path / f"model-{threads}")
        lines = (tmp_path / f"model-{threads}.run" / "log.jsonl").read_text().splitlines()
        losses = "".join(line for line in lines if "valid_loss" not in line)
        same = {**results(tmp_path / f"model-{threads}"), "log.jsonl": losses}
        progress = json.loads(same.pop("progress"))
        found.append({**same, "place": [progress[name] for name in ("update", "epoch", "cursor")]})
    assert found[0]["log.jsonl"]
    assert found[0] == found[1]


def trainer(folder: Path, attention_dropout: float = 0.0) -> Trainer:
    values = tables(folder, **SETTINGS)
    values["model"]["attention_dropout"] = attention_dropout
    config = RunConfig.from_tables(values)
    return Trainer(
        prepare(config),
        config,
        processes=Processes(),
        device=torch.device("cpu"),
        watch=lambda event: None,
        interrupts=Interrupts(),
    )


def test_the_gradient_is_that_of_the_plain_path(tmp_path: Path) -> None:
    torch.set_num_threads(3)
    one = trainer(tmp_path)
    assert one._beside is not None
    assert (one._beside.workers, one._beside.each) == (3, 1)
    batches, _, _ = next(one.work())
    assert len(batches) == 7
    questions = one.questions(batches)
    one.wrapped.train()

    def gradients() -> list[torch.Tensor]:
        one.optimizer.zero_grad()
        losses = one._backward(batches, questions)
        found = [parameter.grad for parameter in one.named.values()]
        assert all(gradient is not None for gradient in found)
        return [torch.stack(losses), *(g.clone() for g in found if g is not None)]

    with Counting() as counted:  # watches this thread alone, so batches come in turn
        plain = gradients()
    assert counted.bytes > sum(gradient.nbytes for gradient in plain)
    for _ in range(5):
        for beside, alone in zip(gradients(), plain, strict=True):
            torch.testing.assert_close(beside, alone, rtol=0, atol=0)


def test_what_a_recorder_watches_is_computed_in_its_thread(tmp_path: Path) -> None:
    torch.set_num_threads(3)
    one = trainer(tmp_path)
    batches, cursor, _ = next(one.work())
    with glass.record(one.model) as trace:
        one.update(batches, cursor)
    inside = [one for one in trace if one.path == "decoder.layers.0.feed_forward"]
    assert len(inside) >= 7  # one batch and more each


def test_an_update_of_a_run_side_by_side_is_replayed_with_its_bits(tmp_path: Path) -> None:
    values = tables(tmp_path, **SETTINGS, save_minutes=1e-9)
    values["train"]["threads"] = 2
    run_here(values, tmp_path / "model")
    found = Replay(tmp_path / "model").record(3)
    assert found.agreement.exact
    assert len(found.facts["batches"]) == 7


def test_threads_left_over_share_the_operations_of_a_batch() -> None:
    torch.set_num_threads(7)
    beside = SideBySide(3)
    assert (beside.workers, beside.each) == (3, 2)
    alone = SideBySide(1)
    assert (alone.workers, alone.each) == (1, 7)


def test_what_goes_wrong_in_a_batch_is_raised_and_threads_are_as_before(tmp_path: Path) -> None:
    torch.set_num_threads(3)
    one = trainer(tmp_path)
    beside = one._beside
    assert beside is not None
    weight = next(iter(one.named.values()))

    def broken() -> torch.Tensor:
        raise ValueError("one of the batches")

    with pytest.raises(ValueError, match="one of the batches"):
        beside.gradients([lambda: weight.sum(), broken, lambda: weight.sum()], [weight])
    assert torch.get_num_threads() == 3


def test_torchs_own_draws_are_never_made_side_by_side(tmp_path: Path) -> None:
    torch.set_num_threads(3)
    assert trainer(tmp_path, attention_dropout=0.1)._beside is None


def test_a_thread_draws_its_own_numbers() -> None:
    torch.manual_seed(5)
    plain = random_bits(37)
    torch.manual_seed(11)
    with drawing(5):
        assert torch.equal(random_bits(37), plain)
    torch.manual_seed(5)
    assert torch.equal(random_bits(37), plain)


@pytest.mark.parametrize(
    ("tokens", "parts"), [(100, 1), (1023, 1), (1024, 2), (4096, 4), (50_000, 4)]
)
def test_parts_follow_from_the_tokens_not_from_the_machine(tokens: int, parts: int) -> None:
    model = ModelConfig.preset("tiny", vocabulary=97)
    for threads in (1, 3):
        torch.set_num_threads(threads)
        assert resolved(TrainConfig(tokens=tokens, device="cpu"), model).parts == parts
    assert resolved(TrainConfig(tokens=tokens, device="cpu", parts=3), model).parts == 3
