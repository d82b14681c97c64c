"""A model folder from a stranger: it may be refused or work, and never more than that."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutaway.artifact.files import write_manifest
from cutaway.artifact.folder import read_model_folder, write_model_folder
from cutaway.decode import Translator
from cutaway.errors import ConfigError, InputError, ModelFolderError
from cutaway.export.argos import export_argos
from cutaway.text.wire import WireError, field, read_message
from tests.export.helpers import random_folder

CASES = int(os.environ.get("CUTAWAY_FUZZ", "300"))  # 10,000 before a release


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "model"
    write_model_folder(path, random_folder())
    return path


@pytest.fixture
def folder(honest: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    return Path(shutil.copytree(honest, tmp_path / "model"))


def tamper(folder: Path, file: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file and, as a stranger can, write the manifest anew."""
    values = json.loads((folder / file).read_text())
    change(values)
    (folder / file).write_text(json.dumps(values))
    write_manifest(folder)


@pytest.mark.parametrize("code", ["../../best", "/home/u/best", "en/..", "", "e", "en\n", 7, None])
def test_a_language_that_is_no_code_is_refused(folder: Path, code: object) -> None:
    tamper(folder, "config.json", lambda values: values.update(languages=["en", code]))
    with pytest.raises(ModelFolderError, match="expected the code of a language"):
        read_model_folder(folder)


def test_an_export_writes_under_out_alone(folder: Path, tmp_path: Path) -> None:
    """Every path that the package holds, and every path that was made while it was written."""
    out = tmp_path / "out" / "pair.argosmodel"
    tamper(folder, "config.json", lambda values: values.update(languages=["en", "zh-Hans"]))
    before = set(tmp_path.rglob("*"))
    export_argos(read_model_folder(folder), out)
    assert set(tmp_path.rglob("*")) - before == {out.parent, out}
    with zipfile.ZipFile(out) as package:
        for name in package.namelist():
            assert name.startswith("translate-en_zh-Hans-1_0/")
            assert ".." not in name


def test_training_refuses_the_same_codes() -> None:
    from cutaway.config import DataConfig

    with pytest.raises(ConfigError, match=r"data.target_language is '\.\./x'; expected the code"):
        DataConfig(source_language="en", target_language="../x")


@pytest.mark.parametrize(
    "change",
    [
        {"d_model": 2**20, "heads": 1},
        {"d_ff": 2**40},
        {"encoder_layers": 10**9},
        {"max_length": 10**12},
        {"vocabulary": 2**40},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_model_larger_than_its_weights_is_refused_before_it_is_built(
    folder: Path, change: dict[str, int]
) -> None:
    tamper(folder, "config.json", lambda values: values["model"].update(change))
    with pytest.raises(ModelFolderError):
        read_model_folder(folder)


def test_a_beam_beyond_reason_is_refused(folder: Path) -> None:
    tamper(folder, "generation.json", lambda values: values.update(beam=10**6, n_best=1))
    with pytest.raises(InputError, match="asks for a beam of 1,000,000"):
        Translator.load(folder)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "a/../../secret", ""])
def test_a_manifest_that_leaves_its_folder_is_refused(folder: Path, name: str) -> None:
    (folder.parent / "secret").write_text("x")
    from cutaway.artifact.files import _digest

    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = {"size": 1, "sha256": "0" * 64}
    manifest["sha256"] = _digest(manifest["files"])
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelFolderError, match="no file of this folder"):
        read_model_folder(folder)


@pytest.mark.parametrize("file", ["config.json", "generation.json", "metrics.json"])
def test_json_that_is_nested_or_large_is_refused(folder: Path, file: str) -> None:
    for content in ("[" * 100_000, '{"a":' * 100_000, " " * (17 * 2**20) + "{}"):
        (folder / file).write_text(content)
        write_manifest(folder)
        with pytest.raises(ModelFolderError):
            read_model_folder(folder)


def test_a_tokenizer_of_empty_fields_is_refused_before_it_fills_memory() -> None:
    """Two bytes a field in the file, a hundred in memory."""
    with pytest.raises(WireError, match="more than 10,000 fields"):
        read_message(field(9, 0) * 1_000_000)


