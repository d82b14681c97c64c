"""Two trainings of one --out: the second is told who holds it; a lock left behind is noticed."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import cutaway
from cutaway.artifact import lock
from cutaway.artifact.lock import NAME, held
from cutaway.artifact.places import run_folder
from cutaway.errors import TrainingError

HOLD = """
import sys
from pathlib import Path
from cutaway.artifact.lock import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_training_is_refused_before_it_reads_anything(tmp_path: Path) -> None:
    out = tmp_path / "model"
    with (
        held(run_folder(out)),
        pytest.raises(TrainingError, match=rf"process {os.getpid()} on .*, since 20\d\d-.*--out"),
    ):
        cutaway.train(out, {"data": {"data": str(tmp_path / "no-corpus.tsv")}})
    assert not run_folder(out).exists()


def test_a_killed_process_holds_nothing_and_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(TrainingError, match=f"process {process.pid} "), held(tmp_path):
            pass
        process.kill()
        process.wait(30)
    with held(tmp_path) as stale:
        assert stale is not None
        assert stale["process"] == process.pid
    with held(tmp_path) as stale:
        assert stale is None
    assert (tmp_path / NAME).read_bytes() == b""


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": 1}', '{"process": "x"}', "\x00"])
def test_any_content_of_the_file_is_survived(content: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(content, encoding="utf-8")
    with held(tmp_path) as stale:
        assert stale is None


def test_without_locks_of_the_system_a_living_process_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "lock", lambda file: None)
    for process, is_refused in [(os.getppid(), True), (2**22 + 7, False)]:
        holder = {"host": platform.node(), "process": process, "since": 1e9}
        (tmp_path / NAME).write_text(json.dumps(holder), encoding="utf-8")
        if is_refused:
            with pytest.raises(TrainingError, match="is in use"), held(tmp_path):
                pass
        else:
            with held(tmp_path) as stale:
                assert stale == holder
