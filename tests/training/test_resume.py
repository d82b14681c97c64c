"""A run that is killed or damaged ends as if nothing had happened."""

import gc
import os
import random
import signal
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from cutaway.artifact.files import sha256
from cutaway.config import RunConfig
from cutaway.errors import CheckpointError, TrainingError
from cutaway.training.checkpoint import load_checkpoint, save_checkpoint, saved, update_of
from cutaway.training.events import Event, Note, Updated
from cutaway.training.interrupts import Interrupted
from cutaway.training.run import run_folder, train
from tests.training.helpers import child_run, results, run_here, start, tables


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What an uninterrupted run leaves."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run_here(tables(folder, average=2), folder / "model")
    return results(folder / "model")


@pytest.mark.parametrize("seed", range(3))
def test_sigkill_at_random_moments_changes_no_bit(
    tmp_path: Path, undisturbed: dict[str, str], seed: int
) -> None:
    values = tables(tmp_path, average=2, save_minutes=1e-9)  # after every update
    out = tmp_path / "model"
    chance = random.Random(seed)
    killed = 0
    for _ in range(5):
        process = start(child_run, values, str(out), chance.uniform(0.0, 0.5))
        process.join(120)
        killed += process.exitcode == -signal.SIGKILL
        if process.exitcode == 0:
            break
    assert killed, "no kill struck in time; lower the delays"
    run_here(values, out)
    assert results(out) == undisturbed


