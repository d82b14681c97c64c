"""Options of which one would leave another without effect are refused, every pair of them."""

import tomllib
from itertools import combinations
from typing import Any

import click.testing
import pytest
import typer.main
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.config import DecodeOptions, RunConfig
from cutaway.errors import ConfigError, CutawayError

CORPORA = {
    "source": ["--source", "a", "--target", "b"],
    "data": ["--data", "a.tsv"],
    "embedded": ["--embedded", "en-fr"],
    "store": ["--store", "a.store"],
}
VALIDATION = {"files": ["--val-source", "a", "--val-target", "b"], "one": ["--val-data", "a.tsv"]}
FROM = ["--from", "no-model"]
SHAPES = {
    "preset": ["--preset", "base"],
    "vocabulary": ["--vocabulary", "500"],
    "lowercase": ["--lowercase"],
    "kind": ["--set", "tokenizer.kind=char"],
}
JSON = {"n-best": ["--n-best", "3"], "rivals": ["--rivals", "5"], "tree": ["--tree"]}
SAMPLING = {"temperature": 0.5, "top_k": 3, "top_p": 0.5, "seed": 7}


def message(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, CutawayError), (arguments, result.output)
    return str(result.exception)


def accepted(*arguments: str) -> bool:
    return CliRunner().invoke(app, [*arguments, "--dump-config"]).exit_code == 0


@pytest.mark.parametrize(("one", "other"), list(combinations(CORPORA, 2)))
def test_one_corpus(one: str, other: str) -> None:
    call = ["train", "--out", "x", *CORPORA[one]]
    assert accepted(*call)
    found = message(*call, *CORPORA[other])
    assert f"data.{one}" in found
    assert f"data.{other}" in found


def test_one_validation_set() -> None:
    assert "data.val_source and data.val_data" in message(
        "train", "--out", "x", *VALIDATION["files"], *VALIDATION["one"]
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_model_to_start_from_has_its_shape(shape: str) -> None:
    call = ["train", "--out", "x", "--embedded", "en-fr"]
    assert accepted(*call, *SHAPES[shape])
    assert accepted(*call, *FROM)
    assert "--from" in message(*call, *FROM, *SHAPES[shape])


def test_growing_needs_something_to_grow() -> None:
    assert "--from" in message("train", "--out", "x", "--embedded", "en-fr", "--grow", "9")


@pytest.mark.parametrize("option", JSON)
def test_what_only_json_shows(option: str) -> None:
    assert "--json" in message("translate", "no-model", "The cat.", *JSON[option])
    assert "no-model" in message("translate", "no-model", "The cat.", *JSON[option], "--json")


@pytest.mark.parametrize(("option", "value"), list(SAMPLING.items()))
def test_options_of_sampling_need_it(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match="--sample"):
        DecodeOptions().changed(**{option: value})
    assert DecodeOptions().changed(sample=True, **{option: value}).sample
    assert DecodeOptions(sample=True).changed(**{option: value}).sample


# -- every pair of options of training ---------------------------------------------------------

SAMPLES = {
    "source": ["--source", "a", "--target", "b"],
    "val_source": ["--val-source", "a", "--val-target", "b"],
    "languages": ["--languages", "en-de"],
    "columns": ["--columns", "2,3"],
    "keys": ["--keys", "a,b"],
    "embedded": ["--embedded", "en-fr"],
    "preset": ["--preset", "base"],
    "task": ["--task", "generate"],
    "stop_on": ["--stop-on", "loss"],
    "parallel": ["--parallel", "fsdp"],
    "device": ["--device", "cpu"],
    "set_": ["--set", "train.clip=0.25"],
    "grow": ["--grow", "9", "--from", "m"],
}
PARTNERS = {"target", "val_target"}  # given with their first halves
NO_SETTING = {"out", "config", "dump_config", "allow_changes", "port", "help"}  # of the call itself


def options_of_training() -> dict[str, list[str]]:
    """Name → a way to give each option that is a setting."""
    found = {}
    command: Any = typer.main.get_command(app)
    for option in command.commands["train"].params:
        if option.name in NO_SETTING | PARTNERS:
            continue
        value = {"float": "0.5", "int": "3"}.get(option.type.name, "x")
        plain = option.opts[:1] if option.is_flag else [option.opts[0], value]
        found[option.name] = SAMPLES.get(option.name, plain)
    return found


def settings(command: Any, *arguments: str) -> dict[tuple[str, str], Any] | None:
    """What a call sets that is not the default; None if it is refused."""
    result = click.testing.CliRunner().invoke(
        command, ["train", "--out", "x", *arguments, "--dump-config"]
    )
    if result.exit_code:
        assert isinstance(result.exception, CutawayError), (arguments, result.output)
        return None
    tables = RunConfig.from_tables(tomllib.loads(result.stdout)).to_tables()
    usual = RunConfig.from_tables({}).to_tables()
    return {
        (table, name): value
        for table, values in tables.items()
        for name, value in values.items()
        if value != usual[table].get(name)
    }


def test_of_every_pair_of_options_both_count_or_the_pair_is_refused() -> None:
    options = options_of_training()
    command = typer.main.get_command(app)  # once, not at each of the 900 calls
    alone = {name: settings(command, *given) for name, given in options.items()}
    lost, refused = [], []
    for one, other in combinations(options, 2):
        given = [word for word in options[one] + options[other] if word.startswith("--")]
        if len(set(given)) < len(given) or {one, other} == {"keep", "watch"}:
            continue  # --grow has the --from it needs; --watch keeps 20 unless --keep says more
        both = settings(command, *options[one], *options[other])
        if both is None:
            refused.append({one, other})
        elif {**(alone[one] or {}), **(alone[other] or {})}.items() - both.items():
            lost.append((one, other))
    assert lost == []
    assert {"source", "data"} in refused
    assert {"start_from", "preset"} in refused
    assert {"epochs", "updates"} in refused
    assert {"store", "vocabulary"} in refused
    assert {"store", "columns"} in refused
    assert {"embedded", "keys"} in refused
    assert {"embedded", "encoding"} in refused


def test_a_port_without_a_page_is_refused() -> None:
    assert "--watch" in message("train", "--out", "x", "--embedded", "en-fr", "--port", "81")


@pytest.mark.parametrize("command", [["translate", "en-fr", "The cat."], ["lesson", "by-hand"]])
def test_force_without_a_file_to_replace_is_refused(command: list[str]) -> None:
    assert "--force" in message(*command, "--force")
