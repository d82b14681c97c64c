"""A sentence as the encoder reads it: the vector of a word at each stage, and what changed it.

ΔE_i = Σ_head Σ_j weight_ij · value_j W_O + b_O
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from cutaway.decode import Translator
from cutaway.glass import Trace, record
from cutaway.lessons.trained_run import SentenceRun, sentence_run
from cutaway.text.model_file import SPACE

WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Update:
    """What one attention sublayer adds to one position, split by source word and head."""

    before: Tensor  # (D,) E
    change: Tensor  # (D,) ΔE
    after: Tensor  # (D,) E′
    parts: Tensor  # (H, words, D)
    bias: Tensor  # (D,) b_O, which belongs to no word

    @property
    def error(self) -> float:
        """Largest difference between ΔE and the sum of its parts, over dimensions."""
        return float((self.parts.sum((0, 1)) + self.bias - self.change).abs().max())

    @property
    def shares(self) -> Tensor:
        """Part of each head and word along ΔE, (H, words); with the bias they sum to 1."""
        return self.parts @ self.change / (self.change @ self.change)


def words_of(text: str, pieces: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words and marks of a text, then <end>; and to which of them each token belongs.

    Tokens are matched to the text by their letters, so a word may be cut into any pieces. Where
    letters were replaced (unknown characters, bytes), each token stands for itself.
    """
    words = WORD.findall(text)
    owners = [number for number, word in enumerate(words) for _ in word]
    letters = "".join(words).casefold()
    belongs: list[int] = []
    at = 0
    for piece in pieces[:-1]:
        bare = piece.replace(SPACE, "").casefold()
        if letters[at : at + len(bare)] != bare:
            return [piece.replace(SPACE, "") or SPACE for piece in pieces], [*range(len(pieces))]
        belongs.append(owners[min(at, len(owners) - 1)])
        at += len(bare)
    return [*words, pieces[-1]], [*belongs, len(words)]


class Reading:
    """A sentence read by the encoder, word by word."""

    def __init__(self, translator: Translator, text: str) -> None:
        self.model = translator.model
        self.run: SentenceRun = sentence_run(translator, text)
        pieces = translator.tokenizer.pieces(self.run.source_ids[0].tolist())
        self.words, self.belongs = words_of(text, pieces)

    @cached_property
    def trace(self) -> Trace:
        """The encoder's pass alone: a lesson reads many sentences and shows a few."""
        with torch.no_grad(), record(self.model) as trace:
            self.model.encode(self.run.source_ids)
        return trace

    def numbers(self, address: str) -> Tensor:
        """The numbers of an address of the encoder, in double precision."""
        return self.trace[address].tensor.double()

    def number(self, word: str) -> int:
        """The place of a word among the words; the last one where the word is not found."""
        return self.words.index(word) if word in self.words else max(0, len(self.words) - 2)

    def place(self, word: str | int) -> int:
        """The last token of a word, given by itself or its number."""
        number = word if isinstance(word, int) else self.number(word)
        return max(place for place, owner in enumerate(self.belongs) if owner == number)

    def stations(self, word: str | int) -> list[Tensor]:
        """The word's vector: in the table, with its position, after each layer, as memory."""
        place = self.place(word)
        end = "added" if self.model.config.norm == "pre" else "normed"
        return [
            self.numbers("embedding.tokens")[0, place],
            self.numbers("encoder.states")[0, place],
            *(
                self.numbers(f"encoder.layers.{layer}.feed_forward_add_norm.{end}")[0, place]
                for layer in range(self.model.config.encoder_layers)
            ),
            self.numbers(self.run.memory)[0, place],
        ]

    def updates(self, word: str | int) -> list[Update]:
        """ΔE of a word in the attention of every layer."""
        return [self.update(word, layer) for layer in range(self.model.config.encoder_layers)]

    def update(self, word: str | int, layer: int) -> Update:
        """ΔE of a word in one layer's attention, split by the words it comes from."""
        place = self.place(word)
        part = f"encoder.layers.{layer}.self_attention"
        weights = self.numbers(f"{part}.weights")[0, :, place]  # (H, S)
        value = self.numbers(f"{part}.value")[0]  # (H, S, W)
        W_O = self.numbers(f"{part}.W_O.weight")
        W_O = W_O.reshape(len(W_O), len(value), -1)  # (D, H, W)
        by_token = torch.einsum("hs,hsw,dhw->hsd", weights, value, W_O)
        parts = by_token.new_zeros(len(value), len(self.words), by_token.shape[2])
        parts.index_add_(1, torch.tensor(self.belongs), by_token)
        change = self.numbers(f"{part}.output")[0, place]
        after = self.numbers(f"{part}_add_norm.added")[0, place]
        has_bias = self.model.config.bias
        bias = self.numbers(f"{part}.W_O.bias") if has_bias else torch.zeros_like(change)
        return Update(self.stations(word)[layer + 1], change, after, parts, bias)

    def weights(self, word: str, layer: int) -> Tensor:
        """Attention of a word in one layer, summed over the tokens of each word, (H, words)."""
        weights = self.numbers(f"encoder.layers.{layer}.self_attention.weights")[0]
        row = weights[:, self.place(word)]  # (H, S)
        summed = row.new_zeros(len(row), len(self.words))
        return summed.index_add_(1, torch.tensor(self.belongs), row)
