"""A run that is killed or damaged ends as if nothing had happened."""

import random
import signal
from pathlib import Path

import pytest

from cutaway.errors import CheckpointError, TrainingError
from cutaway.train.checkpoint import saved
from cutaway.train.events import Note, Updated
from cutaway.train.run import run_folder
from tests.train.helpers import child_run, results, run_here, start, tables


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
        told = [event.text for event in events if isinstance(event, Note)]
        assert f"resumed after update {int(before.name[-8:])}" in told
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


def test_an_altered_log_is_restored_and_told(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    values, out = tables(tmp_path, average=2), tmp_path / "model"
    run_here(values, out)
    damage(run_folder(out) / "log.jsonl")
    events = run_here(values, out)
    assert any("log.jsonl was altered" in e.text for e in events if isinstance(e, Note))
    assert results(out) == undisturbed


def test_changed_data_is_refused_then_reported(tmp_path: Path) -> None:
    values, out = tables(tmp_path), tmp_path / "model"
    run_here(values, out)
    training = Path(values["data"]["data"])
    lines = training.read_text().splitlines(keepends=True)
    training.write_text("".join([*lines[1:], lines[0]]))
    with pytest.raises(TrainingError, match=r"begun otherwise: data\.training"):
        run_here(values, out)
    events = run_here(values, out, allow_changes=True)
    assert any("data.training" in e.text for e in events if isinstance(e, Note) and e.warning)
