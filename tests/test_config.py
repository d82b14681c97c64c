"""Settings: frozen, from TOML or JSON and back, nothing unknown, nothing of a wrong type."""

import dataclasses
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.config import (
    PRESETS,
    Config,
    DataConfig,
    DecodeOptions,
    ModelConfig,
    TokenizerConfig,
    TrainConfig,
    help_of,
    read_toml,
    sleep_while_waiting,
)
from cutaway.config.threads import OWN
from cutaway.errors import ConfigError, CutawayError


def refused(values: dict[str, Any], *parts: str, where: str = "") -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig.from_dict(values, where=where)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, f"{part!r} is not in: {message}"


def test_an_unknown_key_is_refused_with_what_was_probably_meant() -> None:
    refused({"vocabulary": 7, "head": 2}, "'head'", "heads", "did you mean 'heads'?")
    refused({"vocabulary": 7, "colour": 2}, "'colour'", "expected one of", "remove it")
    refused({"vocabulary": 7, "head": 2}, "in run.toml", where="run.toml")


def test_a_missing_key_is_named() -> None:
    refused({"d_model": 8}, "'vocabulary'", "add it")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("vocabulary", "7", "int"),
        ("vocabulary", 7.0, "int"),
        ("vocabulary", True, "int"),
        ("vocabulary", None, "int"),
        ("d_model", [8], "int"),
        ("head_width", "wide", "int | None"),
        ("dropout", "0.1", "float"),
        ("dropout", False, "float"),
        ("bias", 0, "bool"),
        ("bias", "yes", "bool"),
    ],
)
def test_a_wrong_type_is_refused(name: str, value: object, expected: str) -> None:
    values: dict[str, Any] = {"vocabulary": 7, name: value}
    refused(values, name, repr(value), type(value).__name__, f"expected {expected}")
    with pytest.raises(ConfigError):
        ModelConfig(**values)


def test_an_integer_is_a_number() -> None:
    assert ModelConfig.from_dict({"vocabulary": 7, "dropout": 0}).dropout == 0


def test_settings_are_frozen() -> None:
    config = ModelConfig(vocabulary=7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.heads = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        ModelConfig(7)  # type: ignore[call-arg]  # by name only


settings = st.fixed_dictionaries(
    {
        "vocabulary": st.integers(1, 10**6),
        "family": st.sampled_from(["encoder-decoder", "decoder", "encoder"]),
        "encoder_layers": st.integers(0, 99),
        "decoder_layers": st.integers(0, 99),
        "d_model": st.integers(1, 2000).map(lambda half: 2 * half),
        "heads": st.integers(1, 99),
        "head_width": st.integers(1, 999),
        "activation": st.sampled_from(["relu", "gelu"]),
        "norm": st.sampled_from(["post", "pre"]),
        "norm_epsilon": st.floats(1e-12, 0.1),
        "positions": st.sampled_from(["sinusoidal", "learned", "none"]),
        "position_amplitude": st.booleans(),
        "tied": st.sampled_from(["all", "output", "none"]),
        "dropout": st.floats(0, 0.999),
        "attention": st.sampled_from(["full", "local", "strided"]),
    }
)


def as_toml(values: dict[str, Any]) -> str:
    """Numbers, strings and booleans are written alike in TOML and JSON; None is left out."""
    return "".join(
        f"{name} = {json.dumps(value)}\n" for name, value in values.items() if value is not None
    )


@given(settings)
def test_json_and_toml_make_the_round_trip(values: dict[str, Any]) -> None:
    config = ModelConfig.from_dict(values)
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert ModelConfig.from_dict(config.to_dict()) == config
    assert ModelConfig.from_dict(tomllib.loads(as_toml(config.to_dict()))) == config


def test_a_toml_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[model]\nvocabulary = 97 # tokens\nfamily = "decoder"\n', encoding="utf-8")
    config = ModelConfig.from_dict(read_toml(file)["model"], where=str(file))
    assert config == ModelConfig(vocabulary=97, family="decoder")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"vocabulary = \n", ("is not valid TOML", "line 1")),
        (b"a = 1\na = 2\n", ("is not valid TOML",)),
        (b"\xff\xfe", ("is not valid TOML",)),
        (None, ("cannot read", "give the path of a TOML file")),
    ],
)
def test_a_broken_or_missing_toml_file(
    content: bytes | None, parts: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "run.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_toml(file)
    message = str(caught.value)
    assert "\n" not in message
    for part in (str(file), *parts):
        assert part in message


def test_presets_take_changes() -> None:
    config = ModelConfig.preset("tiny", vocabulary=97, heads=2, family="encoder")
    assert (config.d_model, config.heads, config.family) == (128, 2, "encoder")
    assert config.d_k == 64
    for name in PRESETS:
        ModelConfig.preset(name, vocabulary=97)
    with pytest.raises(ConfigError, match="preset is 'huge'; expected one of 'tiny'"):
        ModelConfig.preset("huge", vocabulary=97)
    with pytest.raises(ConfigError, match="did you mean 'heads'"):
        ModelConfig.preset("tiny", vocabulary=97, headz=2)


@pytest.mark.parametrize(
    "settings", [ModelConfig, DataConfig, TokenizerConfig, TrainConfig, DecodeOptions]
)
def test_every_setting_explains_itself(settings: type[Config]) -> None:
    """Its description is what --help and --dump-config print."""
    for field in dataclasses.fields(settings):
        described = help_of(settings, field.name)
        assert len(described) > 3, field.name
        assert not described.endswith("."), field.name


def test_errors_of_the_package_have_one_root() -> None:
    assert issubclass(ConfigError, CutawayError)
    assert issubclass(ConfigError, ValueError)


def test_settings_need_no_torch() -> None:
    code = "import sys, cutaway.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_threads_sleep_while_they_wait_unless_the_user_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", os)
    sleep_while_waiting()
    assert "OMP_WAIT_POLICY" not in os.environ  # torch is loaded: too late to matter
    monkeypatch.delitem(sys.modules, "torch")
    sleep_while_waiting()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setenv("GOMP_SPINCOUNT", "300")
    sleep_while_waiting()
    assert "OMP_WAIT_POLICY" not in os.environ