FUZZ = """
import json, os, random, resource, shutil, sys, warnings
from pathlib import Path
import torch
from cutaway.artifact.files import write_manifest
from cutaway.artifact.folder import read_model_folder
from cutaway.decode import Translator
from cutaway.errors import CutawayError

warnings.simplefilter("ignore")
torch.set_num_threads(1)
honest, scratch = Path(sys.argv[1]), Path(sys.argv[2])
seed, cases = int(sys.argv[3]), int(sys.argv[4])
Translator.load(honest).translate(["the cat sees"], beam=1)
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
draw = random.Random(seed)
NUMBERS = [0, -1, 1, 2, 255, 2**15, 2**31, 2**40, 2**63, 10**30, 1e308, float("nan"), 0.5]
OTHERS = [None, True, "", "x" * 1000, "../..", [], {}, [[]], "\\ud800"]


def broken(value):
    if isinstance(value, dict) and value and draw.random() < 0.8:
        key = draw.choice(list(value))
        if draw.random() < 0.1:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: broken(value[key])}
    return draw.choice(NUMBERS + OTHERS)


def bytes_broken(data):
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at = draw.randrange(len(data))
        if draw.random() < 0.5:  # the header is where a file says what it holds
            at = draw.randrange(min(len(data), 400))
        kind = draw.randrange(4)
        if kind == 0:
            data[at] = draw.randrange(256)
        elif kind == 1:
            del data[at : at + draw.choice([1, 8, 1000])]
        elif kind == 2:
            data[at:at] = bytes(draw.choice([1, 8, 1000]))
        else:
            data[at : at + 8] = draw.choice([b"\\xff" * 8, bytes(8), b"99999999"])
        if not data:
            data = bytearray(b"x")
    return bytes(data)


outcomes = {"works": 0, "refused": 0}
for case in range(cases):
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(honest, scratch)
    file = scratch / draw.choice(sorted(path.name for path in scratch.iterdir()))
    if file.suffix == ".json" and draw.random() < 0.8:
        try:
            text = json.dumps(broken(json.loads(file.read_text())))
            file.write_text(text, encoding="utf-8", errors="surrogatepass")
        except ValueError:
            continue
    else:
        file.write_bytes(bytes_broken(file.read_bytes()))
    if file.name != "manifest.json":
        write_manifest(scratch)
    try:
        Translator.load(scratch).translate(["the cat sees"], beam=2, max_length=9)
        outcomes["works"] += 1
    except CutawayError as error:
        assert str(error) and "\\n" not in str(error), (case, str(error))
        outcomes["refused"] += 1
    except BaseException as error:
        shutil.copytree(scratch, f"{scratch}-{case}", dirs_exist_ok=True)
        message = f"case {case}, {file.name}: {type(error).__name__}: {error}"
        raise AssertionError(message) from error
print(json.dumps(outcomes))
"""


def test_a_mutated_folder_is_refused_or_works_in_bounded_memory(
    honest: Path, tmp_path: Path
) -> None:
    """One error of ours or a translation; in a process that may take one gigabyte more."""
    result = subprocess.run(
        [sys.executable, "-c", FUZZ, str(honest), str(tmp_path / "mutant"), "7", str(CASES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    outcomes = json.loads(result.stdout)
    assert outcomes["refused"] > CASES / 3
    assert outcomes["works"] > 0


def test_the_card_and_the_options_are_the_users_to_edit(folder: Path) -> None:
    (folder / "README.md").write_text("# My model\n", encoding="utf-8")
    (folder / "generation.json").write_text('{"beam": 3}', encoding="utf-8")
    assert read_model_folder(folder).card == "# My model\n"
    assert Translator.load(folder).defaults.beam == 3
    (folder / "generation.json").write_text('{"beam": 3', encoding="utf-8")
    with pytest.raises(ModelFolderError, match=r"generation.json is no JSON object"):
        read_model_folder(folder)
    (folder / "README.md").unlink()
    (folder / "generation.json").unlink()
    assert read_model_folder(folder).generation == {}


def test_models_of_other_packages_are_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "marian"}', encoding="utf-8")
    with pytest.raises(ModelFolderError, match="Hugging Face"):
        read_model_folder(tmp_path)
    (tmp_path / "config.json").write_text('{"add_source_bos": false}', encoding="utf-8")
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(ModelFolderError, match="CTranslate2"):
        read_model_folder(tmp_path)
