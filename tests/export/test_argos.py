"""An .argosmodel file: what is in it, what it refuses, and where its sentence model cuts."""

import json
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from cutaway.errors import ExportError
from cutaway.export.argos import export_argos
from cutaway.export.sentences import sentence_model
from cutaway.text.sentences import sentences as ours
from tests.export.helpers import random_folder, tokenizer


def test_what_a_package_holds(tmp_path: Path) -> None:
    folder = random_folder()
    folder.languages, folder.card = ("en", "fr"), "# A card\n"
    export_argos(folder, tmp_path / "a" / "x.argosmodel")
    export_argos(folder, tmp_path / "b" / "x.argosmodel")
    first = (tmp_path / "a" / "x.argosmodel").read_bytes()
    assert first == (tmp_path / "b" / "x.argosmodel").read_bytes()
    with zipfile.ZipFile(tmp_path / "a" / "x.argosmodel") as archive:
        assert archive.testzip() is None
        files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
        assert {name.partition("/")[0] for name in archive.namelist()} == {"translate-en_fr-1_0"}
    metadata = json.loads(files["metadata.json"])
    assert (metadata["from_code"], metadata["to_code"]) == ("en", "fr")
    assert (metadata["from_name"], metadata["to_name"]) == ("English", "French")
    assert files["sentencepiece.model"] == folder.tokenizer.to_bytes()
    assert files["README.md"] == b"# A card\n"
    assert {"model/model.bin", "model/config.json", "minisbd/en.onnx"} <= files.keys()
    assert not json.loads(files["model/config.json"])["add_source_bos"]


def test_a_model_of_several_languages_gets_the_tag_of_one(tmp_path: Path) -> None:
    folder = random_folder(tokenizer("bpe", languages=("fr", "de")))
    folder.languages = ("en", "fr")
    out = tmp_path / "x.argosmodel"
    export_argos(folder, out, languages=("en", "de"))
    with zipfile.ZipFile(out) as archive:
        config = json.loads(archive.read("translate-en_de-1_0/model/config.json"))
    assert config["bos_token"] == "<2de>"
    assert config["add_source_bos"]
    with pytest.raises(ExportError, match="--languages en-fr"):
        export_argos(folder, out, languages=("en", "it"))


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "x.argosmodel"
    with pytest.raises(ExportError, match="--languages en-fr"):
        export_argos(random_folder(), out)
    with pytest.raises(ExportError, match="family 'decoder'"):
        export_argos(random_folder(family="decoder"), out, languages=("en", "fr"))
    with pytest.raises(ExportError, match="word tokenizer"):
        export_argos(random_folder(tokenizer("word")), out, languages=("en", "fr"))
    assert not list(tmp_path.iterdir())


def sentences(text: str) -> list[str]:
    """Cut a text where the network says, with one paragraph in one row, as MiniSBD does."""
    session = onnxruntime.InferenceSession(sentence_model("en"))
    vocabulary = json.loads(session.get_modelmeta().custom_metadata_map["vocab"])["_unit2id"]
    units = np.array([[vocabulary.get(character, 1) for character in text] + [0]], np.int64)
    features = np.zeros((*units.shape, 1), np.float32)
    (scores,) = session.run(None, {"units": units, "features": features})
    kinds = scores[0, : len(text)].argmax(1)
    assert not (kinds == 1).any()
    cuts = [0, *(np.flatnonzero(kinds == 2) + 1).tolist(), len(text)]
    parts = (text[begin:end].strip() for begin, end in pairwise(cuts))
    return [part for part in parts if part]


@pytest.mark.parametrize(
    "expected",
    [
        ["Hello there.", "How are you?", "Fine!"],
        ["It was J. Smith.", "He paid 3.50 for it."],
        ['"Really?" he asked.', "(Yes.)", "No … and so on."],
        ["see e.g. this one.", "Été.", "Привет.", "Да!"],
        ["no full stop at all"],
        ["ア。", "「イ。」", "ウ？！", "エ"],
    ],
)
def test_where_the_sentence_model_cuts(expected: list[str]) -> None:
    joined = ("" if expected[0] == "ア。" else " ").join(expected)
    assert sentences(joined) == expected
    assert [sentence.strip() for sentence in ours(joined)] == expected
