"""What every stage reads: frozen dataclasses, TOML in, JSON out, unknown keys refused."""

import dataclasses
import difflib
import json
import tomllib
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from cutaway.errors import ConfigError, InputError

__all__ = [
    "PRESETS",
    "Config",
    "ConfigError",
    "DataConfig",
    "InputError",
    "ModelConfig",
    "RunConfig",
    "Task",
    "TokenizerConfig",
    "TrainConfig",
    "one_of",
    "read_toml",
]


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a value outside its list."""
    if value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed)
        words = [choice for choice in allowed if isinstance(choice, str)]
        advice = _meant(value, words) or f"set {name} to one of these"
        raise ConfigError(f"{name} is {value!r}; expected one of {choices}: {advice}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a number below its least value."""
    if isinstance(value, bool) or not value >= least:
        raise ConfigError(f"{name} is {value!r}; expected a number of at least {least}: raise it")


def fraction(name: str, value: float) -> None:
    """Refuse a number outside [0, 1)."""
    if isinstance(value, bool) or not 0 <= value < 1:
        raise ConfigError(f"{name} is {value!r}; expected at least 0 and below 1: change it")


def _meant(given: object, words: Iterable[str]) -> str:
    """The word that was probably meant, as advice; empty if none is near."""
    near = difflib.get_close_matches(str(given), list(words), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _fits(value: object, annotation: Any) -> bool:
    """Whether a value read from TOML or JSON is of a field's declared type."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, option) for option in typing.get_args(annotation))
    if origin is Literal:
        return value in typing.get_args(annotation)
    if origin is tuple:
        return isinstance(value, (list, tuple))
    if annotation is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation is type(None):
        return value is None
    return isinstance(value, annotation)


def _named(annotation: Any) -> str:
    """A type as a person reads it."""
    if typing.get_origin(annotation) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(annotation))
    name = getattr(annotation, "__name__", "")
    return name if name not in ("", "Union") else str(annotation).replace("typing.", "")


def _check_type(name: str, value: object, annotation: Any, place: str = "") -> None:
    """Refuse a value that is not of its field's declared type."""
    if typing.get_origin(annotation) is Literal:
        one_of(name + place, value, typing.get_args(annotation))
    elif not _fits(value, annotation):
        raise ConfigError(
            f"{name}{place} is {value!r} ({type(value).__name__}); "
            f"expected {_named(annotation)}: change it"
        )


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of the frozen settings: from a dict or TOML table and back, nothing unknown accepted."""

    def __post_init__(self) -> None:
        """Refuse values of a wrong type, however the settings were made."""
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name), hints[field.name])

    @classmethod
    def from_dict(cls, values: dict[str, Any], *, where: str = "") -> Self:
        """Build from plain values; an unknown key or a wrong type is a ConfigError naming it."""
        known = {field.name: field for field in dataclasses.fields(cls)}
        hints = typing.get_type_hints(cls)
        place = f" in {where}" if where else ""
        for name, value in values.items():
            if name not in known:
                advice = _meant(name, known) or "remove it"
                raise ConfigError(
                    f"unknown setting {name!r}{place}; expected one of "
                    f"{', '.join(sorted(known))}: {advice}"
                )
            _check_type(name, value, hints[name], place)
        prepared = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        missing = [
            name
            for name, field in known.items()
            if name not in values
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ]
        if missing:
            raise ConfigError(f"missing setting {missing[0]!r}{place}; add it")
        return cls(**prepared)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON or TOML."""
        return dataclasses.asdict(self)

    def to_json(self) -> str:
        """The settings as JSON, two spaces deep."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; a missing or broken file is a ConfigError with its line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}; give the path of a TOML file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None


Family = Literal["encoder-decoder", "decoder", "encoder"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """Everything that decides the shape and the arithmetic of a Transformer; base by default."""

    vocabulary: int  # source tokens, and target tokens too unless target_vocabulary is given
    target_vocabulary: int | None = None  # a second vocabulary for the target side
    family: Family = "encoder-decoder"  # "decoder" is GPT-like, "encoder" BERT-like
    encoder_layers: int = 6  # the paper's N
    decoder_layers: int = 6  # may differ from the encoder's
    d_model: int = 512  # width of the residual stream
    heads: int = 8  # attentions side by side, the paper's h
    head_width: int | None = None  # d_k = d_v of one head; None: d_model / heads
    d_ff: int = 2048  # inner width of the feed-forward
    activation: Literal["relu", "gelu"] = "relu"  # between the two linears of the feed-forward
    norm: Literal["post", "pre"] = "post"  # post is the paper's; pre trains without long warm-up
    norm_epsilon: float = 1e-5  # inside the root of layer norm
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"  # how order is told
    position_amplitude: bool = False  # a learned factor on the positions, started at 1
    scale_embedding: bool = True  # multiply token embeddings by √d_model, as the paper does
    max_length: int = 1024  # longest sequence the position table holds
    tied: Literal["all", "output", "none"] = "all"  # tables shared: both sides and output, or less
    bias: bool = True  # biases in the attention projections
    output_bias: bool = True  # b_o of softmax(W_o h + b_o)
    dropout: float = 0.1  # on embeddings and on each sublayer's output
    attention_dropout: float = 0.0  # on attention weights
    activation_dropout: float = 0.0  # inside the feed-forward
    attention: Literal["full", "local", "strided"] = "full"  # which keys a query reaches
    window: int = 64  # local and strided: keys at most this far away
    stride: int = 64  # strided: and every stride-th key beyond the window
    classes: int = 0  # encoder family: outputs of a classifier, 0 for none
    pad: int = 0  # id of the padding token

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("vocabulary", "d_model", "heads", "d_ff", "max_length", "window", "stride"):
            at_least(name, getattr(self, name), 1)
        for name in ("encoder_layers", "decoder_layers", "classes"):
            at_least(name, getattr(self, name), 0)
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            fraction(name, getattr(self, name))
        if not 0 < self.norm_epsilon < 1:
            raise ConfigError(
                f"norm_epsilon is {self.norm_epsilon!r}; expected above 0 and below 1: "
                f"1e-5 is usual"
            )
        if self.head_width is None and self.d_model % self.heads:
            raise ConfigError(
                f"heads is {self.heads} and does not divide d_model {self.d_model}; "
                f"expected a divisor: choose one, or give head_width"
            )
        if self.head_width is not None:
            at_least("head_width", self.head_width, 1)
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ConfigError(
                f"d_model is {self.d_model} and sinusoidal positions come in sine-cosine pairs; "
                f"choose an even width, or learned positions"
            )
        if self.target_vocabulary is not None:
            at_least("target_vocabulary", self.target_vocabulary, 1)
        smallest = min(self.vocabulary, self.output_vocabulary)
        if not 0 <= self.pad < smallest:
            raise ConfigError(
                f"pad is {self.pad}; expected an id of the vocabulary, 0 to {smallest - 1}: "
                f"give the tokenizer's padding id"
            )
        if self.target_vocabulary is not None:
            if self.family != "encoder-decoder":
                raise ConfigError(
                    f"target_vocabulary is {self.target_vocabulary} but family {self.family!r} "
                    f"has one side only; leave it out"
                )
            if self.tied == "all":
                raise ConfigError(
                    "tied is 'all' but the two sides have vocabularies of their own; "
                    "use tied 'output' or 'none', or one joint vocabulary"
                )
        if self.classes and self.family != "encoder":
            raise ConfigError(
                f"classes is {self.classes} but family is {self.family!r}; "
                f"a classifier needs family 'encoder'"
            )

    @property
    def d_k(self) -> int:
        """Width of one head: head_width, or d_model / heads."""
        return self.head_width or self.d_model // self.heads

    @property
    def output_vocabulary(self) -> int:
        """How many tokens the output distribution ranges over."""
        return self.target_vocabulary or self.vocabulary

    @classmethod
    def preset(cls, name: str, *, vocabulary: int, **changes: Any) -> Self:
        """A named size (tiny, small, base, big) with any setting changed."""
        one_of("preset", name, tuple(PRESETS))
        return cls.from_dict({**PRESETS[name], "vocabulary": vocabulary, **changes})


# Sizes by name. base and big are the paper's; tiny is the published Multi30k size.
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "encoder_layers": 4,
        "decoder_layers": 4,
        "d_model": 128,
        "heads": 4,
        "d_ff": 256,
        "dropout": 0.3,
        "norm": "pre",
    },
    "small": {
        "encoder_layers": 4,
        "decoder_layers": 4,
        "d_model": 256,
        "heads": 4,
        "d_ff": 1024,
        "dropout": 0.2,
        "norm": "pre",
    },
    "base": {},
    "big": {"d_model": 1024, "heads": 16, "d_ff": 4096, "dropout": 0.3},
}


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """Where the sentences are, and which of them are used."""

    source: str = ""  # text file, one sentence a line, aligned with target
    target: str = ""  # text file, one sentence a line
    data: str = ""  # one file for both: TSV, JSONL, TMX, PO; plain or labelled text for other tasks
    embedded: str = ""  # the package's own corpus: en-fr or en-zh
    store: str = ""  # a token store made by `cutaway data build`
    val_source: str = ""  # as source, for validation
    val_target: str = ""  # as target, for validation
    val_data: str = ""  # as data, for validation
    format: str = ""  # text, tsv, jsonl, tmx, po, mo; empty: told from the file's name
    source_language: str = ""  # code of the source language, kept in the model folder
    target_language: str = ""  # code of the target language, kept in the model folder
    clean: bool = True  # apply the declared filters, each counted
    max_length: int = 256  # longest side in tokens, special ones included
    long: Literal["auto", "truncate", "skip", "split", "error"] = "auto"  # fate of longer ones
    holdout: int = 1000  # no validation given: so many pairs (at most 5 %) are set aside for it

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("data.embedded", self.embedded, ("", "en-fr", "en-zh"))
        at_least("data.max_length", self.max_length, 2)
        at_least("data.holdout", self.holdout, 0)
        for left, right in (("source", "target"), ("val_source", "val_target")):
            if bool(getattr(self, left)) != bool(getattr(self, right)):
                raise ConfigError(
                    f"{left} is {getattr(self, left)!r} and {right} is {getattr(self, right)!r}; "
                    f"give both files or neither"
                )


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig(Config):
    """How text is cut into tokens."""

    kind: Literal["bpe", "unigram", "word", "char"] = "bpe"
    vocabulary: int = 0  # number of tokens; 0: chosen from the number of pairs
    joint: bool = True  # one vocabulary for both sides
    lowercase: bool = False  # both sides in lower case, in training and in use
    sample: float = 0.0  # BPE-dropout: probability that a merge is left out, drawn anew each epoch

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("tokenizer.vocabulary", self.vocabulary, 0)
        fraction("tokenizer.sample", self.sample)


Task = Literal["translate", "generate", "fill", "classify"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How the weights are found."""

    task: Task = "translate"  # or generate (language model), fill (masked words), classify
    start_from: str = ""  # a model folder whose weights and tokenizer to begin with
    grow: int = 0  # with start_from: tokens its vocabulary grows to, from the new corpus; 0: none
    seed: int = 1  # decides initial weights, order, dropout and sampled segmentations
    updates: int = 0  # steps of the optimizer; 0: from epochs
    epochs: int = 0  # passes over the pairs; 0: from updates, both 0: from the number of pairs
    tokens: int = 4096  # a batch holds at most this many tokens a side, padding included
    accumulate: int = 1  # batches summed into one update
    optimizer: Literal["adam", "adamw"] = "adamw"
    learning_rate: float = 0.0  # the peak; 0: chosen from width and order of the norms
    schedule: Literal["noam", "inverse-sqrt", "cosine", "constant"] = "cosine"
    warmup: int = 800  # updates of linear rise, at most a tenth of the run
    beta1: float = 0.9  # decay of the mean of gradients
    beta2: float = 0.98  # decay of the mean of squared gradients
    epsilon: float = 1e-9  # added to the root of the second mean
    weight_decay: float = 0.0  # on matrices only, as AdamW has it
    clip: float = 1.0  # longest gradient, all parameters together; 0: never shortened
    smoothing: float = 0.1  # label smoothing: this share is spread over the vocabulary
    r_drop: float = 0.0  # weight of the distance between two dropout passes; 0: one pass
    ema: float = 0.999  # decay of the moving average of the weights that is kept; 0: none
    average: int = 0  # average of the last so many validated weights is tried at the end
    mask_share: float = 0.15  # fill: share of tokens to predict
    validate_every: int = 0  # updates between validations; 0: about twenty in the run
    stop_on: Literal["bleu", "chrf", "loss"] = "bleu"  # what the best weights are chosen by
    validation_beam: int = 1  # beam of the validations; the model folder's own default is 5
    patience: int = 0  # stop after so many validations without a better one; 0: never
    log_every: int = 10  # updates a line of log.jsonl sums up
    save_minutes: float = 5.0  # at most so much work is lost by a power cut
    keep: int = 0  # snapshots of the weights through training, small enough to scrub through
    device: str = "auto"  # cpu, cuda, mps; auto: the fastest there is
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    compile: bool = False  # torch.compile the model: pays on GPUs and long runs
    threads: int = 0  # CPU threads; 0: torch's own choice
    parallel: Literal["ddp", "fsdp"] = "ddp"  # under torchrun: copies of the model, or shards
    tensorboard: bool = False  # also write TensorBoard's files (needs cutaway[tensorboard])

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tokens", "accumulate", "log_every", "validation_beam"):
            at_least(f"train.{name}", getattr(self, name), 1)
        for name in (
            "updates", "epochs", "learning_rate", "warmup", "weight_decay", "clip", "r_drop",
            "average", "validate_every", "patience", "save_minutes", "keep", "threads", "seed",
            "grow",
        ):  # fmt: skip
            at_least(f"train.{name}", getattr(self, name), 0)
        for name in ("beta1", "beta2", "smoothing", "ema", "mask_share"):
            fraction(f"train.{name}", getattr(self, name))
        if not self.epsilon > 0:
            raise ConfigError(f"train.epsilon is {self.epsilon!r}; expected a number above 0")
        if self.task == "fill" and not self.mask_share:
            raise ConfigError("train.mask_share is 0; the task 'fill' needs tokens to predict")


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One training run: the four tables of a run.toml.

    `model` holds the settings that differ from the preset; "preset" names one, empty: by corpus.
    """

    data: DataConfig
    tokenizer: TokenizerConfig
    model: dict[str, Any]
    train: TrainConfig

    @classmethod
    def from_tables(cls, tables: dict[str, Any], *, where: str = "") -> Self:
        """Build from the tables data, tokenizer, model and train; each may be missing."""
        known = ("data", "tokenizer", "model", "train")
        for name, table in tables.items():
            one_of(f"table{' in ' + where if where else ''}", name, known)
            if not isinstance(table, dict):
                raise ConfigError(f"{name} is {table!r}; expected a table [{name}] of settings")
        model = dict(tables.get("model", {}))
        preset = model.get("preset", "")
        one_of("model.preset", preset, ("", *PRESETS))
        changes = {name: value for name, value in model.items() if name != "preset"}
        for name in ("vocabulary", "target_vocabulary", "pad", "classes", "family"):
            if name in changes:
                raise ConfigError(
                    f"model.{name} follows from task, tokenizer and data; leave it out"
                )
        ModelConfig.from_dict({"vocabulary": 1000, **changes}, where="[model]")
        place = f"{where} " if where else ""
        return cls(
            data=DataConfig.from_dict(tables.get("data", {}), where=f"{place}[data]"),
            tokenizer=TokenizerConfig.from_dict(
                tables.get("tokenizer", {}), where=f"{place}[tokenizer]"
            ),
            model={"preset": preset, **changes},
            train=TrainConfig.from_dict(tables.get("train", {}), where=f"{place}[train]"),
        )

    def to_tables(self) -> dict[str, dict[str, Any]]:
        """The four tables as plain values."""
        return {
            "data": self.data.to_dict(),
            "tokenizer": self.tokenizer.to_dict(),
            "model": dict(self.model),
            "train": self.train.to_dict(),
        }
