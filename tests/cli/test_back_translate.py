"""Back-translation: tagged pairs of synthetic source and given text, also after a kill."""

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cutaway.cli import translate_file
from cutaway.cli.main import app
from cutaway.corpus import read_pairs
from cutaway.decode.translator import Translator

WORDS = ("cat", "dog", "bird", "mole", "man", "tower", "child")
LINES = [f"The {one} sees a {two}." for one in WORDS for two in WORDS[:4]]
LINES[5] = ""
LINES[9] = "A tab\tinside."


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["data", "back-translate", *map(str, arguments)])


def killed_on_the_way(folder: str, calls: int) -> None:
    """The command, killed by the system in the middle of its work."""
    translate_file.CHUNK = 5
    original = Translator.translate
    done = 0

    def counted(self: Translator, *given: Any, **options: Any) -> Any:
        nonlocal done
        done += 1
        if done > calls:
            with (Path(folder) / "out.tsv.partial").open("ab") as stream:
                stream.write(b"half a li")
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *given, **options)

    Translator.translate = counted  # type: ignore[method-assign]
    run("demo-en-fr", Path(folder) / "mono.txt", "--out", Path(folder) / "out.tsv", "--beam", "1")


@pytest.mark.parametrize("calls", [0, 3])
def test_a_kill_loses_and_doubles_no_line(tmp_path: Path, calls: int) -> None:
    (tmp_path / "mono.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    process = multiprocessing.get_context("spawn").Process(
        target=killed_on_the_way, args=(str(tmp_path), calls)
    )
    process.start()
    process.join(300)
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / "out.tsv").exists()
    found = run("demo-en-fr", tmp_path / "mono.txt", "--out", tmp_path / "out.tsv", "--beam", "1")
    assert found.exit_code == 0, found.output
    assert ("resuming" in found.output) == (calls > 0)
    run("demo-en-fr", tmp_path / "mono.txt", "--out", tmp_path / "whole.tsv", "--beam", "1")
    assert (tmp_path / "out.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    assert [row[1] for row in rows] == [" ".join(line.split()) for line in LINES]
    assert {row[2] for row in rows} == {"bt"}
    assert rows[0][0] != LINES[0]
    assert read_pairs(tmp_path / "out.tsv")[0] == (rows[0][0], LINES[0])


def test_the_end_says_how_to_train_with_the_tag(tmp_path: Path) -> None:
    (tmp_path / "mono.txt").write_text("The cat sleeps.\n")
    out = tmp_path / "out.tsv"
    found = run("demo-en-fr", tmp_path / "mono.txt", "--out", out, "--tag", "syn")
    assert f"--data {out}:1:syn" in found.output
    assert out.read_text().endswith("\tThe cat sleeps.\tsyn\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.txt", "--out", "out.tsv"), "none.txt is no file"),
        (("mono.txt", "--out", "mono.txt"), "is the text"),
        (("mono.txt", "--out", "out.tsv", "--tag", "a b"), "--tag is 'a b'"),
    ],
)
def test_a_bad_call_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mono.txt").write_text("A\n")
    found = run("demo-en-fr", *arguments)
    assert found.exit_code != 0
    assert message in f"{found.output} {found.exception}"
