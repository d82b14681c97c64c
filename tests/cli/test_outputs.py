"""Outputs: nothing replaced that is not ours, links followed, devices written through, first."""

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cutaway.cli.main import app, in_utf8, main
from cutaway.cli.outputs import backup, written
from cutaway.errors import CutawayError, ExportError
from cutaway.export.argos import is_package
from cutaway.export.place import export_file

VERBS = {  # every option that writes a file
    "translate-text": ["translate", "no-model", "I love AI.", "-o", "FILE"],
    "translate-po": ["translate", "no-model", "PO", "-o", "FILE"],
    "evaluate-html": ["evaluate", "no-model", "--source", "a", "--target", "b", "--html", "FILE"],
    "evaluate": ["evaluate", "no-model", "--source", "a", "--target", "b", "-o", "FILE"],
    "export-argos": ["export", "no-model", "--to", "argos", "--out", "FILE"],
    "explain-html": ["explain", "no-model", "x", "--html", "FILE"],
    "explain-xlsx": ["explain", "no-model", "x", "y", "--xlsx", "FILE"],
    "lesson": ["lesson", "positions", "--notebook", "FILE"],
    "check": ["data", "check", "no-corpus", "--html", "FILE"],
    "harvest": ["data", "harvest", "xx", "--out", "FILE", "--root", "no-folder"],
}


def refused(*arguments: str) -> str:
    error = CliRunner().invoke(app, list(arguments)).exception
    assert isinstance(error, CutawayError), error
    assert "\n" not in str(error)
    return str(error)


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_is_not_ours_is_refused_before_any_work(verb: str, tmp_path: Path) -> None:
    notes, catalogue = tmp_path / "notes.txt", tmp_path / "app.po"
    notes.write_text("mine\n", encoding="utf-8")
    catalogue.write_text('msgid "a"\nmsgstr ""\n', encoding="utf-8")

    def call(file: Path) -> list[str]:
        places = {"FILE": str(file), "PO": str(catalogue)}
        return [places.get(word, word) for word in VERBS[verb]]

    assert "--force" in refused(*call(notes))
    assert "folder" in refused(*call(tmp_path))
    assert notes.read_text(encoding="utf-8") == "mine\n"
    if verb != "harvest":  # --force goes on, to the model that is not there
        error = CliRunner().invoke(app, [*call(notes), "--force"]).exception
        assert "--force" not in str(error)


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "no-model", "--to", "ctranslate2", "--out", "FOLDER"],
        ["export", "no-model", "--to", "huggingface", "--out", "FOLDER"],
        ["export", "no-model", "--to", "onnx", "--out", "FOLDER"],
        ["explain", "no-model", "x", "--save", "FOLDER"],
        ["data", "build", "--out", "FOLDER", "no-corpus"],
    ],
)
def test_a_folder_that_is_not_ours_is_refused(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    message = refused(*(str(tmp_path) if word == "FOLDER" else word for word in arguments))
    assert str(tmp_path) in message
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_report_of_ours_is_replaced(tmp_path: Path) -> None:
    from cutaway.report import document

    page = tmp_path / "report.html"
    page.write_text(document("A report", "<p>x</p>"), encoding="utf-8")
    call = ["evaluate", "no-model", "--source", "a", "--target", "b", "--html", str(page)]
    assert "no-model" in refused(*call)


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    with written(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert not list(tmp_path.rglob("*.partial"))


def test_what_breaks_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(TypeError), written(path) as file:
        file.writelines([b"new", "no bytes"])  # type: ignore[list-item]
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with written(pipe) as file:
        file.write(b"through")
    reader.join(10)
    assert read == [b"through"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(OSError, match="No space left") as error, written(Path("/dev/full")) as file:
        file.write(b"x" * 10_000)
    assert error.value.filename == "/dev/full"
    assert Path("/dev/full").is_char_device()


def test_an_earlier_backup_stays(tmp_path: Path) -> None:
    path = tmp_path / "app.po"
    for text, name in [("one", "app.po~"), ("two", "app.po~2"), ("two", "app.po~2")]:
        path.write_text(text, encoding="utf-8")
        assert backup(path).name == name
        assert (tmp_path / name).read_text(encoding="utf-8") == text


def test_an_argos_file_takes_only_the_place_of_another(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    with (
        pytest.raises(ExportError, match="no earlier export"),
        export_file(notes, ours=is_package) as scratch,
    ):
        (scratch / notes.name).write_text("theirs", encoding="utf-8")
    assert notes.read_text(encoding="utf-8") == "mine"
    with export_file(notes, ours=is_package, force=True) as scratch:
        (scratch / notes.name).write_text("theirs", encoding="utf-8")
    assert notes.read_text(encoding="utf-8") == "theirs"


def test_characters_outside_the_locale_are_written() -> None:
    for encoding, named, expected in [
        ("cp1252", "", "é猫".encode()),
        ("ascii", "", "é猫".encode()),
        ("cp1252", "cp1252", b"\xe9\\u732b"),
    ]:
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding=encoding)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONIOENCODING", named)
            in_utf8(stream)
        stream.write("é猫")
        stream.flush()
        assert raw.getvalue() == expected


def test_an_option_given_twice_is_refused() -> None:
    assert "--source is given twice" in refused("train", "--source", "a", "--source", "b")
    assert "--source is given twice" in refused("data", "check", "--source", "a", "--source", "b")
    call = [
        "train",
        "--out",
        "x",
        "--set",
        "train.clip=1",
        "--set",
        "train.seed=2",
        "--dump-config",
    ]
    assert CliRunner().invoke(app, call).exit_code == 0


def test_a_full_standard_output_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "argv", ["cutaway", "--version"])
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "standard output: No space left" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals as shells send them")
def test_control_c_at_the_prompt_ends_quietly() -> None:
    import signal

    with subprocess.Popen(
        [sys.executable, "-P", "-m", "cutaway", "translate", "demo-en-fr"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a shell's background job ignores SIGINT, and so would all it starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"I love AI.\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"J'aime l'IA.\n"
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in complaints
    assert b"Fatal" not in complaints
