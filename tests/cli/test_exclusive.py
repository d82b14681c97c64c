"""Options of which one would leave another without effect are refused, every pair of them."""

from itertools import combinations

import pytest
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.config import DecodeOptions
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
