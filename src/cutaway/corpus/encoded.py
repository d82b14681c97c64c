"""Pairs as ids: the one interface the trainer reads, in memory or memory-mapped."""

import hashlib
import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import DataError, InputError
from cutaway.system.processes import processors
from cutaway.text import Tokenizer

Ids = NDArray[np.integer]
Long = Literal["truncate", "skip", "split", "error"]

SAMPLED_IN_MEMORY = 100_000_000  # ids of one sampled epoch that are held in memory
BLOCK = 4096  # pairs encoded at a time


class Pairs(Protocol):
    """What a batch is made from: numbered pairs of ids and their lengths.

    source = `[<2language>] [<#mark>] pieces… <end>`, target = `<start> pieces… <end>`.
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

    max_length: int | None
    long: Long
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        done = {"truncate": "cut", "skip": "left out", "split": "split", "error": "refused"}
        if self.max_length is None:
            return "no limit on length"
        return f"{len(self.numbers)} longer than {self.max_length} ids {done[self.long]}"


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class EncodedPairs:
    """Ids of all pairs in flat arrays: side s of pair i is `tokens[offsets[i, s]:offsets[i+1, s]]`.

    The arrays may be memory-mapped: nothing here copies them.
    """

    source_tokens: Ids  # (all source ids,)
    target_tokens: Ids  # (all target ids,)
    offsets: NDArray[np.int64]  # (N + 1, 2)
    numbers: NDArray[np.int64]  # (N,) place of each pair in the input, from 0
    max_length: int | None = None

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Ids of each source and target, special ones included."""  # (N, 2)
        return np.diff(self.offsets, axis=0).astype(np.int32)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the SHA-256 of each array; equal in memory and in the store."""
        return fingerprint(
            hashlib.sha256(np.ascontiguousarray(part).data).hexdigest()
            for part in (self.source_tokens, self.target_tokens, self.offsets, self.numbers)
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> tuple[Ids, Ids]:
        if not 0 <= index < len(self):
            raise IndexError(f"pair {index} does not exist; there are {len(self)}, counted from 0")
        begin, after = self.offsets[index], self.offsets[index + 1]
        return self.source_tokens[begin[0] : after[0]], self.target_tokens[begin[1] : after[1]]

    def __iter__(self) -> Iterator[tuple[Ids, Ids]]:
        return (self[index] for index in range(len(self)))


def fingerprint(digests: Iterable[str]) -> str:
    """One SHA-256 of the four arrays' SHA-256s."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()


class SampledPairs:
    """BPE-dropout: pairs segmented again in each epoch, a function of (seed, epoch, index).

    Asking for `lengths` draws the whole epoch at once, so that a plan made from them pads as
    little as one without sampling (on Multi30k 4 %, against 30 % by the unsampled lengths). Of a
    corpus of more than `SAMPLED_IN_MEMORY` ids only the lengths are kept, 8 bytes per pair, and a
    pair is drawn once more when its batch is made. A sampled cut that would pass `max_length` is
    not used; the unsampled one is.
    """

    def __init__(
        self,
        encoded: EncodedPairs,
        source: Tokenizer,
        target: Tokenizer | None = None,
        *,
        sample: float,
        seed: int,
        epoch: int,
    ) -> None:
        """`target=None` means a joint vocabulary."""
        if not 0 <= sample <= 1 or seed < 0 or epoch < 0:
            raise InputError(
                f"sample {sample}, seed {seed}, epoch {epoch}: expected a probability and "
                "numbers from 0"
            )
        self._encoded = encoded
        self._tokenizers = (source, target or source)
        self._specials = [
            {tokenizer.start, tokenizer.end, *tokenizer.tags} for tokenizer in self._tokenizers
        ]
        self._sample = sample
        self._stream = (seed << 32) + epoch
        self._drawn: EncodedPairs | None = None

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Ids of each source and target as drawn for this epoch."""  # (N, 2)
        ids = len(self._encoded.source_tokens) + len(self._encoded.target_tokens)
        if ids > SAMPLED_IN_MEMORY:
            sizes = (len(side) for index in range(len(self)) for side in self[index])
            return np.fromiter(sizes, np.int32, 2 * len(self)).reshape(-1, 2)
        rows = (
            (int(number), *(side.tolist() for side in self[index]))
            for index, number in enumerate(self._encoded.numbers)
        )
        vocabulary = max(tokenizer.vocabulary for tokenizer in self._tokenizers)
        self._drawn = gather(rows, vocabulary, self._encoded.max_length)
        return self._drawn.lengths

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the pairs underneath."""
        return self._encoded.fingerprint

    def __len__(self) -> int:
        return len(self._encoded)

    def __getitem__(self, index: int) -> tuple[Ids, Ids]:
        if self._drawn is not None:
            return self._drawn[index]
        source, target = self._encoded[index]
        return self._cut(source, index, 0), self._cut(target, index, 1)

    def _cut(self, ids: Ids, index: int, side: int) -> Ids:
        """Decode what lies between the special ids, and encode it again with dropped merges."""
        tokenizer, special = self._tokenizers[side], self._specials[side]
        numbers: list[int] = ids.tolist()
        first = 0
        while first < len(numbers) and numbers[first] in special:
            first += 1
        last = len(numbers)
        while last > first and numbers[last - 1] in special:
            last -= 1
        text = tokenizer.decode(numbers[first:last])
        if not self._sample or not text or "\N{REPLACEMENT CHARACTER}" in text:
            return ids  # a character cut in two by truncation cannot be decoded
        seed = ((self._stream << 40) + index) * 2 + side
        body = tokenizer.encode(text, sample=self._sample, seed=seed)
        cut = numbers[:first] + body + numbers[last:]
        longest = self._encoded.max_length
        return ids if longest is not None and len(cut) > longest else np.asarray(cut, ids.dtype)


