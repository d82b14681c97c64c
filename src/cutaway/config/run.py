"""The settings of a training run: the tables data, tokenizer, model and train of a run.toml."""

from dataclasses import dataclass
from typing import Any, Literal, Self

from cutaway.config.base import (
    Config,
    at_least,
    fraction,
    language_code,
    one_of,
    setting,
)
from cutaway.config.model import PRESETS, ModelConfig
from cutaway.config.sources import SourceConfig
from cutaway.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """Where the sentences are, and which of them are used."""

    source: str = setting("", "source sentences, one per line")
    target: str = setting("", "their translations, line by line")
    data: str = setting(
        "",
        "one file with both sides (TSV, JSONL, TMX, PO); plain text for generate and fill, "
        "`label TAB text` for classify",
    )
    embedded: str = setting("", "the package's own corpus: en-fr or en-zh")
    store: str = setting("", "a token store made by `cutaway data build`")
    sources: tuple[dict[str, Any], ...] = setting(
        (), "several sources, each a table [[data.sources]] with path, weight, tag, filters …"
    )
    reverse: bool = setting(False, "swap source and target, in the validation files too")
    both_ways: bool = setting(
        False, "train both directions in one model, with a tag for the target language"
    )
    val_source: str = setting("", "validation sources; without any, some pairs are held out")
    val_target: str = setting("", "validation targets")
    val_data: str = setting("", "validation file with both sides")
    val_limit: int = setting(
        3000, "most pairs of the validation files that are used, spread evenly over them; 0: all"
    )
    format: str = setting("", "text, tsv, jsonl, tmx, po or mo; empty: by the file name")
    encoding: str = setting("", "encoding of the files; empty: UTF-8")
    columns: str = setting("1,2", "TSV columns of source and target, counted from 1")
    keys: str = setting("", "JSONL keys of source and target, as question,answer")
    source_language: str = setting(
        "", "code of the source language: that side of a TMX; written to the model folder"
    )
    target_language: str = setting(
        "", "code of the target language: that side of a TMX; written to the model folder"
    )
    clean: bool = setting(
        True, "remove pairs that the filters of `cutaway data check` would remove"
    )
    max_length: int = setting(256, "longest side in tokens, special ones included")
    long: Literal["auto", "truncate", "skip", "split", "error"] = setting(
        "auto", "what happens to longer ones; auto: by the task"
    )
    holdout: int = setting(
        1000, "pairs held out for validation if none is given, at most 5 % of all"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("data.embedded", self.embedded, ("", "en-fr", "en-zh"))
        for name in ("source_language", "target_language"):
            if getattr(self, name):
                language_code(f"data.{name}", getattr(self, name))
        at_least("data.max_length", self.max_length, 2)
        at_least("data.holdout", self.holdout, 0)
        at_least("data.val_limit", self.val_limit, 0)
        self.each_source()
        for left, right in (("source", "target"), ("val_source", "val_target")):
            if bool(getattr(self, left)) != bool(getattr(self, right)):
                raise ConfigError(
                    f"{left} is {getattr(self, left)!r} and {right} is {getattr(self, right)!r}; "
                    f"give both files or neither"
                )

    def each_source(self) -> list[SourceConfig]:
        """The settings of several sources, checked."""
        return [
            SourceConfig.from_dict(values, where=f"[[data.sources]] {number}")
            for number, values in enumerate(self.sources, start=1)
        ]


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig(Config):
    """How text is cut into tokens."""

    kind: Literal["bpe", "unigram", "word", "char"] = setting("bpe", "how text is cut into pieces")
    vocabulary: int = setting(0, "tokens of the vocabulary; 0: by the number of pairs")
    joint: bool = setting(True, "one vocabulary for both sides")
    lowercase: bool = setting(False, "all text in lower case, in training and in use")
    sample: float = setting(
        0.0, "BPE-dropout: probability that a merge is left out, drawn again in each epoch"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("tokenizer.vocabulary", self.vocabulary, 0)
        fraction("tokenizer.sample", self.sample)


CHOOSE = -1  # of train.diversify, where 0 is none
PRESET_HELP = "tiny, small, base or big; empty: by the size of the corpus"

Task = Literal["translate", "generate", "fill", "classify"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How the weights are found."""

    task: Task = setting(
        "translate",
        "what to learn: translate, generate (language model), fill (masked words) or classify",
    )
    start_from: str = setting("", "a model folder whose weights and tokenizer to start from")
    grow: int = setting(
        0, "with start_from: size to which its vocabulary grows, from the new corpus; 0: no growth"
    )
    seed: int = setting(1, "determines initial weights, order, dropout and sampled segmentations")
    updates: int = setting(0, "steps of the optimizer; 0: from epochs")
    epochs: int = setting(
        0, "passes over the pairs; 0: from updates, both 0: from the number of pairs"
    )
    tokens: int = setting(4096, "most tokens per side in a batch, padding included")
    accumulate: int = setting(
        0, "batches summed into one update; 0: 1, from d_model 512 on as many as hold 25,000 tokens"
    )
    parts: int = setting(
        0,
        "equal shares of a batch's tokens, each a batch of its own, on a CPU computed side by "
        "side; 0: on a CPU 4, or fewer of at least 512 tokens, elsewhere 1",
    )
    optimizer: Literal["auto", "adam", "adamw", "muon"] = setting(
        "auto",
        "adam; adamw, with decoupled weight decay; muon, which turns the steps of the layers' "
        "matrices into orthogonal ones, with adamw for all else; auto: muon for a small "
        "translator with 10,000 pairs or more, else adamw",
    )
    learning_rate: float = setting(0.0, "highest rate; 0: by d_model, norm order and schedule")
    schedule: Literal["auto", "noam", "inverse-sqrt", "cosine", "constant"] = setting(
        "auto",
        "how the rate falls after the warm-up; auto: inverse-sqrt with a muon that was chosen by "
        "auto, else cosine",
    )
    warmup: int = setting(
        0,
        "updates in which the rate rises linearly, at most a tenth of the run; 0: 800, from "
        "d_model 512 on 4,000",
    )
    beta1: float = setting(0.9, "decay of the mean of gradients")
    momentum: float = setting(0.95, "muon: decay of the mean of gradients")
    beta2: float = setting(0.98, "decay of the mean of squared gradients")
    epsilon: float = setting(1e-9, "added to the root of the second mean")
    weight_decay: float = setting(0.0, "decoupled weight decay, on matrices only")
    clip: float = setting(1.0, "largest norm of the gradient of all parameters; 0: no clipping")
    smoothing: float = setting(0.1, "label smoothing: this share is spread over the vocabulary")
    r_drop: float = setting(
        0.0, "R-Drop: weight of the distance between two dropout passes; 0: one pass"
    )
    sim_cut: float = setting(
        0.0, "SimCut: weight of the distance to a second pass with tokens cut off; 0: one pass"
    )
    cut_share: float = setting(
        0.05, "with sim_cut: share of tokens whose embedding is zero in the second pass"
    )
    word_dropout: float = setting(
        0.0, "share of input tokens, of source and target, whose embedding is zero; 0: none"
    )
    diversify: int = setting(
        CHOOSE,
        "data diversification: so many models of each direction are trained first, and the last "
        "one learns from their translations of the corpus too; 0: none; -1: one where the length "
        "is left to choose and the corpus has 20,000 to 100,000 pairs",
    )
    ema: float = setting(
        0.999, "decay of the moving average of the weights, which is what is saved; 0: no average"
    )
    average: int = setting(0, "number of last validated weights whose average is tried at the end")
    mask_share: float = setting(0.15, "fill: share of tokens to predict")
    skip_nonfinite: int = setting(
        0, "updates whose loss or gradient is not finite that are skipped before the run stops"
    )
    validate_every: int = setting(0, "updates between validations; 0: about twenty in the run")
    stop_on: Literal["bleu", "chrf", "loss"] = setting(
        "bleu", "metric that chooses the best weights"
    )
    validation_beam: int = setting(1, "beam size in validation; the model folder's default is 5")
    patience: int = setting(0, "stop after this many validations without improvement; 0: never")
    log_every: int = setting(10, "updates summed up by one line of log.jsonl")
    save_minutes: float = setting(5.0, "minutes between checkpoints")
    keep: int = setting(0, "snapshots of the weights kept through training, for the page")
    keep_states: int = setting(
        0, "parts into which the run is divided; each can be replayed from its beginning"
    )
    private: bool = setting(
        False, "leave validation sentences out of the model folder (log.jsonl, report.html)"
    )
    device: str = setting("auto", "where to compute: cpu, cuda or mps; auto: the fastest available")
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        "auto", "of matrix products; auto: bfloat16 where it is fast"
    )
    compile: bool = setting(
        False, "compile the model with torch.compile: pays on GPUs and in long runs"
    )
    threads: int = setting(0, "CPU threads; 0: torch's own choice")
    parallel: Literal["ddp", "fsdp"] = setting(
        "ddp", "under torchrun: replicas of the model (ddp) or shards (fsdp)"
    )
    tensorboard: bool = setting(
        False, "also write TensorBoard's files (needs cutaway[tensorboard])"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tokens", "log_every", "validation_beam"):
            at_least(f"train.{name}", getattr(self, name), 1)
        for name in (
            "updates", "epochs", "learning_rate", "warmup", "weight_decay", "clip", "r_drop",
            "sim_cut", "average", "validate_every", "patience", "save_minutes", "keep",
            "keep_states", "threads", "seed", "grow", "skip_nonfinite", "accumulate",
            "parts",
        ):  # fmt: skip
            at_least(f"train.{name}", getattr(self, name), 0)
        at_least("train.diversify", self.diversify, CHOOSE)
        for name in (
            "beta1",
            "momentum",
            "beta2",
            "smoothing",
            "ema",
            "mask_share",
            "cut_share",
            "word_dropout",
        ):
            fraction(f"train.{name}", getattr(self, name))
        if not self.epsilon > 0:
            raise ConfigError(f"train.epsilon is {self.epsilon!r}; expected a number above 0")
        if self.task == "fill" and not self.mask_share:
            raise ConfigError("train.mask_share is 0; the task 'fill' needs tokens to predict")
        if self.r_drop and self.sim_cut:
            raise ConfigError(
                f"train.r_drop is {self.r_drop} and train.sim_cut is {self.sim_cut}; expected one "
                f"of them: each compares the first pass with a second one"
            )
        if self.sim_cut and not self.cut_share:
            raise ConfigError("train.cut_share is 0; train.sim_cut needs tokens to cut off")
        if self.task == "classify":
            for name in ("r_drop", "sim_cut", "word_dropout"):
                if getattr(self, name):
                    raise ConfigError(f"train.{name} does nothing for classify; leave it out")


FOLLOWS = ("vocabulary", "target_vocabulary", "pad", "classes", "family")  # no [model] setting
EXCLUSIVE = (("source", "data", "sources", "embedded", "store"), ("val_source", "val_data"))


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
        for name in FOLLOWS:
            if name in changes:
                raise ConfigError(
                    f"model.{name} follows from task, tokenizer and data; leave it out"
                )
        ModelConfig.from_dict({"vocabulary": 1000, **changes}, where="[model]")
        place = f"{where} " if where else ""
        config = cls(
            data=DataConfig.from_dict(tables.get("data", {}), where=f"{place}[data]"),
            tokenizer=TokenizerConfig.from_dict(
                tables.get("tokenizer", {}), where=f"{place}[tokenizer]"
            ),
            model={"preset": preset, **changes},
            train=TrainConfig.from_dict(tables.get("train", {}), where=f"{place}[train]"),
        )
        config._refuse_idle()
        return config

    def _refuse_idle(self) -> None:
        """Refuse settings of which one would leave another without effect."""
        for group in EXCLUSIVE:
            given = [f"data.{name}" for name in group if getattr(self.data, name)]
            if len(given) > 1:
                raise ConfigError(
                    f"{' and '.join(given)} are given; expected one: each names a corpus"
                )
        several = [name for name in ("sources", "reverse", "both_ways") if getattr(self.data, name)]
        if several and (self.train.task != "translate" or self.data.store):
            what = (
                "give it to `cutaway data build`, which makes the store"
                if self.data.store
                else f"the task {self.train.task!r} cannot use it"
            )
            raise ConfigError(f"data.{several[0]} is for pairs from files; {what}")
        if self.train.grow and self.data.store:
            raise ConfigError("train.grow needs texts, and a store holds tokens; leave one out")
        if self.train.start_from:
            fixed = ["model.preset"] if self.model["preset"] else []
            default = TokenizerConfig()
            fixed += [
                f"tokenizer.{name}"
                for name in ("kind", "vocabulary", "joint", "lowercase")
                if getattr(self.tokenizer, name) != getattr(default, name)
            ]
            if fixed:
                raise ConfigError(
                    f"{fixed[0]} is given, but the model to start from (train.start_from, --from) "
                    f"has its own; leave one of them out"
                )
        elif self.train.grow:
            raise ConfigError("train.grow needs a model to start from; give --from FOLDER too")
        if self.train.updates and self.train.epochs:
            raise ConfigError(
                f"train.updates is {self.train.updates} and train.epochs {self.train.epochs}; "
                f"expected one: each is the length of the run"
            )
        usual = self.from_tables({}) if self.data.store or self.data.embedded else self
        corpus = "data.store" if self.data.store else "data.embedded"
        idle = [("data", name) for name in ("format", "encoding", "columns", "keys")]
        if self.data.store:
            idle += [("tokenizer", name) for name in ("kind", "vocabulary", "joint", "lowercase")]
        for table, name in idle:
            if getattr(getattr(self, table), name) != getattr(getattr(usual, table), name):
                raise ConfigError(
                    f"{table}.{name} is given, but {corpus} holds its sentences ready; leave one "
                    f"of them out"
                )

    def to_tables(self) -> dict[str, dict[str, Any]]:
        """The four tables as plain values; `sources` only where there are any."""
        data = self.data.to_dict()
        sources = [dict(source) for source in data.pop("sources")]
        return {
            "data": data | ({"sources": sources} if sources else {}),
            "tokenizer": self.tokenizer.to_dict(),
            "model": dict(self.model),
            "train": self.train.to_dict(),
        }
