"""Commands on a local Ray cluster of several processes, which are killed: nothing is lost."""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cutaway
from cutaway.cli.main import app
from cutaway.corpus.embedded import embedded
from tests.interop.conftest import HERE, interpreter, offline

pytestmark = pytest.mark.interop

NEVER = -1  # the number of no shard


def start(
    tmp_path: Path, work: str, arguments: list[str], *, seconds: float = 0, deadly: int = NEVER
) -> subprocess.Popen[str]:
    """Begin a command in the environment of Ray, in shards of 23 lines."""
    python = interpreter("ray")
    process = subprocess.Popen(
        [python, HERE / "run_ray.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=offline(tmp_path),
    )
    request: dict[str, Any] = {
        "work": work,
        "arguments": [*arguments, "--ray", "local"],
        "lines": 23,
        "seconds": seconds,
        "deadly": deadly,
        "mark": str(tmp_path / "died"),
    }
    assert process.stdin is not None
    process.stdin.write(json.dumps(request))
    process.stdin.close()
    process.stdin = None
    return process


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a command said, on standard output and standard error."""
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error[-3000:]
    return out, error


def plain(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def contents(path: Path) -> dict[str, bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {file.name if path.is_dir() else "": file.read_bytes() for file in files}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """211 pairs, 47 of them twice, some that filters remove."""
    monkeypatch.chdir(tmp_path)
    pairs = list(embedded("en-fr", "test"))[:211]
    pairs += [*pairs[31:78], ("same", "same"), ("", "x")]
    path = tmp_path / "corpus.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return path


def test_translating_a_killed_worker_loses_nothing_and_no_line_comes_twice(tmp_path: Path) -> None:
    sources = [source for source, _ in embedded("en-fr", "test")][:211]
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in sources), encoding="utf-8")
    arguments = ["translate", "demo-en-fr", "in.txt", "--beam", "1", "-o", "out.txt"]
    finished(start(tmp_path, "translate", arguments, deadly=4))
    assert (tmp_path / "died").is_file()
    expected = cutaway.load("demo-en-fr").translate(sources, beam=1, costs=False)
    found = (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()
    assert found == [translation.text for translation in expected]
    assert list(tmp_path.glob("out.*")) == [tmp_path / "out.txt"]  # no shards, no partial file


COMMANDS = {
    "clean": (["data", "clean", "corpus.tsv"], ".tsv", "judged"),
    "encode": (["data", "build", "corpus.tsv", "--vocabulary", "401"], ".store", "ids"),
}


@pytest.mark.parametrize("work", COMMANDS)
def test_a_killed_worker_changes_nothing_in_the_result(
    tmp_path: Path, corpus: Path, work: str
) -> None:
    command, suffix, _ = COMMANDS[work]
    told = plain(*command, "--out", f"plain{suffix}")
    out, _ = finished(start(tmp_path, work, [*command, "--out", f"ray{suffix}"], deadly=4))
    assert (tmp_path / "died").is_file()
    assert out.replace("ray", "plain").endswith(told)  # Ray itself tells of the death before
    assert contents(tmp_path / f"ray{suffix}") == contents(tmp_path / f"plain{suffix}")
    assert list(tmp_path.glob("ray*")) == [tmp_path / f"ray{suffix}"]


@pytest.mark.parametrize("work", COMMANDS)
def test_a_command_that_was_killed_goes_on_with_the_shards_it_has(
    tmp_path: Path, corpus: Path, work: str
) -> None:
    command, suffix, folder = COMMANDS[work]
    told = plain(*command, "--out", f"plain{suffix}")
    arguments = [*command, "--out", f"ray{suffix}"]
    process = start(tmp_path, work, arguments, seconds=0.5)
    place = tmp_path / f"ray{suffix}.shards" / folder
    end = time.monotonic() + 600
    while len(list(place.glob("0*"))) < 3:
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < end
        time.sleep(0.05)
    process.kill()
    process.wait(60)
    process.communicate()
    assert not (tmp_path / f"ray{suffix}").exists()
    out, error = finished(start(tmp_path, work, arguments))
    assert out.replace("ray", "plain") == told
    verb = "clean" if work == "clean" else "encode"
    (found,) = re.findall(rf"(\d+) shards, (\d+) to {verb}", error)
    assert int(found[1]) <= int(found[0]) - 3
    assert contents(tmp_path / f"ray{suffix}") == contents(tmp_path / f"plain{suffix}")
    assert list(tmp_path.glob("ray*")) == [tmp_path / f"ray{suffix}"]
