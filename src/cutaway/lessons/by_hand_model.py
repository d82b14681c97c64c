"""The article's Transformer as an ordinary configuration of ours: built, recorded, trained."""

import math
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway import glass
from cutaway.config import DecodeOptions, ModelConfig
from cutaway.corpus.embedded import thrones
from cutaway.decode.greedy import greedy_search
from cutaway.decode.recording import record_pass
from cutaway.decode.tasks import Special, Task
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.fit import fit
from cutaway.lessons.recorded import put
from cutaway.model import Transformer
from cutaway.training.recording import VOCABULARY

M = TypeVar("M", bound=nn.Module)

SEED = 6
UPDATES, RATE = 120, 0.03
LIMIT = 12  # words of a continuation that does not stop
PAIRS = (  # each sentence of the corpus, cut in two: what is given, what follows
    ("i drink and", "i know things"),
    ("when you play the game of thrones", "you win or you die"),
    ("the true enemy won't wait out the storm", "he brings the storm"),
)


def raw_words() -> list[str]:
    """The corpus cut at its spaces."""
    return [word for sentence in thrones().sentences for word in sentence.split()]


def bare(word: str) -> str:
    """A word without the punctuation around it; the apostrophe inside stays."""
    return word.strip(string.punctuation)


@cache
def vocabulary() -> tuple[str, ...]:
    """Every different word, lower-cased and bare, in the order it first appears."""
    return tuple(dict.fromkeys(bare(word).lower() for word in raw_words()))


@cache
def ids() -> dict[str, int]:
    """Word → id: 0 pads, then the words, then <start> and <end>."""
    words = ("<pad>", *vocabulary(), "<start>", "<end>")
    return {word: number for number, word in enumerate(words)}


def words_of(numbers: Sequence[int]) -> list[str]:
    """Ids → words."""
    names = list(ids())
    return [names[number] for number in numbers]


def encoded(text: str) -> list[int]:
    """Words → ids."""
    return [ids()[word] for word in text.split()]


def special() -> Special:
    """What starts, ends and pads."""
    return Special(start=ids()["<start>"], end=ids()["<end>"], forbidden=(0, ids()["<start>"]))


def configuration() -> ModelConfig:
    """d = 6, one head of width 4, one layer on each side: the article's sizes."""
    return ModelConfig(
        vocabulary=len(ids()),
        encoder_layers=1,
        decoder_layers=1,
        d_model=6,
        heads=1,
        head_width=4,
        d_ff=6,
        scale_embedding=False,
        bias=False,
        dropout=0.0,
        tied="none",
        max_length=16,
    )


def seeded(build: Callable[[], M]) -> M:
    """A module whose matrices are drawn from [0, 1] with a fixed seed of their own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        module = build()
        with torch.no_grad():
            for parameter in module.parameters():
                if parameter.dim() > 1:
                    parameter.uniform_(0, 1)
    return module


def article_model() -> Transformer:
    """Our model with the article's weights; what it leaves out is drawn by a seed.

    Its feed-forward is one linear and ReLU: the second linear is the identity here.
    """
    model = seeded(lambda: Transformer(configuration()).double().eval())
    assert model.target_embedding is not None
    layer = encoder_layer(model)
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        put(layer, f"self_attention.{name}.weight", figures.given("by_hand", name))
    put(layer, "feed_forward.W_1.weight", figures.given("by_hand", "W_1"))
    put(layer, "feed_forward.W_1.bias", figures.given("by_hand", "b_1")[0])
    put(layer, "feed_forward.W_2.weight", torch.eye(6))
    with torch.no_grad():
        for word, row in zip(figures.WORDS, figures.given("by_hand", "E"), strict=True):
            model.embedding.weight[ids()[word]] = row
        model.target_embedding.weight.copy_(model.embedding.weight)
        model.target_embedding.weight[ids()["<start>"]] = figures.given("by_hand", "start")[0]
    return model


def encoder_layer(model: Transformer) -> nn.Module:
    """The one layer of the encoder."""
    assert model.encoder is not None
    return model.encoder.layers[0]


def recorded(model: Transformer, given: Sequence[str], so_far: Sequence[str]) -> Trace:
    """Record one run: source words, target words so far → probabilities."""
    trace = record_pass(model, [ids()[word] for word in given], [ids()[word] for word in so_far])
    trace.label(source=given, target=so_far, vocabulary=list(ids()), axes=VOCABULARY)
    return trace


def recorded_layer(layer: nn.Module, states: Tensor, *, root: int = 4) -> Trace:
    """An encoder layer alone on given states, its scores divided by √root; recorded."""
    query = layer.get_parameter("self_attention.W_Q.weight")
    x = states[None].clone()  # an input of its own, not a view
    with torch.no_grad():
        query.mul_(math.sqrt(configuration().d_k / root))  # the layer itself divides by √d_k
        with glass.record(layer) as trace:
            layer(x, None)
    trace.label(words=figures.WORDS, axes={"states": (None, "words", None)})
    return trace


@dataclass(frozen=True)
class Continuation:
    """A model's continuation of some words, and the probability of each word."""

    words: list[str]  # <end> included where it came
    chances: list[float]


def continued(model: Transformer, given: str) -> Continuation:
    """Continue greedily until <end>, with the decoder the product translates with."""
    options = DecodeOptions(beam=1, max_length=LIMIT)
    (result,) = greedy_search(model, [Task(source=tuple(encoded(given)))], options, special())
    best = result.hypotheses[0]
    chances = torch.tensor(best.log_probabilities).exp().tolist()
    return Continuation(words_of(best.ids), chances)


@dataclass(frozen=True)
class Learned:
    """A trained model and its losses."""

    model: Transformer
    losses: list[float]


@cache
def trained() -> Learned:
    """Start from the article's weights and learn the three sentences; the same every time."""
    model = article_model().train()
    source = padded([encoded(given) for given, _ in PAIRS])
    start, end = ids()["<start>"], ids()["<end>"]
    target = padded([[start, *encoded(follows), end] for _, follows in PAIRS])

    def loss() -> Tensor:
        logits = model(source, target[:, :-1])  # every position at once, shifted right, masked
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)

    losses = fit(model.parameters(), loss, updates=UPDATES, rate=RATE)
    return Learned(model.eval(), losses)


def padded(rows: list[list[int]]) -> Tensor:
    """Rows of ids, filled up with padding."""
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])
