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
CACHED_CUTS = 300_000


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
        self._best = best
        self._cuts: dict[tuple[str, tuple[int, ...]], tuple[list[int], int]] = {}

    def cut(self, word: str, sample: float, random: Random) -> list[int]:
        """The ids of one word, with probability `sample` of leaving the best path at each turn.

        BPE-dropout: each merge is left out with that probability whenever its turn comes. The
        merges kept between two left out are geometric, P(gap ≥ k) = (1 − sample)ᵏ, so a cut is
        decided by a few such gaps, and words meet the same few gaps again and again.
        """
        if self.kind != "bpe":
            return self._best(word) if random.random() >= sample else self._unigram(word, random)
        gaps: tuple[int, ...] = ()
        while True:
            ids, turns = self._cut_with(word, gaps)
            draw = 1.0 - random.random()
            gap = int(min(math.log(draw) / math.log1p(-sample), turns)) if sample < 1 else 0
            if gap >= turns:
                return ids
            gaps = (*gaps, gap)

    def _cut_with(self, word: str, gaps: tuple[int, ...]) -> tuple[list[int], int]:
        cut = self._cuts.get((word, gaps))
        if cut is None:
            if len(self._cuts) >= CACHED_CUTS:
                self._cuts.clear()
            cut = self._cuts[word, gaps] = self._bpe(word, gaps)
        return cut

    def _bpe(self, word: str, gaps: tuple[int, ...]) -> tuple[list[int], int]:
        """Merge the best-scoring neighbours, leaving one merge out after each gap.

        A merge left out may come back after the next one is made. Also returns how many merges
        were made since the last one left out: the turns at which a further one could have been.
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
        left_out: list[tuple[float, int, str, str]] = []
        turns = used = 0
        while heap:
            candidate = heapq.heappop(heap)
            _, left, first, second = candidate
            right = after[left]
            if symbols[left] != first or right < 0 or symbols[right] != second:
                continue  # a neighbour has changed since this was proposed
            if used < len(gaps) and turns == gaps[used]:
                left_out.append(candidate)
                turns, used = 0, used + 1
                continue
            turns += 1
            symbols[left], symbols[right] = first + second, ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            propose(before[left], left)
            propose(left, after[left])
            while left_out:
                heapq.heappush(heap, left_out.pop())
        return self._to_ids(symbols), turns

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
