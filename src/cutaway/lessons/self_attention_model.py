"""Self-attention with no parameters of its own, its loop, and word vectors learned through it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway import glass
from cutaway.glass import Trace
from cutaway.lessons.fit import fit

SENTENCE = ("the", "cat", "walks", "on", "the", "street")
SUBJECTS = ("cat", "dog", "bird", "boy", "girl", "horse")
VERBS = ("walks", "runs", "sleeps", "sings", "waits")
PLACES = ("street", "bridge", "roof", "hill")
VOCABULARY = ("the", "on", *SUBJECTS, *VERBS, *PLACES)
WIDTH = 8
SEED, UPDATES, RATE = 1, 300, 0.015


class SelfAttention(nn.Module):
    """Each output is the average of all inputs, weighted by similarity; no parameters.

    y_i = Σ_j softmax_j(x_iᵀ x_j) x_j
    """

    def forward(self, x: Tensor) -> Tensor:  # (b, t, k) → (b, t, k)
        raw_weights = torch.bmm(x, x.transpose(1, 2))  # (b, t, t)
        weights = torch.softmax(raw_weights, dim=2)
        y = torch.bmm(weights, x)
        return y


def looped(x: Tensor) -> Tensor:
    """The same as nested loops, as the formula reads."""
    outputs = torch.zeros_like(x)
    batch, length, _ = x.shape
    for b in range(batch):
        for i in range(length):
            raw = [float(x[b, i] @ x[b, j]) for j in range(length)]
            largest = max(raw)
            powers = [math.exp(score - largest) for score in raw]
            total = sum(powers)
            for j in range(length):
                outputs[b, i] += powers[j] / total * x[b, j]
    return outputs


@dataclass(frozen=True)
class Embeddings:
    """Word vectors learned through self-attention, and their accuracy."""

    table: Tensor  # (words, WIDTH)
    right: float  # share of sentences whose subject the verb's output names
    sentences: int  # learned from


@cache
def learned() -> Embeddings:
    """Learn vectors with one task: predict the subject from the output at the verb."""
    sentences = [
        ("the", who, does, "on", "the", where)
        for who in SUBJECTS
        for does in VERBS
        for where in PLACES
    ]
    ids = torch.tensor([[VOCABULARY.index(word) for word in words] for words in sentences])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        table = nn.Parameter(0.2 * torch.randn(len(VOCABULARY), WIDTH, dtype=torch.float64))
        reader = nn.Linear(WIDTH, len(VOCABULARY), dtype=torch.float64)
    attend = SelfAttention()

    def loss() -> Tensor:
        return F.cross_entropy(reader(attend(table[ids])[:, 2]), ids[:, 1])

    fit([table, *reader.parameters()], loss, updates=UPDATES, rate=RATE)
    with torch.no_grad():
        named = reader(attend(table[ids])[:, 2]).argmax(1)
    return Embeddings(table.detach(), float((named == ids[:, 1]).double().mean()), len(ids))


def vectors(words: Sequence[str]) -> Tensor:
    """The learned rows of some words, (1, t, k)."""
    return learned().table[[VOCABULARY.index(word) for word in words]][None]


def recorded(words: Sequence[str]) -> Trace:
    """One run of basic self-attention over the words."""
    attend = SelfAttention()
    x = vectors(words).clone()  # not a view: the words themselves are the input
    with torch.no_grad(), glass.record(attend) as trace:
        attend(x)
    axes: dict[str, Sequence[str | None]] = {
        "x": (None, "words", None),
        "raw_weights": (None, "words", "words"),
        "weights": (None, "words", "words"),
        "y": (None, "words", None),
    }
    trace.label(words=words, axes=axes)
    return trace
