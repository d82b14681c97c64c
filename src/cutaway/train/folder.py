"""A model is a folder: all that is needed to use it, each file known by size and SHA-256.

config.json         what the model is: task, languages, shape
model.safetensors   the weights
tokenizer.model     text ↔ ids (and target.model where the target side has its own)
generation.json     how to decode when nothing else is said
metrics.json        scores with their sacreBLEU signatures
README.md           the model card
manifest.json       size and SHA-256 of the others
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from cutaway.config import ModelConfig
from cutaway.errors import ConfigError, CutawayError, ModelFolderError, TokenizerError
from cutaway.model import Transformer
from cutaway.text import Tokenizer
from cutaway.train.files import damage, whole_folder, write_json

FORMAT = 1  # raised when a folder of before can no longer be read
TASKS = ("translate", "generate", "fill", "classify")


@dataclass
class ModelFolder:
    """What a model folder holds, in memory."""

    model: Transformer
    tokenizer: Tokenizer
    target_tokenizer: Tokenizer | None = None  # None: one joint vocabulary
    task: str = "translate"
    languages: tuple[str, str] | None = None  # source and target, e.g. ("en", "fr"), where known
    labels: tuple[str, ...] = ()  # names of the classes of a classifier
    generation: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    card: str = ""  # README.md; empty: a short one is written


def write_model_folder(
    path: Path, folder: ModelFolder, extras: Mapping[str, Path] | None = None
) -> None:
    """Write a model folder whole, or not at all; an existing one is replaced in one step.

    `extras` are further files to carry along: place in the folder → file to copy.
    """
    with whole_folder(Path(path)) as new:
        write_json(new / "config.json", _description(folder))
        weights = {
            name: tensor.detach().cpu().contiguous()
            for name, tensor in folder.model.state_dict().items()
        }
        save_file(weights, new / "model.safetensors", metadata={"format": "pt"})
        folder.tokenizer.save(new / "tokenizer.model")
        if folder.target_tokenizer is not None:
            folder.target_tokenizer.save(new / "target.model")
        write_json(new / "generation.json", folder.generation)
        write_json(new / "metrics.json", folder.metrics)
        (new / "README.md").write_text(folder.card or _card(folder), encoding="utf-8")
        for name, file in (extras or {}).items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, new / name)


def read_model_folder(path: Path, *, device: str = "cpu") -> ModelFolder:
    """Read and verify a model folder; whatever is wrong is one ModelFolderError naming the file."""
    path = Path(path)
    if not (path / "config.json").is_file():
        raise ModelFolderError(
            f"{path} is no model folder (it has no config.json); give a folder that "
            f"`cutaway train` or `cutaway demo` wrote"
        )
    if problem := damage(path):
        raise ModelFolderError(f"{path}: {problem}; copy the folder again from a good source")
    try:
        description = _read_json(path / "config.json")
        if description.get("format") != FORMAT:
            raise ModelFolderError(
                f"{path} has format {description.get('format')!r}; this version reads {FORMAT}: "
                f"use the version of cutaway that wrote it, or train again"
            )
        config = ModelConfig.from_dict(description["model"], where=f"{path}/config.json")
        model = Transformer(config)
        model.load_state_dict(load_file(path / "model.safetensors", device=device))
        target = path / "target.model"
        languages = description.get("languages")
        return ModelFolder(
            model=model.to(device).eval(),
            tokenizer=Tokenizer.load(path / "tokenizer.model"),
            target_tokenizer=Tokenizer.load(target) if target.is_file() else None,
            task=description["task"],
            languages=(languages[0], languages[1]) if languages else None,
            labels=tuple(description.get("labels", ())),
            generation=_read_json(path / "generation.json"),
            metrics=_read_json(path / "metrics.json"),
            card=(path / "README.md").read_text(encoding="utf-8"),
        )
    except (ConfigError, TokenizerError) as error:
        raise ModelFolderError(f"{path}: {error}") from None
    except (SafetensorError, RuntimeError, OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, CutawayError):
            raise
        reason = str(error).splitlines()[0]
        raise ModelFolderError(
            f"{path} cannot be read ({type(error).__name__}: {reason}); its files do not belong "
            f"together: copy the folder again from a good source"
        ) from None


def _description(folder: ModelFolder) -> dict[str, Any]:
    """What config.json says."""
    return {
        "format": FORMAT,
        "task": folder.task,
        "languages": folder.languages,
        "labels": folder.labels,
        "model": folder.model.config.to_dict(),
    }


def _read_json(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    return value


def _card(folder: ModelFolder) -> str:
    """A model card from what is known."""
    config = folder.model.config
    counts = folder.model.parameter_counts()
    direction = " → ".join(folder.languages) if folder.languages else "not stated"
    scores = "\n".join(
        f"- {name}: {value}"
        for name, value in folder.metrics.items()
        if not isinstance(value, dict)
    )
    return (
        f"# A Cutaway model\n\n"
        f"- task: {folder.task}\n- languages: {direction}\n"
        f"- family: {config.family}, {config.encoder_layers}+{config.decoder_layers} layers, "
        f"d_model {config.d_model}, {config.heads} heads, d_ff {config.d_ff}\n"
        f"- parameters: {counts['total']:,}\n- torch {torch.__version__.split('+')[0]}\n\n"
        f"## Scores\n\n{scores or 'none recorded'}\n\n"
        f'## Use\n\n    cutaway translate FOLDER "text"\n    cutaway serve FOLDER\n'
    )
