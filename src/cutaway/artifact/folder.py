"""A model is a folder: all that is needed to use it, with size and SHA-256 of each file.

config.json         what the model is: task, languages, shape
model.safetensors   the weights
tokenizer.model     text ↔ ids (and target.model where the target side has its own)
generation.json     default options of decoding
metrics.json        scores with their sacreBLEU signatures
README.md           the model card
manifest.json       size and SHA-256 of the others, but README.md and generation.json, which are
                    the user's to edit

Nothing here imports torch before the weights are read as a model, which `open_model_folder` leaves
to their first use: a runtime of its own takes them as they are on disk.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.artifact.files import damage, whole_folder, write_json
from cutaway.artifact.limits import check_size, read_json, read_text, read_whole
from cutaway.artifact.tensors import Array, read_arrays
from cutaway.config import ModelConfig, language_code
from cutaway.errors import CutawayError, ModelFolderError
from cutaway.numbers import short
from cutaway.text import Tokenizer

if TYPE_CHECKING:
    from cutaway.model import Transformer

FORMAT = 1  # increased when older folders can no longer be read
WEIGHTS = "model.safetensors"
TASKS = ("translate", "generate", "fill", "classify")


@dataclass(frozen=True)
class Unread:
    """A model still on disk."""

    path: Path
    config: ModelConfig
    device: str


class ReadOnFirstUse:
    """The attribute `model`: a Transformer, or one that is read when it is first asked for."""

    def __get__(self, folder: "ModelFolder | None", owner: type) -> "Transformer":
        if folder is None:
            raise AttributeError("model has no default")  # so a dataclass knows it must be given
        value = folder.__dict__["model"]
        if isinstance(value, Unread):
            from cutaway.artifact.weights import read_model

            with read_whole(value.path):
                value = read_model(value.path / WEIGHTS, value.config, value.device)
            folder.__dict__["model"] = value
        model: Transformer = value
        return model

    def __set__(self, folder: "ModelFolder", value: "Transformer | Unread") -> None:
        folder.__dict__["model"] = value


@dataclass
class ModelFolder:
    """What a model folder holds, in memory."""

    if TYPE_CHECKING:
        model: Transformer
    else:
        model: Any = ReadOnFirstUse()
    tokenizer: Tokenizer
    target_tokenizer: Tokenizer | None = None  # None: one joint vocabulary
    task: str = "translate"
    languages: tuple[str, str] | None = None  # source and target, e.g. ("en", "fr"), where known
    directions: tuple[tuple[str, str], ...] = ()  # of a model of several, `languages` first
    labels: tuple[str, ...] = ()  # names of the classes of a classifier
    generation: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    recipe: dict[str, Any] = field(default_factory=dict)  # train settings that decide an update
    card: str = ""  # README.md; empty: a short one is written

    @property
    def config(self) -> ModelConfig:
        """The model's shape, known before its weights are read."""
        stored: Transformer | Unread = self.__dict__["model"]
        return stored.config

    @property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """Every direction it translates in, where languages are known."""
        return self.directions or ((self.languages,) if self.languages else ())

    def arrays(self) -> dict[str, Array]:
        """The weights as they are on disk, or as they would be written there."""
        stored: Transformer | Unread = self.__dict__["model"]
        if isinstance(stored, Unread):
            with read_whole(stored.path):
                return read_arrays(stored.path / WEIGHTS)
        from cutaway.artifact.weights import arrays_of

        return arrays_of(stored)


def write_model_folder(
    path: Path, folder: ModelFolder, extras: Mapping[str, Path] | None = None
) -> None:
    """Write a model folder whole, or not at all; an existing one is replaced in one step.

    `extras` are further files: path in the folder → file to copy.
    """
    from cutaway.artifact.weights import write_weights

    with whole_folder(Path(path)) as new:
        write_json(new / "config.json", _description(folder))
        write_weights(new / WEIGHTS, folder.model)
        folder.tokenizer.save(new / "tokenizer.model")
        if folder.target_tokenizer is not None:
            folder.target_tokenizer.save(new / "target.model")
        write_json(new / "generation.json", folder.generation)
        write_json(new / "metrics.json", folder.metrics)
        card = folder.card or _card(folder, extras or {})
        (new / "README.md").write_text(card, encoding="utf-8")
        for name, file in (extras or {}).items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, new / name)


def read_model_folder(path: Path, *, device: str = "cpu") -> ModelFolder:
    """Read and verify a model folder; any fault is one ModelFolderError naming the file."""
    folder = open_model_folder(path, device=device)
    folder.model.eval()
    return folder


