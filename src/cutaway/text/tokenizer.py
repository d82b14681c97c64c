"""`Tokenizer`: text → ids → the same text, for any Unicode text."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Literal

Kind = Literal["bpe", "unigram", "word", "char"]


class Tokenizer:
    """A sentencepiece model with byte fallback: `decode(encode(text)) == text`.

    Ids 0…4 are `<pad> <unk> <start> <end> <mask>`, then the language tags (`<2fr>`), the 256
    bytes, and the learnt pieces.
    """

    pad = 0
    unk = 1
    start = 2
    end = 3
    mask = 4

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        *,
        kind: Kind = "bpe",
        vocabulary: int = 8000,
        languages: Sequence[str] = (),
        seed: int = 0,
        lowercase: bool = False,
        limit: int = 2_000_000,
    ) -> "Tokenizer":
        """Learn pieces from sentences; a vocabulary the data cannot fill is reduced.

        `requested` keeps the number asked for, `vocabulary` says the number reached. Of more than
        `limit` sentences a sample, fixed by `seed`, is used.
        """
        raise NotImplementedError

    @property
    def vocabulary(self) -> int:
        """The number of ids."""
        raise NotImplementedError

    @property
    def requested(self) -> int:
        """The vocabulary asked for at training; more than `vocabulary` when the data ran out."""
        raise NotImplementedError

    @property
    def kind(self) -> Kind:
        """bpe, unigram, word or char."""
        raise NotImplementedError

    @property
    def lowercase(self) -> bool:
        """Whether text is lowercased before it is cut; part of the file itself."""
        raise NotImplementedError

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have a tag, in the order of their ids."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the file's bytes."""
        raise NotImplementedError

    def tag(self, language: str) -> int:
        """The id of a language's tag: `tag("fr")` is the id of `<2fr>`."""
        raise NotImplementedError

    def encode(
        self,
        text: str,
        *,
        start: bool = False,
        end: bool = False,
        language: str | None = None,
        sample: float = 0.0,
        seed: int | None = None,
    ) -> list[int]:
        """Text to ids: `[<start>] [<2language>] pieces… [<end>]`.

        `sample` is the probability that a merge is left out (BPE-dropout); the cut is then a pure
        function of (text, sample, seed), in any thread or process.
        """
        raise NotImplementedError

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        start: bool = False,
        end: bool = False,
        language: str | None = None,
        sample: float = 0.0,
        seeds: Sequence[int] | None = None,
    ) -> list[list[int]]:
        """`encode` of each text, with its own seed."""
        raise NotImplementedError

    def decode(self, ids: Iterable[int]) -> str:
        """Ids to text; control symbols (`<pad>`, `<start>`, tags…) leave no trace."""
        raise NotImplementedError

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """One label per id for showing; "▁" stands for the space before a word."""
        raise NotImplementedError

    def grow(self, sentences: Iterable[str], vocabulary: int, *, seed: int = 0) -> "Tokenizer":
        """A tokenizer with further pieces learnt from sentences; every old id keeps its meaning."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str]) -> None:
        """Write the sentencepiece file (`tokenizer.model`)."""
        raise NotImplementedError

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Tokenizer":
        """Read a file written by `save`; anything else is a TokenizerError."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """The content of the file."""
        raise NotImplementedError

    @classmethod
    def from_bytes(cls, data: bytes) -> "Tokenizer":
        """The tokenizer of a file's content."""
        raise NotImplementedError
