"""`cutaway train` and `cutaway demo` as a person meets them."""

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.cli.progress import plain, sparkline
from cutaway.cli.train import left_to_choose, run_config
from cutaway.config import RunConfig
from cutaway.config.dump import dumped
from cutaway.corpus.embedded import chosen_sentences, embedded
from cutaway.decode import Translator
from cutaway.errors import ConfigError, CutawayError
from cutaway.numbers import duration
from cutaway.training.events import Note, Updated
from tests.training.helpers import write_corpus


def test_dumped_settings_are_read_back_as_they_were(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app,
        ["train", "--out", "x", "--preset", "small", "--sample", "0.1", "--dump-config"],
    )
    assert result.exit_code == 0
    path = tmp_path / "run.toml"
    path.write_text(result.stdout)
    again = run_config(path, {}, [])
    assert again.model["preset"] == "small"
    assert dumped(again, left_to_choose(again)) == result.stdout
    assert RunConfig.from_tables(tomllib.loads(result.stdout)) == again


def test_an_option_wins_over_the_file_and_set_over_both(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[train]\nupdates = 5\nclip = 2.0\nseed = 7\n")
    config = run_config(path, {"train": {"updates": 6}}, ["train.clip=0.5"])
    assert (config.train.updates, config.train.clip, config.train.seed) == (6, 0.5, 7)
    assert run_config(None, {}, ["train.schedule=noam"]).train.schedule == "noam"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["train.clipp=1"], r"unknown setting 'clipp'.*clip"),
        (["train.schedule=linear"], "schedule.*'linear'"),
        (["clip=1"], r"expected table\.name=value"),
        (["model.vocabulary=9"], "follows from task, tokenizer and data"),
        (["train.epsilon=0.0"], "epsilon"),
        (["data.source=x"], "give both files or neither"),
        (["model.preset=huge"], "preset"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(changes: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        run_config(None, {}, changes)
    assert "\n" not in str(error.value)


def test_nothing_to_train_on_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["train", "--out", str(tmp_path / "m")])
    assert isinstance(result.exception, CutawayError)
    assert "--source and --target, or --data" in str(result.exception)
    assert not (tmp_path / "m").exists()


def test_from_pairs_to_a_folder_that_translates(tmp_path: Path) -> None:
    training, validation = write_corpus(tmp_path)
    settings = ["model.d_model=32", "model.heads=2", "model.d_ff=48", "model.encoder_layers=1",
                "model.decoder_layers=1", "train.log_every=20"]  # fmt: skip
    arguments = [
        "train", "--data", str(training), "--val-data", str(validation), "--preset", "tiny",
        "--vocabulary", "330", "--updates", "40", "--tokens", "256", "--threads", "1",
        "--keep", "3", "--out", str(tmp_path / "model"),
    ]  # fmt: skip
    for setting in settings:
        arguments += ["--set", setting]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "parameters" in result.stdout
    assert "validation at 40: loss" in result.stdout
    assert "bleu" in result.stdout
    translation = Translator.load(tmp_path / "model").translate(["the red cat sleeps"])[0]
    assert isinstance(translation.text, str)
    assert (tmp_path / "model" / "snapshots" / "index.json").is_file()


def test_plain_lines_and_figures(capsys: pytest.CaptureFixture[str]) -> None:
    plain(Note("look out", warning=True))
    plain(Updated(100, 0, 0.5, 2.0, 1e-3, 0.7, 4321.0, 75.0))
    plain(Updated(110, 0, 0.6, 2.0, 1e-3, 0.7, 4321.0, 75.0))
    out, err = capsys.readouterr()
    assert err == "warning: look out\n"
    assert out.count("\n") == 1
    assert "4,321 tokens/s" in out
    assert (duration(75), duration(4000)) == ("1 min 15 s", "1 h 07 min")
    assert sparkline([8, 4, 2, 1], 60) == "█▄▂▁"
    assert len(sparkline([float(n) for n in range(1000)], 60)) <= 60


def test_the_demo_model_translates_unseen_sentences(demo_folder: Path) -> None:
    """As it does with every seed measured (docs/benchmarks.md): 97.4 to 98.1 % exact."""
    translator = Translator.load(demo_folder)
    test = embedded("en-fr", "test")
    outputs = translator.translate([source for source, _ in test], beam=1)
    exact = sum(o.text == target for o, (_, target) in zip(outputs, test, strict=True))
    assert exact / len(test) >= 0.95
    for source, target in chosen_sentences("en-fr", "known"):
        assert translator.translate([source])[0].text == target