def test_a_second_run_of_the_same_command_changes_nothing(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    values, out = tables(tmp_path, average=2), tmp_path / "model"
    run_here(values, out)
    events = run_here(values, out)
    assert results(out) == undisturbed
    assert not [event for event in events if isinstance(event, Updated)]


def test_a_flipped_byte_in_any_file_is_named_and_the_one_before_is_used(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    values, out = tables(tmp_path, average=2), tmp_path / "model"
    run_here(values, out)
    names = sorted(path.name for path in saved(run_folder(out) / "checkpoints")[-1].iterdir())
    assert {"weights.safetensors", "optimizer.safetensors", "ema.safetensors"} <= set(names)
    for name in names:
        newest, before = saved(run_folder(out) / "checkpoints")[:-3:-1]
        damage(newest / name)
        events = run_here(values, out)
        warnings = [event.text for event in events if isinstance(event, Note) and event.warning]
        assert any(newest.name in text and name in text for text in warnings), (name, warnings)
        messages = [event.text for event in events if isinstance(event, Note)]
        assert f"resumed after update {int(before.name[-8:])}" in messages
        assert results(out) == undisturbed


def damage(path: Path) -> None:
    """Flip one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def test_no_good_checkpoint_is_an_error_not_a_new_beginning(tmp_path: Path) -> None:
    values, out = tables(tmp_path), tmp_path / "model"
    run_here(values, out)
    for path in saved(run_folder(out) / "checkpoints"):
        damage(path / "weights.safetensors")
    with pytest.raises(CheckpointError, match=r"no checkpoint .* can be trusted .*weights"):
        run_here(values, out)


def test_an_altered_log_is_told_and_keeps_the_lines_that_can_be_read(tmp_path: Path) -> None:
    values, out = tables(tmp_path, average=2), tmp_path / "model"
    run_here(values, out)
    log = run_folder(out) / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], b"no JSON\n", *lines[3:]]))
    before = results(out)
    events = run_here(values, out)
    assert any("log.jsonl was altered" in e.text for e in events if isinstance(e, Note))
    assert log.read_bytes() == b"".join([*lines[:2], *lines[3:]])
    assert results(out)["weights.safetensors"] == before["weights.safetensors"]


def test_changed_data_is_refused_then_reported(tmp_path: Path) -> None:
    values, out = tables(tmp_path), tmp_path / "model"
    run_here(values, out)
    training = Path(values["data"]["data"])
    lines = training.read_text().splitlines(keepends=True)
    training.write_text("".join([*lines[1:], lines[0]]))
    with pytest.raises(TrainingError, match=r"started with other settings: data\.training"):
        run_here(values, out)
    events = run_here(values, out, allow_changes=True)
    assert any("data.training" in e.text for e in events if isinstance(e, Note) and e.warning)


class Written:
    """Counts the bytes given to files opened for writing in a folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.bytes = 0
        opened = Path.open

        def counting(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
            file: Any = opened(path, mode, *rest, **more)
            if path.name == name and ("w" in mode or "a" in mode):
                write = file.write
                file = _Proxy(file, lambda text: self._count(write, text))
            return file

        monkeypatch.setattr(Path, "open", counting)

    def _count(self, write: Any, text: bytes) -> int:
        self.bytes += len(text)
        return int(write(text))


class _Proxy:
    def __init__(self, file: Any, write: Any) -> None:
        self.file, self.write = file, write

    def __enter__(self) -> "_Proxy":
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def test_every_byte_of_the_log_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written(monkeypatch, "log.jsonl")
    out = tmp_path / "model"
    run_here(tables(tmp_path, updates=31, log_every=1, save_minutes=1e-9), out)
    assert written.bytes == (run_folder(out) / "log.jsonl").stat().st_size > 2000
    kept = list((run_folder(out) / "checkpoints").rglob("log.jsonl"))
    assert kept == []  # a checkpoint knows the length and hash, it holds no copy


def test_a_log_that_ran_ahead_of_the_checkpoint_is_cut_back(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    values, out = tables(tmp_path, average=2), tmp_path / "model"
    stop_after(values, out, 13)
    log = run_folder(out) / "log.jsonl"
    log.write_bytes(log.read_bytes() + b'{"update": 99, "loss": 1.0}\n{"upd')
    events = run_here(values, out)
    assert not any("altered" in e.text for e in events if isinstance(e, Note))
    assert results(out) == undisturbed


def stop_after(values: dict[str, Any], out: Path, update: int) -> None:
    """Train, and stop as by SIGTERM once an update is reported."""

    def watch(event: object) -> None:
        if isinstance(event, Updated) and event.update >= update:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        train(RunConfig.from_tables(values), out, watch=watch)


def test_an_average_switched_on_later_begins_with_the_weights_of_then(tmp_path: Path) -> None:
    values, out = tables(tmp_path, ema=0.0, learning_rate=0.03), tmp_path / "model"
    stop_after(values, out, 12)
    (last,) = saved(run_folder(out) / "checkpoints")[-1:]
    before = load_file(last / "weights.safetensors")
    later = {**values, "train": {**values["train"], "ema": 0.9999, "updates": 13}}
    run_here(later, out, allow_changes=True)
    (last,) = saved(run_folder(out) / "checkpoints")[-1:]
    after, average = (load_file(last / f"{name}.safetensors") for name in ("weights", "ema"))
    share = 1 - (1 + 13) / (10 + 13)
    for name, tensor in average.items():
        expected = before[name] + share * (after[name] - before[name])
        torch.testing.assert_close(tensor, expected, rtol=0, atol=1e-6)


def test_more_patience_lets_a_stopped_run_go_on(tmp_path: Path) -> None:
    impatient = tables(tmp_path, validate_every=2, patience=1, learning_rate=1.0, stop_on="loss")
    out = tmp_path / "model"
    run_here(impatient, out)
    (stopped,) = saved(run_folder(out) / "checkpoints")[-1:]
    assert update_of(stopped) < 24
    patient = {**impatient, "train": {**impatient["train"], "patience": 100}}
    run_here(patient, out, allow_changes=True)
    (last,) = saved(run_folder(out) / "checkpoints")[-1:]
    assert update_of(last) == 24


def test_training_goes_on_while_a_checkpoint_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer of update 2 waits until update 3 is made; what it writes is update 2 still."""
    values = tables(tmp_path, updates=9, validate_every=9, log_every=1, save_minutes=1e-9)
    third = threading.Event()
    digests: dict[str, dict[int, str]] = {"quick.run": {}, "slow.run": {}}

    def patient(folder: Path, update: int, *rest: Any) -> Path:
        run = folder.parent.name
        if update == 2 and run == "slow.run":
            assert third.wait(120)
        path = save_checkpoint(folder, update, *rest)
        files = [sha256(path / f"{name}.safetensors") for name in ("weights", "optimizer", "ema")]
        digests[run][update] = " ".join(files)
        return path

    def watch(event: Event) -> None:
        if isinstance(event, Updated) and event.update == 3:
            third.set()

    monkeypatch.setattr("cutaway.training.outputs.save_checkpoint", patient)
    train(RunConfig.from_tables(values), tmp_path / "quick")
    train(RunConfig.from_tables(values), tmp_path / "slow", watch=watch)
    assert digests["quick.run"] == digests["slow.run"]
    assert sorted(digests["slow.run"]) == list(range(1, 10))


def test_a_checkpoint_that_cannot_be_written_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path, update: int, *rest: Any) -> Path:
        raise CheckpointError(f"cannot write {folder}: no space")

    monkeypatch.setattr("cutaway.training.outputs.save_checkpoint", full)
    with pytest.raises(CheckpointError, match="no space"):
        run_here(tables(tmp_path, save_minutes=1e-9), tmp_path / "model")


def test_a_resumed_run_lets_go_of_the_checkpoint_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, out = tables(tmp_path), tmp_path / "model"
    stop_after(values, out, 12)
    read: list[weakref.ref[torch.Tensor]] = []

    def noting(folder: Path) -> Any:
        checkpoint, problems = load_checkpoint(folder)
        assert checkpoint is not None
        for group in ("weights", "optimizer", "ema"):
            read.extend(weakref.ref(tensor) for tensor in checkpoint.groups[group].values())
        return checkpoint, problems

    monkeypatch.setattr("cutaway.training.run.load_checkpoint", noting)
    alive: list[int] = []

    def watch(event: object) -> None:
        if isinstance(event, Updated):
            gc.collect()
            alive.append(sum(reference() is not None for reference in read))

    train(RunConfig.from_tables(values), out, watch=watch)
    assert len(read) > 50
    assert alive
    assert not any(alive)
