"""What decides the shape and the arithmetic of a Transformer, and its named sizes."""

from dataclasses import dataclass, field
from typing import Any, Literal, Self

from cutaway.config.base import Config, at_least, fraction, one_of, setting
from cutaway.errors import ConfigError

Family = Literal["encoder-decoder", "decoder", "encoder"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """Everything that decides the shape and the arithmetic of a Transformer; base by default."""

    vocabulary: int = field(
        metadata={"help": "source tokens, and target tokens too unless target_vocabulary is given"}
    )
    target_vocabulary: int | None = setting(None, "a second vocabulary for the target side")
    family: Family = setting("encoder-decoder", "'decoder' is GPT-like, 'encoder' BERT-like")
    encoder_layers: int = setting(6, "layers of the encoder, the paper's N")
    decoder_layers: int = setting(6, "layers of the decoder; may differ from the encoder's")
    d_model: int = setting(512, "width of the residual stream")
    heads: int = setting(8, "number of attention heads, the paper's h")
    head_width: int | None = setting(None, "d_k = d_v of one head; None: d_model / heads")
    d_ff: int = setting(2048, "inner width of the feed-forward")
    activation: Literal["relu", "gelu"] = setting("relu", "activation function of the feed-forward")
    norm: Literal["post", "pre"] = setting(
        "post", "post is the paper's; pre trains without long warm-up"
    )
    norm_epsilon: float = setting(1e-5, "added to the variance in layer norm")
    positions: Literal["sinusoidal", "learned", "none"] = setting(
        "sinusoidal", "how the order of tokens is encoded"
    )
    position_amplitude: bool = setting(False, "a learned factor on the positions, initially 1")
    scale_embedding: bool = setting(
        True, "multiply token embeddings by √d_model, as the paper does"
    )
    max_length: int = setting(1024, "longest sequence the position table holds")
    tied: Literal["all", "output", "none"] = setting(
        "all", "which embedding tables are shared: both sides and output, target and output, none"
    )
    bias: bool = setting(True, "biases in the attention projections")
    output_bias: bool = setting(True, "b_o of softmax(W_o h + b_o)")
    dropout: float = setting(0.1, "dropout on embeddings and on each sublayer's output")
    attention_dropout: float = setting(0.0, "dropout on attention weights")
    activation_dropout: float = setting(0.0, "dropout inside the feed-forward")
    attention: Literal["full", "local", "strided"] = setting("full", "which keys a query reaches")
    window: int = setting(64, "local and strided: keys at most this far away")
    stride: int = setting(64, "strided: also every stride-th key beyond the window")
    classes: int = setting(0, "encoder family: outputs of a classifier, 0 for none")
    pad: int = setting(0, "id of the padding token")

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


# Sizes by name. base and big have the paper's sizes, but pre-norm: post-norm needs more patience
# with the rate (docs/decisions.md). tiny is the published Multi30k size.
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "encoder_layers": 4,
        "decoder_layers": 4,
        "d_model": 128,
        "heads": 4,
        "d_ff": 256,
        "dropout": 0.2,
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
    "base": {"norm": "pre"},
    "big": {"d_model": 1024, "heads": 16, "d_ff": 4096, "dropout": 0.3, "norm": "pre"},
}
