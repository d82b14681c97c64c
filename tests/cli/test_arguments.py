"""A model folder before the text, or none: the package's everyday model."""

import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cutaway.cli.arguments import model_and_text
from cutaway.cli.main import app
from cutaway.data import bundled_model, model_for
from cutaway.errors import InputError


def test_without_a_folder_the_text_is_translated_by_the_everyday_model() -> None:
    assert model_and_text("Where is it?", None, None) == (bundled_model(), "Where is it?", None)
    assert model_and_text("Where is it?", None, "zh") == (
        bundled_model("en-zh"), "Where is it?", None,
    )  # fmt: skip
    assert model_and_text(None, None, None) == (bundled_model(), None, None)


def test_a_folder_is_taken_for_one(tmp_path: Path) -> None:
    assert model_and_text(str(tmp_path), None, "de") == (tmp_path, None, "de")
    assert model_and_text("en-zh", None, None) == (bundled_model("en-zh"), None, None)
    assert model_and_text("mine", "A text.", "de") == (Path("mine"), "A text.", "de")


def test_a_mistyped_folder_is_not_translated_while_a_text_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = tmp_path / "text"
    waiting.write_text("The cat sleeps.\n")
    with waiting.open() as file, monkeypatch.context() as patched:
        patched.setattr("sys.stdin", file)
        with pytest.raises(InputError, match="no model folder 'modle'"):
            model_and_text("modle", None, None)
        assert model_and_text("Two words", None, None)[1] == "Two words"
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert model_and_text("Hello", None, None)[1] == "Hello"


@pytest.mark.parametrize(
    ("variables", "pair"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "en-zh"),
        ({"LANG": "de_DE.UTF-8"}, "en-fr"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en-fr"),
        ({}, "en-fr"),
    ],
)
def test_a_chinese_system_gets_the_chinese_model(
    variables: dict[str, str], pair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert model_for() == bundled_model(pair)


def test_another_language_needs_a_folder() -> None:
    with pytest.raises(InputError, match="no model into 'de' in the package; it has fr and zh"):
        model_for("de")


def test_explain_finds_sentence_and_address_without_a_folder() -> None:
    shown = CliRunner().invoke(app, ["explain", "The cat sleeps.", "output.logits[0,0,5]"])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("output.logits[0,0,5]")
    listed = CliRunner().invoke(app, ["explain", "The cat sleeps."])
    assert "output" in listed.output


def test_explain_misses_a_folder_that_is_not_there() -> None:
    missing = CliRunner().invoke(app, ["explain", "modle", "The cat sleeps."])
    assert missing.exit_code != 0
    assert "modle is no model folder" in str(missing.exception)
