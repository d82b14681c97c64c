"""Sampled segmentations, a pure function of (word, random stream).

sentencepiece samples from a generator per thread that cannot be reset, so a resumed run could
never draw the same cuts again; hence these two short algorithms.
"""

import heapq
import math
from collections.abc import Callable
from random import Random

from cutaway.text.model_file import BYTE, NORMAL, Kind, ModelFile

SMOOTHING = 0.2  # exponent on the probabilities of unigram cuts: 0 uniform, 1 as learnt
UNKNOWN_PENALTY = 10.0  # how far below the least likely piece an unknown character scores
CACHED_WORDS = 200_000


class Sampler:
    """Draws cuts of single words (a word begins with ▁)."""

    def __init__(self, model: ModelFile, best: Callable[[str], list[int]]) -> None:
        """`best` gives the unsampled cut of a word."""
        normal = [(i, p) for i, p in enumerate(model.pieces) if p.type == NORMAL]
        self.kind: Kind = model.kind
        self.ids = {piece.text: number for number, piece in normal}
        self.scores = {piece.text: piece.score for _, piece in normal}
        self.first_byte = next(i for i, p in enumerate(model.pieces) if p.type == BYTE)
        self.longest = max(len(text) for text in self.ids)
        self.unknown = min(self.scores.values()) - UNKNOWN_PENALTY
        self._cut_best = best
        self._best: dict[str, tuple[list[int], int]] = {}

    def cut(self, word: str, sample: float, random: Random) -> list[int]:
        """The ids of one word, with probability `sample` of leaving the best path at each turn."""
        cached = self._best.get(word)
        if cached is None:
            if len(self._best) >= CACHED_WORDS:
                self._best.clear()
            cached = (
                self._bpe(word, -1, 0.0, random)
                if self.kind == "bpe"
                else (self._cut_best(word), 0)
            )
            self._best[word] = cached
        best, merges = cached
        if self.kind == "bpe":
            # Kept merges before the first dropped one are geometric: P(kept ≥ k) = (1 − sample)ᵏ.
            # One draw decides for most words that nothing is dropped at all.
            draw = 1.0 - random.random()
            kept = int(min(math.log(draw) / math.log1p(-sample), merges)) if sample < 1 else 0
            return best if kept >= merges else self._bpe(word, kept, sample, random)[0]
        return best if random.random() >= sample else self._unigram(word, random)

    def _bpe(self, word: str, kept: int, sample: float, random: Random) -> tuple[list[int], int]:
        """Merge the best-scoring neighbours until none is left; and how many merges that took.

        The candidate after `kept` merges is dropped, each later one with probability `sample`.
        A dropped candidate may come back after the next merge: each merge draws afresh.
        """
        symbols: list[str] = list(word)  # a merged-away symbol becomes ""
        before = list(range(-1, len(symbols) - 1))
        after = [*range(1, len(symbols)), -1]
        heap: list[tuple[float, int, str, str]] = []

        def propose(left: int, right: int) -> None:
            if left >= 0 and right >= 0:
                score = self.scores.get(symbols[left] + symbols[right])
                if score is not None:
                    heapq.heappush(heap, (-score, left, symbols[left], symbols[right]))

        for left in range(len(symbols) - 1):
            propose(left, left + 1)
        dropped: list[tuple[float, int, str, str]] = []
        merges, chance = 0, False
        while heap:
            candidate = heapq.heappop(heap)
            _, left, first, second = candidate
            right = after[left]
            if symbols[left] != first or right < 0 or symbols[right] != second:
                continue  # a neighbour has changed since this was proposed
            if random.random() < sample if chance else merges == kept:
                chance = True
                dropped.append(candidate)
                continue
            merges += 1
            symbols[left], symbols[right] = first + second, ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            propose(before[left], left)
            propose(left, after[left])
            while dropped:
                heapq.heappush(heap, dropped.pop())
        return self._to_ids(symbols), merges

    def _unigram(self, word: str, random: Random) -> list[int]:
        """A cut drawn with probability ∝ exp(SMOOTHING · Σ scores).

        Forward sums over all cuts, then a walk back that draws each last piece by its share.
        """
        arcs: list[list[tuple[int, float]]] = [[]]  # per end: (begin, log weight up to the end)
        forward = [0.0]  # log Σ of the weights of all cuts up to here
        for end in range(1, len(word) + 1):
            arcs.append([])
            for begin in range(max(0, end - self.longest), end):
                score = self.scores.get(word[begin:end])
                if score is None and end - begin == 1:
                    score = self.unknown
                if score is not None:
                    arcs[end].append((begin, forward[begin] + SMOOTHING * score))
            top = max(weight for _, weight in arcs[end])
            forward.append(top + math.log(sum(math.exp(w - top) for _, w in arcs[end])))
        cut: list[str] = []
        end = len(word)
        while end:
            begins, weights = zip(*arcs[end], strict=True)
            shares = [math.exp(weight - forward[end]) for weight in weights]
            begin = random.choices(begins, shares)[0]
            cut.append(word[begin:end])
            end = begin
        return self._to_ids(cut[::-1])

    def _to_ids(self, symbols: list[str]) -> list[int]:
        ids: list[int] = []
        for symbol in symbols:
            number = self.ids.get(symbol)
            if number is not None:
                ids.append(number)
            else:  # "" gives nothing, an unknown character its bytes
                ids.extend(self.first_byte + byte for byte in symbol.encode())
        return ids
