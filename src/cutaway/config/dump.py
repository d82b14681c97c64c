"""A run's settings as a run.toml: every one, each with its description and what it comes to."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from cutaway.config.base import Config, help_of
from cutaway.config.model import PRESETS, ModelConfig
from cutaway.config.run import (
    FOLLOWS,
    PRESET_HELP,
    DataConfig,
    RunConfig,
    TokenizerConfig,
    TrainConfig,
)
from cutaway.numbers import short

LEAST_POSITIONS = 256  # of the position table, if data.max_length is smaller


def model_changes(config: RunConfig) -> dict[str, Any]:
    """What [model] changes on its preset: as given, and what follows from other settings."""
    values = {name: value for name, value in config.model.items() if name != "preset"}
    values.setdefault("max_length", max(LEAST_POSITIONS, config.data.max_length))
    if not config.tokenizer.joint and config.train.task == "translate":
        values.setdefault("tied", "output")
    return values


def dumped(config: RunConfig, chosen: Mapping[str, Any] | None = None) -> str:
    """The four tables; `chosen`: what settings of [train] left open come to, for a remark."""
    data = config.data.to_dict()
    sources = data.pop("sources")
    tables: dict[str, tuple[type[Config], dict[str, Any]]] = {
        "data": (DataConfig, data),
        "tokenizer": (TokenizerConfig, config.tokenizer.to_dict()),
        "train": (TrainConfig, config.train.to_dict()),
    }
    texts: dict[str, list[str]] = {}
    for table, (kind, values) in tables.items():
        remarks = chosen or {} if table == "train" else {}
        texts[table] = []
        for name, value in values.items():
            here = remarks.get(name) if value in (0, "auto") else None
            texts[table].append(_line(name, value, help_of(kind, name), here))
    for source in sources:
        texts["data"] += ["", "[[data.sources]]"]
        texts["data"] += [f"{name} = {_toml(value)}" for name, value in source.items()]
    texts["model"] = list(_model(config))
    order = ("data", "tokenizer", "model", "train")
    return "\n".join("\n".join([f"[{table}]", *texts[table], ""]) for table in order)


def _line(name: str, value: Any, about: str, here: Any = None) -> str:
    if isinstance(here, float):
        here = short(here, 3)
    remark = f" (here {here})" if here else ""
    return f"{name} = {json.dumps(value, ensure_ascii=False)}  # {about}{remark}"


def _model(config: RunConfig) -> Iterator[str]:
    """The lines of [model]: every setting where the preset is known, else what each would set."""
    preset = config.model["preset"]
    yield _line("preset", preset, PRESET_HELP)
    names = [field.name for field in dataclasses.fields(ModelConfig) if field.name not in FOLLOWS]
    given = {name: value for name, value in config.model.items() if name != "preset"}
    if config.train.start_from:
        yield f"# the others are those of {config.train.start_from}, the model to start from"
    changes = model_changes(config)
    sizes = {
        size: ModelConfig.preset(size, vocabulary=1000, **changes).to_dict()
        for size in ([preset] if preset else PRESETS)
    }
    for name in names:
        about = help_of(ModelConfig, name)
        values = {size: values[name] for size, values in sizes.items()}
        same = len(set(values.values())) == 1
        value = next(iter(values.values()))
        if name in given or (preset and value is not None):
            yield _line(name, given.get(name, value), about)
        elif not config.train.start_from:
            each = ", ".join(f"{value} ({size})" for size, value in values.items())
            yield f"# {name}: {value if same else each}  # {about}"


def _toml(value: Any) -> str:
    """A value as TOML; tables are written inline."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
