"""An export is whole or not there, and never takes the place of something else."""

import resource
import sys
from pathlib import Path

import pytest

from cutaway.artifact.folder import write_model_folder
from cutaway.errors import ExportError
from cutaway.export.argos import export_argos
from cutaway.export.ctranslate2 import export_ctranslate2
from cutaway.export.huggingface import export_huggingface
from cutaway.export.onnx import export_onnx
from cutaway.export.place import export_file, export_folder, extra
from tests.export.helpers import random_folder


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_failure_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_huggingface(random_folder(), out)
    before = {name: (out / name).read_bytes() for name in listing(out)}
    with pytest.raises(ZeroDivisionError):
        half_a_folder(out)
    assert {name: (out / name).read_bytes() for name in listing(out)} == before
    with pytest.raises(ZeroDivisionError):
        half_a_file(tmp_path / "a.argosmodel")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def half_a_folder(out: Path) -> None:
    with export_folder(out) as new:
        (new / "config.json").write_text("half")
        raise ZeroDivisionError


def half_a_file(out: Path) -> None:
    with export_file(out, ours=lambda path: True) as scratch:
        (scratch / out.name).write_text("half")
        raise ZeroDivisionError


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    folder = random_folder()
    folder.languages = ("en", "fr")
    export_ctranslate2(folder, tmp_path / "out")
    before = {name: (tmp_path / "out" / name).read_bytes() for name in listing(tmp_path / "out")}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # no file may be larger
    try:
        with pytest.raises(ExportError, match="cannot write"):
            export_ctranslate2(folder, tmp_path / "out")
        with pytest.raises(ExportError, match="cannot write"):
            export_argos(folder, tmp_path / "x.argosmodel")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    after = {name: (tmp_path / "out" / name).read_bytes() for name in listing(tmp_path / "out")}
    assert after == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_an_earlier_export_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    folder = random_folder()
    export_huggingface(folder, tmp_path / "out")
    export_ctranslate2(folder, tmp_path / "out")
    assert "model.bin" in listing(tmp_path / "out")
    assert "model.safetensors" not in listing(tmp_path / "out")

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(ExportError, match="holds no earlier export"):
        export_ctranslate2(folder, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"

    write_model_folder(tmp_path / "model", folder)
    with pytest.raises(ExportError, match="is a model folder"):
        export_huggingface(folder, tmp_path / "model")
    with pytest.raises(ExportError, match="is a file"):
        export_huggingface(folder, tmp_path / "mine" / "thesis.txt")
    folder.languages = ("en", "fr")
    with pytest.raises(ExportError, match="is a folder"):
        export_argos(folder, tmp_path / "out")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="cannot write"):
        export_huggingface(random_folder(), tmp_path / "file" / "out")


@pytest.mark.parametrize(("missing", "name"), [("onnx", "onnx"), ("onnxscript", "onnx")])
def test_a_missing_extra_says_what_to_run(
    missing: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in list(sys.modules):
        if module.split(".")[0] == missing:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ExportError, match=rf"pip install 'cutaway\[{name}\]'") as caught:
        extra(missing, name)
    assert "\n" not in str(caught.value)
    with pytest.raises(ExportError, match="is not installed"):
        export_onnx(random_folder(), tmp_path / "out")
    assert not list(tmp_path.iterdir())