Row = tuple[int, list[int], list[int]]  # place in the input, source ids, target ids


def encode_rows(
    pairs: Iterable[tuple[str, str]],
    source: Tokenizer,
    target: Tokenizer,
    *,
    language: str | None,
    max_length: int | None,
    long: Long,
    too_long: Callable[[int], None],
    mark: str | None = None,
    numbers: Iterator[int] | None = None,
    threads: int | None = None,
) -> Iterator[Row]:
    """Each pair as ids, `too_long` is called with the number of every pair over the limit.

    `numbers` goes on from one part of a corpus to the next; by default from 0. `threads`: by
    default as many as there are cores.
    """
    _check_long(max_length, long, ("truncate", "skip", "error"))
    places = itertools.count() if numbers is None else numbers
    for source_ids, target_ids in _encoded(
        pairs, source, target, language, mark, threads or processors()
    ):
        number = next(places)
        longest = max(len(source_ids), len(target_ids))
        if max_length is not None and longest > max_length:
            too_long(number)
            if long == "error":
                raise DataError(
                    f"pair {number + 1} has {longest} ids; expected at most {max_length}: "
                    "raise max_length, or set long to truncate or skip"
                )
            if long == "skip":
                continue
            if len(source_ids) > max_length:
                source_ids[max_length - 1 :] = [source.end]
            if len(target_ids) > max_length:
                target_ids[max_length - 1 :] = [target.end]
        yield number, source_ids, target_ids


def _encoded(
    pairs: Iterable[tuple[str, str]],
    source: Tokenizer,
    target: Tokenizer,
    language: str | None,
    mark: str | None,
    threads: int,
) -> Iterator[tuple[list[int], list[int]]]:
    """Each pair as ids, whole blocks of them at a time: a block is cut on all cores."""
    rest = iter(pairs)
    while block := list(itertools.islice(rest, BLOCK)):
        sources = source.encode_many(
            [text for text, _ in block], language=language, mark=mark, end=True, threads=threads
        )
        targets = target.encode_many(
            [text for _, text in block], start=True, end=True, threads=threads
        )
        yield from zip(sources, targets, strict=True)


def encode_pairs(
    pairs: Iterable[tuple[str, str]],
    source: Tokenizer,
    target: Tokenizer | None = None,
    *,
    language: str | None = None,
    mark: str | None = None,
    max_length: int | None = None,
    long: Long = "truncate",
) -> tuple[EncodedPairs, LongReport]:
    """Translation pairs as ids; `target=None` means a joint vocabulary.

    A side longer than `max_length` ids (special ones included) is cut, its pair left out, or a
    DataError raised, as `long` says; the report names each such pair.
    """
    target = target or source
    numbers: list[int] = []
    rows = encode_rows(
        pairs,
        source,
        target,
        language=language,
        mark=mark,
        max_length=max_length,
        long=long,
        too_long=numbers.append,
    )
    encoded = gather(rows, max(source.vocabulary, target.vocabulary), max_length)
    return encoded, LongReport(max_length, long, tuple(numbers))


