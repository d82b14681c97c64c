"""A sentence as the encoder reads it: a word's vector stage by stage, and what changed it.

ΔE_i = Σ_head Σ_j weight_ij · value_j W_O + b_O
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cutaway.decode import Translator
from cutaway.lessons.trained_run import SentenceRun, sentence_run


@dataclass(frozen=True)
class Update:
    """What one attention sublayer adds to one position, split by source word and head."""

    before: Tensor  # (D,) E
    change: Tensor  # (D,) ΔE
    after: Tensor  # (D,) E′
    parts: Tensor  # (H, words, D)
    bias: Tensor  # (D,) b_O, which no word brings

    @property
    def error(self) -> float:
        """How far the parts are from their sum, at the worst dimension."""
        return float((self.parts.sum((0, 1)) + self.bias - self.change).abs().max())

    @property
    def shares(self) -> Tensor:
        """The part of each head and word along ΔE, (H, words); with the bias they add up to 1."""
        return self.parts @ self.change / (self.change @ self.change)


def words_of(run: SentenceRun, pieces: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words of a sentence, and to which of them each token belongs."""
    words: list[str] = []
    belongs: list[int] = []
    for piece, name in zip(pieces, run.source, strict=True):
        begins = piece.startswith("▁") or not words or not name[0].isalnum()
        if begins:
            words.append(name)
        else:
            words[-1] += name
        belongs.append(len(words) - 1)
    return words, belongs


class Reading:
    """A sentence read by the encoder, word by word."""

    def __init__(self, translator: Translator, text: str) -> None:
        self.model = translator.model
        self.run = sentence_run(translator, text)
        pieces = translator.tokenizer.pieces(self.run.source_ids[0].tolist())
        self.words, self.belongs = words_of(self.run, pieces)

    def place(self, word: str | int) -> int:
        """The last token of a word, given by itself or its number: the only token of most."""
        number = word if isinstance(word, int) else self.words.index(word)
        return max(place for place, owner in enumerate(self.belongs) if owner == number)

    def stations(self, word: str) -> list[Tensor]:
        """The word's vector: in the table, with its position, after each layer, as memory."""
        place, run = self.place(word), self.run
        end = "added" if self.model.config.norm == "pre" else "normed"
        return [
            run.numbers("embedding.tokens")[0, place],
            run.numbers("encoder.states")[0, place],
            *(
                run.numbers(f"encoder.layers.{layer}.feed_forward_add_norm.{end}")[0, place]
                for layer in range(self.model.config.encoder_layers)
            ),
            run.numbers("encoder.memory")[0, place],
        ]

    def update(self, word: str | int, layer: int) -> Update:
        """ΔE of a word in one layer's attention, and whose doing it is."""
        place, run = self.place(word), self.run
        part = f"encoder.layers.{layer}.self_attention"
        weights = run.numbers(f"{part}.weights")[0, :, place]  # (H, S)
        value = run.numbers(f"{part}.value")[0]  # (H, S, W)
        W_O = run.numbers(f"{part}.W_O.weight")
        W_O = W_O.reshape(len(W_O), len(value), -1)  # (D, H, W)
        by_token = torch.einsum("hs,hsw,dhw->hsd", weights, value, W_O)
        parts = by_token.new_zeros(len(value), len(self.words), by_token.shape[2])
        parts.index_add_(1, torch.tensor(self.belongs), by_token)
        change = run.numbers(f"{part}.output")[0, place]
        after = run.numbers(f"{part}_add_norm.added")[0, place]
        has_bias = self.model.config.bias
        bias = run.numbers(f"{part}.W_O.bias") if has_bias else torch.zeros_like(change)
        return Update(after - change, change, after, parts, bias)
