"""A corpus in parts: several sources, tags and directions in one, and how often each is seen."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from cutaway.corpus.batches import Batch
from cutaway.corpus.encoded import EncodedPairs, Ids, Pairs
from cutaway.errors import ConfigError
from cutaway.text import Tokenizer

Rows = list[tuple[str, str]]  # (source, target)


@dataclass(frozen=True)
class Anew:
    """Pairs read from the beginning each time they are asked for, so that none is kept."""

    begin: Callable[[], Iterator[tuple[str, str]]]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self.begin()


@dataclass(frozen=True)
class Stream:
    """Pairs that are encoded and seen alike, in memory or not."""

    rows: Iterable[tuple[str, str]]
    languages: tuple[str, str] | None = None  # of source and target, where known
    mark: str = ""  # of the source's tag
    weight: float = 1.0  # how often per epoch

    def __str__(self) -> str:
        facts = [" → ".join(self.languages)] if self.languages else []
        facts += [f"weight {self.weight:g}"] if self.weight != 1 else []
        facts += [f"tag <#{self.mark}>"] if self.mark else []
        return ", ".join(facts)

    def read(self) -> "Part":
        """The same in memory."""
        return Part(list(self.rows), self.languages, self.mark, self.weight)

    def reversed(self) -> "Stream":
        """The same pairs in the other direction."""
        other = self.languages[::-1] if self.languages else None
        return Stream(Anew(partial(swapped, self.rows)), other, self.mark, self.weight)

    def target_tag(self, tokenizer: Tokenizer) -> str | None:
        """The target language whose tag the sources get; None: the model knows only one."""
        if not tokenizer.languages:
            return None
        if self.languages is None:
            known = ", ".join(tokenizer.languages)
            raise ConfigError(
                f"the model translates into {known}; say which: give --languages en-de"
            )
        return self.languages[1]


@dataclass(frozen=True)
class Part(Stream):
    """A stream in memory."""

    rows: Rows


def swapped(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Source and target exchanged."""
    return ((target, source) for source, target in pairs)


def both_ways(parts: Sequence[Stream], held: Iterable[tuple[str, str]] = ()) -> list[Stream]:
    """Each part in both directions; a pair that shares its target with a `held` one goes.

    The held-out pairs are asked in the other direction too: what they ask must not be trained on.
    """
    kept_out = {target for _, target in held}
    clean = [
        Stream(Anew(partial(_without, part.rows, kept_out)), part.languages, part.mark, part.weight)
        for part in parts
    ]
    return [*clean, *(part.reversed() for part in clean)]


def _without(pairs: Iterable[tuple[str, str]], targets: set[str]) -> Iterator[tuple[str, str]]:
    return (pair for pair in pairs if pair[1] not in targets)


def targets(parts: Sequence[Stream]) -> tuple[str, ...]:
    """The target languages that need tags: several, or none."""
    found = tuple(dict.fromkeys(part.languages[1] for part in parts if part.languages))
    return found if len(found) > 1 else ()


def require_tags(parts: Sequence[Stream], tokenizer: Tokenizer) -> None:
    """Refuse several target languages of which a tokenizer that was given does not know one."""
    if not set(targets(parts)) <= set(tokenizer.languages):
        raise ConfigError(
            f"target languages {', '.join(targets(parts))} need tags; the tokenizer given has "
            f"{', '.join(tokenizer.languages) or 'none'}: let a new one be learnt, or add --grow "
            f"to --from"
        )


def joined(encoded: Sequence[EncodedPairs], sizes: Sequence[int]) -> EncodedPairs:
    """Several encoded parts as one; `sizes` are their numbers of rows before encoding."""
    if len(encoded) == 1:
        return encoded[0]
    before = np.cumsum([0, *sizes[:-1]])
    ends = np.cumsum([[0, 0], *(part.offsets[-1] for part in encoded)], axis=0)
    offsets = [part.offsets[:-1] + start for part, start in zip(encoded, ends, strict=False)]
    return EncodedPairs(
        np.concatenate([part.source_tokens for part in encoded]),
        np.concatenate([part.target_tokens for part in encoded]),
        np.concatenate([*offsets, ends[-1:]]),
        np.concatenate([part.numbers + first for part, first in zip(encoded, before, strict=True)]),
        encoded[0].max_length,
    )


class WeightedPairs:
    """The pairs of one epoch when parts have weights: a function of weights, seed and epoch.

    Of a weight's fraction f a share f of the part is taken, each epoch the next in a fixed random
    order, so that no pair comes a second time before all have come once.
    """

    def __init__(
        self, pairs: Pairs, weights: Sequence[tuple[int, float]], *, seed: int, epoch: int
    ) -> None:
        """`weights`: of each part, in order, its number of pairs and how often they are seen."""
        self._pairs = pairs
        chosen: list[NDArray[np.int64]] = []
        first = 0
        for number, (count, weight) in enumerate(weights):
            whole = int(weight)
            rest = round((weight - whole) * count)
            everything = np.arange(first, first + count)
            chosen += [everything] * whole
            if rest:
                order = np.random.Generator(np.random.PCG64([seed, number])).permutation(count)
                places = np.arange(epoch * rest, (epoch + 1) * rest) % count
                chosen.append(first + np.sort(order[places]))
            first += count
        self.indices = np.concatenate(chosen).astype(np.int64)

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Ids of each source and target."""  # (N, 2)
        return self._pairs.lengths[self.indices]

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the pairs underneath."""
        return self._pairs.fingerprint

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> tuple[Ids, Ids]:
        return self._pairs[int(self.indices[index])]

    def by_pair(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Batches that name the pairs underneath, as batches without weights do."""
        for batch in batches:
            yield replace(batch, indices=self.indices[batch.indices])
