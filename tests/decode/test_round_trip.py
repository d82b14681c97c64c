"""The choice by the way back: of a model of both directions, in both engines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cutaway
from cutaway.artifact.folder import ModelFolder, write_model_folder
from cutaway.cli.main import app
from cutaway.decode import CTranslate2Engine, Translator
from cutaway.decode.round_trip import BACK
from cutaway.decode.translation import Token
from cutaway.errors import InputError
from tests.decode.helpers import trained_folder

SENTENCES = {
    "fr": ["one two three !", "four !", "five six seven eight nine !", "ten two ten !"],
    "en": ["un deux trois !", "quatre !", "cinq six sept huit neuf !", "dix deux dix !"],
}


@pytest.fixture(scope="module")
def folder() -> ModelFolder:
    """A model of both directions that has not learnt much yet."""
    return trained_folder(90, both_ways=True)


@pytest.mark.parametrize("language", [None, "fr", "en"])
@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_hypotheses_are_ordered_by_both_ways(
    folder: ModelFolder, engine: str, language: str | None
) -> None:
    """The value of each is computed anew from `score`, which runs the model on given texts."""
    translator = Translator(folder, CTranslate2Engine(folder) if engine != "torch" else None)
    sentences, back = SENTENCES[language or "fr"], "fr" if language == "en" else "en"
    asked: Any = {"language": language, "beam": 5, "n_best": 5}
    plain = translator.translate(sentences, **asked)
    chosen = translator.translate(sentences, rerank="round-trip", **asked)
    moved = 0
    for source, before, after in zip(sentences, plain, chosen, strict=True):
        found = [after.text, *(one.text for one in after.alternatives)]
        assert sorted(found) == sorted([before.text, *(one.text for one in before.alternatives)])
        there = translator.score([source] * len(found), found, language=language)
        home = translator.score(found, [source] * len(found), language=back)
        values = [mean(one) + BACK * mean(other) for one, other in zip(there, home, strict=True)]
        assert values == pytest.approx(sorted(values, reverse=True), abs=1e-5)
        moved += after.text != before.text
    assert moved > 0


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_second_model_is_asked_for_the_way_back(
    folder: ModelFolder, model_path: Path, tmp_path: Path, engine: str
) -> None:
    """A model of one direction, and one that knows the other: each by its own `score`."""
    other = tmp_path / "back"
    write_model_folder(other, folder)
    forward = cutaway.load(model_path, engine=engine, back=other)
    home = Translator(folder)
    sentences = [f"{text[:-1]}four four !" for text in SENTENCES["fr"]]
    asked: Any = {"beam": 5, "n_best": 5}
    for source, after in zip(
        sentences, forward.translate(sentences, rerank="round-trip", **asked), strict=True
    ):
        found = [after.text, *(one.text for one in after.alternatives)]
        there = forward.score([source] * len(found), found)
        back = home.score(found, [source] * len(found), language="en")
        values = [mean(one) + BACK * mean(two) for one, two in zip(there, back, strict=True)]
        assert values == pytest.approx(sorted(values, reverse=True), abs=1e-5)


def test_a_second_model_of_the_wrong_direction_is_refused(model_path: Path) -> None:
    run = CliRunner().invoke
    wrong = run(
        app,
        [
            "translate",
            str(model_path),
            "one !",
            "--rerank",
            "round-trip",
            "--back",
            str(model_path),
        ],
    )
    assert wrong.exit_code != 0
    assert "the model for the way back translates en-fr; expected fr-en" in str(wrong.exception)
    idle = run(app, ["translate", str(model_path), "one !", "--back", str(model_path)])
    assert idle.exit_code != 0
    assert "--back is asked by --rerank round-trip only" in str(idle.exception)


def mean(tokens: Sequence[Token]) -> float:
    return sum(token.log_probability for token in tokens) / len(tokens)


def test_a_model_of_one_direction_is_refused_in_one_line(translator: Translator) -> None:
    with pytest.raises(InputError, match="needs a model that also translates back.*--both-ways"):
        translator.translate(["one two"], beam=5, rerank="round-trip")


def test_nothing_to_translate_stays_nothing(folder: ModelFolder) -> None:
    (empty,) = Translator(folder).translate([""], beam=5, rerank="round-trip")
    assert empty.text == ""
