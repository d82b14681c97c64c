"""The article's Transformer as an ordinary configuration of ours: built, recorded, trained."""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.corpus.embedded import thrones
from cutaway.decode.greedy import greedy_search
from cutaway.decode.options import DecodeOptions
from cutaway.decode.stepper import Special, Task
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.recorded import put, table
from cutaway.model import Transformer

SEED = 6
UPDATES, RATE = 120, 0.03
PAIRS = (  # each sentence of the corpus, cut in two: what is given, what follows
    ("i drink and", "i know things"),
    ("when you play the game of thrones", "you win or you die"),
    ("the true enemy won't wait out the storm", "he brings the storm"),
)

VOCABULARY: dict[str, Sequence[str | None]] = {  # whose rows are the words
    "embedding.weight": ("vocabulary", None),
    "target_embedding.weight": ("vocabulary", None),
    "output.weight": ("vocabulary", None),
    "output.bias": ("vocabulary",),
    "probabilities": (None, None, "vocabulary"),
}


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
    """d = 6, one head of width 4, one layer a side: the article's sizes."""
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


def article_model() -> Transformer:
    """Our model with the article's weights; what it leaves out is drawn in [0, 1] by a seed.

    Its feed-forward is one linear and ReLU: the second linear is the identity here.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = Transformer(configuration()).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.uniform_(0, 1)
    assert model.encoder is not None
    assert model.target_embedding is not None
    layer = model.encoder.layers[0]
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        put(layer, f"self_attention.{name}.weight", table(getattr(figures, name)))
    put(layer, "feed_forward.W_1.weight", table(figures.W_1))
    put(layer, "feed_forward.W_1.bias", table([figures.B_1])[0])
    put(layer, "feed_forward.W_2.weight", torch.eye(6))
    with torch.no_grad():
        for word, row in zip(figures.WORDS, table(figures.EMBEDDING), strict=True):
            model.embedding.weight[ids()[word]] = row
        model.target_embedding.weight.copy_(model.embedding.weight)
        model.target_embedding.weight[ids()["<start>"]] = table([figures.START])[0]
    return model


def recorded(model: Transformer, given: Sequence[str], so_far: Sequence[str]) -> Trace:
    """One run, every number of it kept: source words, target words so far → probabilities."""
    source = torch.tensor([[ids()[word] for word in given]])
    target = torch.tensor([[ids()[word] for word in so_far]])
    with torch.no_grad(), glass.record(model) as trace:
        logits = model(source, target)
        probabilities = torch.softmax(logits, dim=-1)
        assert probabilities.shape[1] == len(so_far)
    trace.label(source=given, target=so_far, vocabulary=list(ids()), axes=VOCABULARY)
    return trace


@dataclass(frozen=True)
class Continuation:
    """What a model says after some words, and how sure it was of each."""

    words: list[str]  # <end> included where it came
    chances: list[float]


def continued(model: Transformer, given: str, *, limit: int = 12) -> Continuation:
    """The most probable word, fed back, until <end>: the decoder the product translates with."""
    options = DecodeOptions(beam=1, max_length=limit)
    (result,) = greedy_search(model, [Task(source=tuple(encoded(given)))], options, special())
    best = result.hypotheses[0]
    chances = torch.tensor(best.log_probabilities).exp().tolist()
    return Continuation(words_of(best.ids), chances)


@dataclass(frozen=True)
class Learned:
    """A trained model and how it got there."""

    model: Transformer
    losses: list[float]


@cache
def trained() -> Learned:
    """Start from the article's weights and learn the three sentences; the same every time."""
    model = article_model().train()
    source = padded([encoded(given) for given, _ in PAIRS])
    start, end = ids()["<start>"], ids()["<end>"]
    target = padded([[start, *encoded(follows), end] for _, follows in PAIRS])
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    losses = []
    for _ in range(UPDATES):
        logits = model(source, target[:, :-1])  # every position at once, shifted right, masked
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(loss.detach()))
    return Learned(model.eval(), losses)


def padded(rows: list[list[int]]) -> Tensor:
    """Rows of ids, filled up with padding."""
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])
