"""What --help, --dump-config and the shell's completion say: types, defaults, choices, folders."""

import dataclasses
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.cli.train import left_to_choose
from cutaway.config import PRESETS, DecodeOptions, ModelConfig, RunConfig
from cutaway.config.dump import dumped as dumped_config


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def page(*words: str) -> str:
    """A help page as one line."""
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "400"}, color=False)
    assert result.exit_code == 0
    return " ".join(result.output.split())


def completed(*words: str) -> list[str]:
    """What the shell offers for the last word."""
    line = " ".join(["cutaway", *words])
    result = CliRunner().invoke(
        app,
        [],
        prog_name="cutaway",
        env={
            "_CUTAWAY_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words)),
        },
    )
    return result.output.split()


def dumped(*options: str) -> str:
    result = CliRunner().invoke(app, ["train", "--out", "x", *options, "--dump-config"])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_flag_takes_no_value_and_shows_none(words: tuple[str, ...]) -> None:
    assert "<bool>" not in page(*words)


def test_an_option_of_training_shows_the_default_of_its_setting() -> None:
    text = page("train")
    for table, values in RunConfig.from_tables({}).to_tables().items():
        for name, value in values.items():
            option = f"--{name.replace('_', '-')} "
            found = re.search(rf"{option}[^│]*│", text)
            if found and table != "model" and value is not False and value not in ("", None):
                assert f"[default: {value}]" in found[0], found[0]


def test_an_option_of_decoding_shows_its_default_and_that_the_folder_may_have_its_own() -> None:
    text = page("translate")
    for field in dataclasses.fields(DecodeOptions):
        if field.default is not False and field.default is not None:
            found = re.search(rf"--{field.name.replace('_', '-')} [^│]*│", text)
            assert found is not None
            assert f"[default: {field.default} or the folder's]" in found[0]


def test_help_keeps_what_stands_in_brackets_and_names_choices_as_they_are_typed() -> None:
    text = page("train")
    assert "cutaway[tensorboard]" in text
    assert "Cpu" not in text
    assert "Translate, generate" not in text


@pytest.mark.parametrize("preset", PRESETS)
def test_a_dumped_preset_has_every_setting_of_the_model(preset: str) -> None:
    text = dumped("--preset", preset, "--set", "model.window=7")
    model = tomllib.loads(text)["model"]
    expected = ModelConfig.preset(preset, vocabulary=9, window=7, max_length=256).to_dict()
    given = {"vocabulary", "target_vocabulary", "family", "classes", "pad"}  # by task and corpus
    assert {name: model.get(name) for name in expected if name not in given} == {
        name: value for name, value in expected.items() if name not in given
    }
    again = RunConfig.from_tables(tomllib.loads(text))
    assert dumped_config(again, left_to_choose(again)) == text


def test_a_dump_without_a_preset_says_what_each_would_set() -> None:
    text = dumped("--embedded", "en-fr")
    assert tomllib.loads(text)["model"] == {"preset": ""}
    assert "# d_model: 128 (tiny), 256 (small), 512 (base), 1024 (big)" in text
    assert "# activation: relu" in text


def test_a_dump_for_a_model_to_start_from_says_that_it_has_its_shape() -> None:
    text = dumped("--embedded", "en-fr", "--from", "somewhere", "--set", "model.dropout=0.3")
    assert tomllib.loads(text)["model"] == {"preset": "", "dropout": 0.3}
    assert "somewhere" in text.partition("[model]")[2].partition("[train]")[0]


def test_settings_chosen_by_the_models_size_are_named_in_the_dump() -> None:
    text = dumped("--preset", "base")
    assert re.search(r"^warmup = 0 .*\(here 4000\)$", text, re.MULTILINE)
    assert re.search(r"^learning_rate = 0.0 .*\(here 0\.000703\)$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("train", "--preset", "b"), ["base", "big"]),
        (("train", "--task", ""), ["translate", "generate", "fill", "classify"]),
        (("train", "--stop-on", "b"), ["bleu"]),
        (("train", "--embedded", ""), ["en-fr", "en-zh"]),
        (("translate", "en-fr", "--engine", "c"), ["ctranslate2"]),
        (("lesson", "masked"), ["masked-attention"]),
        (("lesson", "--lang", ""), ["en", "zh"]),
        (("export", "en-fr", "--to", "a"), ["argos"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_choices_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    assert sorted(completed(*words)) == sorted(expected)


@pytest.mark.parametrize(
    "words",
    [
        ("translate",), ("generate",), ("fill",), ("classify",), ("evaluate",), ("export",),
        ("explain",), ("prove",), ("diff",), ("serve",), ("lesson", "--model"), ("train", "--from"),
        ("serve", "--compare"), ("diff", "en-fr"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_model_folders_are_completed(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-model").mkdir()
    (tmp_path / "my-model" / "manifest.json").touch()
    (tmp_path / "mine" / "second").mkdir(parents=True)
    (tmp_path / "mine" / "second" / "manifest.json").touch()
    (tmp_path / "my-notes").mkdir()
    (tmp_path / ".hidden").mkdir()
    assert completed(*words, "my") == ["my-model", "my-notes/"]
    assert completed(*words, "mine/") == ["mine/second"]
    assert {"en-fr", "en-zh"} <= set(completed(*words, "e"))
    assert ".hidden/" not in completed(*words, "")
