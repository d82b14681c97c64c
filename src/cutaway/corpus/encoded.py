"""Pairs as ids: the one interface the trainer reads, in memory or memory-mapped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cutaway.text import Tokenizer

Ids = NDArray[np.unsignedinteger | np.signedinteger]
Long = Literal["truncate", "skip", "error"]


class Pairs(Protocol):
    """What a batch is made from: numbered pairs of ids and their lengths.

    source = `[<2language>] pieces… <end>`, target = `<start> pieces… <end>`.
    A text for a language model has an empty source; a labelled text has the label as its target.
    """

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Ids of each source and target, special ones included."""  # (N, 2)
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content, so that changed data is noticed."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> tuple[Ids, Ids]: ...


@dataclass(frozen=True)
class LongReport:
    """What was done to pairs longer than `max_length`: their numbers (from 0) in the input."""

    max_length: int
    long: Long
    numbers: tuple[int, ...]


class EncodedPairs:
    """Ids of all pairs in flat arrays: pair i is `tokens[offsets[i]:offsets[i + 1]]` a side."""

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Ids of each source and target, special ones included."""  # (N, 2)
        raise NotImplementedError

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The place of each kept pair in the input, from 0."""  # (N,)
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """SHA-256 of lengths and ids; equal in memory and in the store."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Ids, Ids]:
        raise NotImplementedError


class SampledPairs:
    """The same pairs, cut anew each epoch: BPE-dropout as a function of (seed, epoch, index).

    Lengths stay those of the unsampled cut, so that the plan of an epoch costs nothing.
    """

    def __init__(
        self,
        encoded: EncodedPairs,
        source: Tokenizer,
        target: Tokenizer,
        *,
        sample: float,
        seed: int,
        epoch: int,
    ) -> None:
        raise NotImplementedError

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Lengths of the unsampled cut."""  # (N, 2)
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the pairs underneath."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Ids, Ids]:
        raise NotImplementedError


def encode_pairs(
    pairs: Iterable[tuple[str, str]],
    source: Tokenizer,
    target: Tokenizer | None = None,
    *,
    language: str | None = None,
    max_length: int | None = None,
    long: Long = "truncate",
) -> tuple[EncodedPairs, LongReport]:
    """Translation pairs as ids; `target=None` means a joint vocabulary.

    A side longer than `max_length` ids (special ones included) is cut, its pair left out, or a
    DataError raised, as `long` says; the report names each such pair.
    """
    raise NotImplementedError


def encode_texts(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    *,
    max_length: int | None = None,
    long: Long = "truncate",
) -> tuple[EncodedPairs, LongReport]:
    """Plain texts as ids, for language models: empty source, target `<start> pieces… <end>`."""
    raise NotImplementedError


def encode_labelled(
    rows: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    labels: Sequence[str],
    *,
    max_length: int | None = None,
    long: Long = "truncate",
) -> tuple[EncodedPairs, LongReport]:
    """(label, text) rows as ids: source `<start> pieces… <end>`, target one label's place."""
    raise NotImplementedError
