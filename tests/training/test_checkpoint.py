"""Checkpoints are whole or not there: killed at every line of a save, and on a full disk."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

from cutaway.artifact import files as files_module
from cutaway.errors import CheckpointError
from cutaway.training import checkpoint as checkpoint_module
from cutaway.training.checkpoint import load_checkpoint, save_checkpoint, saved
from cutaway.training.run import run_folder
from tests.training.helpers import results, run_here, start, tables


def save(folder: Path, update: int) -> None:
    """A small checkpoint whose every value is its update's number."""
    groups = {
        "weights": {"w": torch.full((7, 3), float(update))},
        "optimizer": {"exp_avg.w": torch.full((7, 3), float(update))},
    }
    save_checkpoint(folder, update, {"progress": {"update": update}}, groups)


def whole(folder: Path) -> int:
    """The update of the newest good checkpoint, all of whose parts must agree."""
    found, problems = load_checkpoint(folder)
    assert found is not None
    assert not problems
    update = int(found.state["progress"]["update"])
    for tensors in found.groups.values():
        assert all(bool((tensor == update).all()) for tensor in tensors.values())
    return update


def kill_at(folder: str, line: int, update: int) -> None:
    """Save, and be killed at the n-th line of checkpoint.py and files.py that is reached."""
    sources = {checkpoint_module.__file__, files_module.__file__}
    reached: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in sources:
            return None
        if event == "line":
            reached.add((frame.f_code.co_filename, frame.f_lineno))
            if len(reached) == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    save(Path(folder), update)
    sys.settrace(None)


def kill_at_every(folder: str, report: str) -> None:
    """Kill a save at line 1, 2, 3 … until it survives; tell after each which checkpoint holds."""
    update, line = 2, 0
    outcomes: list[tuple[int, int, int, int]] = []
    while True:
        line += 1
        child = os.fork()
        if child == 0:
            kill_at(folder, line, update)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        found = whole(Path(folder))
        outcomes.append((line, update, found, os.waitstatus_to_exitcode(status)))
        if status == 0:
            Path(report).write_text(json.dumps(outcomes))
            return
        if found == update:  # the save was complete before it was killed
            update += 1


def test_a_save_killed_at_any_line_leaves_the_old_or_the_new_one(tmp_path: Path) -> None:
    folder, report = tmp_path / "checkpoints", tmp_path / "messages"
    save(folder, 1)
    process = start(kill_at_every, str(folder), str(report))
    process.join(300)
    assert process.exitcode == 0
    seen = json.loads(report.read_text())
    assert len(seen) > 40  # lines of a save
    for line, update, found, status in seen:
        assert found in (update - 1, update), (line, found)
        assert status in (-signal.SIGKILL, 0)
    kept = {found == update for _, update, found, _ in seen}
    assert kept == {True, False}  # some kills came before the swap, some after


def test_what_an_interrupted_save_left_is_swept_away(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (tmp_path / ".update-00000002.new-abc").mkdir()
    save(tmp_path, 2)
    save(tmp_path, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "update-00000002",
        "update-00000003",
    ]


def limited(values: dict[str, Any], out: str, room: int, report: str) -> None:
    """Train where no file may grow beyond `room` bytes, which fails a write as a full disk does."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        run_here(values, Path(out), allow_changes=True)
    except CheckpointError as error:
        Path(report).write_text(str(error))


def test_a_write_that_fails_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    values, out = tables(tmp_path, updates=8, schedule="constant"), tmp_path / "model"
    run_here(values, out)
    before = results(out)
    values["train"]["updates"] = 16
    room = (saved(run_folder(out) / "checkpoints")[-1] / "optimizer.safetensors").stat().st_size - 1
    report = tmp_path / "messages"
    process = start(limited, values, str(out), room, str(report))
    process.join(120)
    message = report.read_text()
    assert "the checkpoints before it are untouched" in message
    assert "\n" not in message
    assert results(out)["weights.safetensors"] == before["weights.safetensors"]
    run_here(values, out, allow_changes=True)  # room again
    assert results(out) != before


def test_a_really_full_disk_harms_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("may not mount a small disk here; the limit on file size is tested above")
    try:
        save(disk / "checkpoints", 1)
        (disk / "filler").write_bytes(b"x" * 90_000)
        big = {"weights": {"w": torch.zeros(40_000)}}
        with pytest.raises(CheckpointError, match="No space left"):
            save_checkpoint(disk / "checkpoints", 2, {"progress": {"update": 2}}, big)
        assert whole(disk / "checkpoints") == 1
        (disk / "filler").unlink()
        save(disk / "checkpoints", 2)
        assert whole(disk / "checkpoints") == 2
    finally:
        subprocess.run(["umount", str(disk)], check=True)
