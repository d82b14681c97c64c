"""What every stage reads: frozen dataclasses, TOML in, JSON out, unknown keys refused."""

import dataclasses
import json
import tomllib
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from cutaway.errors import ConfigError, InputError

__all__ = ["PRESETS", "Config", "ConfigError", "InputError", "ModelConfig", "one_of", "read_toml"]


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a value outside its list."""
    if value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed)
        raise ConfigError(f"{name} is {value!r}; expected one of {choices}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a number below its least value."""
    if isinstance(value, bool) or not value >= least:
        raise ConfigError(f"{name} is {value!r}; expected a number of at least {least}")


def fraction(name: str, value: float) -> None:
    """Refuse a number outside [0, 1)."""
    if isinstance(value, bool) or not 0 <= value < 1:
        raise ConfigError(f"{name} is {value!r}; expected at least 0 and below 1")


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
    return getattr(annotation, "__name__", None) or str(annotation).replace("typing.", "")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of the frozen settings: from a dict or TOML table and back, nothing unknown accepted."""

    @classmethod
    def from_dict(cls, values: dict[str, Any], *, where: str = "") -> Self:
        """Build from plain values; an unknown key or a wrong type is a ConfigError naming it."""
        known = {field.name: field for field in dataclasses.fields(cls)}
        hints = typing.get_type_hints(cls)
        place = f" in {where}" if where else ""
        for name, value in values.items():
            if name not in known:
                raise ConfigError(
                    f"unknown setting {name!r}{place}; expected one of {', '.join(sorted(known))}"
                )
            if not _fits(value, hints[name]):
                raise ConfigError(
                    f"{name}{place} is {value!r} ({type(value).__name__}); "
                    f"expected {_named(hints[name])}"
                )
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
    heads: int = 8
    head_width: int | None = None  # d_k = d_v of one head; None: d_model / heads
    d_ff: int = 2048  # inner width of the feed-forward
    activation: Literal["relu", "gelu"] = "relu"
    norm: Literal["post", "pre"] = "post"  # post is the paper's; pre trains without long warm-up
    norm_epsilon: float = 1e-5  # inside the root of layer norm
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
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
        for name in ("vocabulary", "d_model", "heads", "d_ff", "max_length", "window", "stride"):
            at_least(name, getattr(self, name), 1)
        for name in ("encoder_layers", "decoder_layers", "classes"):
            at_least(name, getattr(self, name), 0)
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            fraction(name, getattr(self, name))
        for field in dataclasses.fields(self):
            hint = typing.get_type_hints(type(self))[field.name]
            if typing.get_origin(hint) is Literal:
                one_of(field.name, getattr(self, field.name), typing.get_args(hint))
        if not self.norm_epsilon > 0:
            raise ConfigError(f"norm_epsilon is {self.norm_epsilon!r}; expected a number above 0")
        if self.head_width is None and self.d_model % self.heads:
            raise ConfigError(
                f"heads is {self.heads} and does not divide d_model {self.d_model}; "
                f"choose a divisor, or give head_width"
            )
        if self.head_width is not None:
            at_least("head_width", self.head_width, 1)
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ConfigError(
                f"d_model is {self.d_model} and sinusoidal positions come in sine-cosine pairs; "
                f"choose an even width, or learned positions"
            )
        if not 0 <= self.pad < self.vocabulary:
            raise ConfigError(
                f"pad is {self.pad}; expected an id of the vocabulary, 0 to {self.vocabulary - 1}"
            )
        if self.target_vocabulary is not None:
            at_least("target_vocabulary", self.target_vocabulary, 1)
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