def encode_texts(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    *,
    max_length: int | None = None,
    long: Long = "split",
) -> tuple[EncodedPairs, LongReport]:
    """Plain texts as ids, for language models: empty source, target `<start> pieces… <end>`.

    `split` cuts a long text into windows that overlap by one id, so that every id but the first
    is predicted exactly once.
    """
    _check_long(max_length, long, ("truncate", "skip", "split", "error"))
    numbers: list[int] = []

    def rows() -> Iterator[Row]:
        for number, text in enumerate(texts):
            ids = tokenizer.encode(text, start=True, end=True)
            if max_length is None or len(ids) <= max_length:
                yield number, [], ids
                continue
            numbers.append(number)
            if long == "error":
                raise DataError(f"text {number + 1} has {len(ids)} ids, more than {max_length}")
            if long == "truncate":
                yield number, [], [*ids[: max_length - 1], tokenizer.end]
            elif long == "split":
                for at in range(0, len(ids) - 1, max_length - 1):
                    yield number, [], ids[at : at + max_length]

    encoded = gather(rows(), tokenizer.vocabulary, max_length)
    return encoded, LongReport(max_length, long, tuple(numbers))


def encode_labelled(
    rows: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    labels: Sequence[str],
    *,
    max_length: int | None = None,
    long: Long = "truncate",
) -> tuple[EncodedPairs, LongReport]:
    """(label, text) rows as ids: source `<start> pieces… <end>`, target the label's place."""
    _check_long(max_length, long, ("truncate", "skip", "error"))
    place = {label: number for number, label in enumerate(labels)}
    numbers: list[int] = []

    def encoded_rows() -> Iterator[Row]:
        for number, (label, text) in enumerate(rows):
            if label not in place:
                raise DataError(
                    f"text {number + 1} has the label {label!r}; known: {', '.join(labels)}"
                )
            ids = tokenizer.encode(text, start=True, end=True)
            if max_length is not None and len(ids) > max_length:
                numbers.append(number)
                if long == "error":
                    raise DataError(f"text {number + 1} has {len(ids)} ids, more than {max_length}")
                if long == "skip":
                    continue
                ids[max_length - 1 :] = [tokenizer.end]
            yield number, ids, [place[label]]

    encoded = gather(encoded_rows(), max(tokenizer.vocabulary, len(labels)), max_length)
    return encoded, LongReport(max_length, long, tuple(numbers))


def gather(rows: Iterable[Row], vocabulary: int, max_length: int | None) -> EncodedPairs:
    """Rows in memory; two bytes per id where the vocabulary allows."""
    pairs = gather_any(rows, vocabulary, max_length)
    if not len(pairs):
        raise DataError("no pair is left to encode; give a corpus, or a larger limit on length")
    return pairs


def gather_any(rows: Iterable[Row], vocabulary: int, max_length: int | None) -> EncodedPairs:
    """`gather`, of perhaps no row at all."""
    code = token_code(vocabulary)
    sides = (array(code), array(code))
    offsets = array("q", (0, 0))
    numbers = array("q")
    for number, *row in rows:
        for tokens, ids in zip(sides, row, strict=True):
            tokens.extend(ids)
            offsets.append(len(tokens))
        numbers.append(number)
    return EncodedPairs(
        np.frombuffer(sides[0], code) if sides[0] else np.empty(0, code),
        np.frombuffer(sides[1], code) if sides[1] else np.empty(0, code),
        np.frombuffer(offsets, np.int64).reshape(-1, 2),
        np.frombuffer(numbers, np.int64) if numbers else np.empty(0, np.int64),
        max_length,
    )


def token_code(vocabulary: int) -> Literal["H", "I"]:
    """The array type of ids: 16 bits up to 65,536 of them, else 32."""
    return "H" if vocabulary <= 65_536 else "I"


def _check_long(max_length: int | None, long: Long, choices: tuple[Long, ...]) -> None:
    if long not in choices:
        raise InputError(f"long {long!r}: expected one of {', '.join(choices)}")
    if max_length is not None and max_length < 3:
        raise InputError(f"max_length {max_length}: at least 3 ids are needed for one piece")