def open_model_folder(path: Path, *, device: str = "cpu") -> ModelFolder:
    """Verify a model folder and read all but its weights, which are read when first used."""
    path = Path(path)
    if not (path / "config.json").is_file():
        raise ModelFolderError(
            f"{path} is no model folder (it has no config.json); give a folder that "
            f"`cutaway train` or `cutaway demo` wrote"
        )
    _refuse_other_formats(path)
    if problem := damage(path):
        raise ModelFolderError(f"{path}: {problem}; copy the folder again from a good source")
    with read_whole(path):
        description = read_json(path / "config.json")
        if description.get("format") != FORMAT:
            raise ModelFolderError(
                f"{path} has format {description.get('format')!r}; this version reads {FORMAT}: "
                f"use the version of cutaway that wrote it, or train again"
            )
        config = ModelConfig.from_dict(description["model"], where=f"{path}/config.json")
        check_size(path, config)
        target = path / "target.model"
        unread: Any = Unread(path, config, device)
        return ModelFolder(
            model=unread,
            tokenizer=Tokenizer.load(path / "tokenizer.model"),
            target_tokenizer=Tokenizer.load(target) if target.is_file() else None,
            task=_task(description["task"]),
            languages=_languages(description.get("languages")),
            directions=_directions(description.get("directions", [])),
            labels=_labels(description.get("labels", ())),
            generation=_generation(path / "generation.json"),
            metrics=read_json(path / "metrics.json"),
            recipe=dict(description.get("recipe", {})),
            card=read_text(path / "README.md") if (path / "README.md").is_file() else "",
        )


def _refuse_other_formats(path: Path) -> None:
    """Refuse a folder of another package by the package's name."""
    try:
        description = read_json(path / "config.json")
    except (OSError, ValueError):
        return  # damaged: reported as such
    if "format" in description:
        return
    if "architectures" in description or "model_type" in description:
        raise ModelFolderError(
            f"{path} is a model for Hugging Face transformers; expected a folder that "
            f"`cutaway train` wrote: export goes to Hugging Face, nothing comes back from there"
        )
    if (path / "model.bin").is_file():
        raise ModelFolderError(
            f"{path} is a model for CTranslate2; expected a folder that `cutaway train` wrote"
        )


def _generation(path: Path) -> dict[str, Any]:
    """The options of generation.json, which may be edited; none if there is no such file."""
    if not path.is_file():
        return {}
    try:
        return read_json(path)
    except ValueError as error:
        if isinstance(error, CutawayError):
            raise
        raise ModelFolderError(
            f"{path} is no JSON object ({error}); correct it, or remove it for the defaults"
        ) from None


def _description(folder: ModelFolder) -> dict[str, Any]:
    """What config.json says."""
    return {
        "format": FORMAT,
        "task": folder.task,
        "languages": folder.languages,
        **({"directions": folder.directions} if folder.directions else {}),
        "labels": folder.labels,
        "model": folder.config.to_dict(),
        "recipe": folder.recipe,
    }


def _task(value: object) -> str:
    if value not in TASKS:
        raise ValueError(f"task is {str(value)[:40]!r}; expected one of {', '.join(TASKS)}")
    return str(value)


def _languages(value: object) -> tuple[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("languages is no pair of codes")
    for code in value:
        language_code("the language", code)
    return value[0], value[1]


def _directions(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise ValueError("directions is no list of pairs of codes")
    found = (_languages(pair) for pair in value)
    return tuple(pair for pair in found if pair is not None)


def _labels(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise ValueError("labels is no list of names")
    return tuple(value)


# Further files of a folder, listed in its model card.
INSIDE = {
    "log.jsonl": "losses and scores of the run and, unless it was private, validation sentences",
    "report.html": "curves, settings, names of the data files and, unless the run was private, "
    "validation sentences",
    "snapshots": "weights at moments through training",
}


def _card(folder: ModelFolder, extras: Mapping[str, Path]) -> str:
    """A model card from what is known."""
    import torch

    config = folder.config
    counts = folder.model.parameter_counts()
    direction = ", ".join(" → ".join(way) for way in folder.ways) or "not stated"
    scores = "\n".join(
        f"- {name}: {short(value) if isinstance(value, float) else value}"
        for name, value in folder.metrics.items()
        if not isinstance(value, dict)
    )
    carried = {name.partition("/")[0] for name in extras}
    inside = "".join(f"- {name}: {what}\n" for name, what in INSIDE.items() if name in carried)
    return (
        f"# A Cutaway model\n\n"
        f"- task: {folder.task}\n- languages: {direction}\n"
        f"- family: {config.family}, {config.encoder_layers}+{config.decoder_layers} layers, "
        f"d_model {config.d_model}, {config.heads} heads, d_ff {config.d_ff}\n"
        f"- parameters: {counts['total']:,}\n- torch {torch.__version__.split('+')[0]}\n\n"
        f"## Inside\n\n- tokenizer.model: pieces of the training text\n{inside}\n"
        f"## Scores\n\n{scores or 'none recorded'}\n\n"
        f'## Use\n\n    cutaway {folder.task} FOLDER "text"\n    cutaway serve FOLDER\n'
    )
