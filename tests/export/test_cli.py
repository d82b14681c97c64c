"""`cutaway export` from a model folder on disk."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cutaway.artifact.files import damage, sha256
from cutaway.artifact.folder import write_model_folder
from cutaway.cli.main import app
from cutaway.errors import ExportError, InputError, ModelFolderError
from tests.export.helpers import random_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    contents = random_folder(norm="pre")
    contents.languages = ("en", "fr")
    write_model_folder(tmp_path / "model", contents)
    return tmp_path / "model"


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["export", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result.output


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in folder.iterdir()}


def test_each_format_is_written_and_the_folder_only_read(folder: Path, tmp_path: Path) -> None:
    before = hashes(folder)
    out = tmp_path / "new" / "place"
    for words in (["ctranslate2"], ["ctranslate2", "--quantization", "int8"], ["huggingface"]):
        output = run(folder, "--to", *words, "--out", out)
        assert output.startswith(f"wrote {out} (")
        assert damage(out) is None
    package = tmp_path / "en_fr.argosmodel"
    assert str(package) in run(folder, "--to", "argos", "-o", package)
    assert package.stat().st_size > 10_000
    assert hashes(folder) == before


def test_the_place_has_a_default(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("model", "--to", "huggingface")
    run("model", "--to", "argos")
    assert (tmp_path / "model-huggingface" / "config.json").is_file()
    assert (tmp_path / "model.argosmodel").is_file()


def test_options_that_do_not_belong_are_refused(folder: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    with pytest.raises(ExportError, match="--quantization"):
        run(folder, "--to", "huggingface", "--quantization", "int8", *out)
    with pytest.raises(ExportError, match="--languages"):
        run(folder, "--to", "onnx", "--languages", "en-fr", *out)
    with pytest.raises(ExportError, match="--language "):
        run(folder, "--to", "argos", "--language", "fr", *out)
    with pytest.raises(InputError, match="expected source and target, as en-de"):
        run(folder, "--to", "argos", "--languages", "enfr", *out)
    assert not (tmp_path / "out").exists()


def test_a_damaged_or_foreign_folder_writes_nothing(folder: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    with pytest.raises(ModelFolderError, match="no model folder"):
        run(tmp_path, "--to", "ctranslate2", *out)
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-5] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ModelFolderError, match=r"model\.safetensors"):
        run(folder, "--to", "ctranslate2", *out)
    assert not (tmp_path / "out").exists()
