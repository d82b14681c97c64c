"""The token store: a corpus larger than memory, encoded once and memory-mapped."""

from collections.abc import Iterable
from os import PathLike

from cutaway.corpus.encoded import EncodedPairs, Long, LongReport
from cutaway.text import Tokenizer


def build_store(
    path: str | PathLike[str],
    pairs: Iterable[tuple[str, str]],
    source: Tokenizer,
    target: Tokenizer | None = None,
    *,
    language: str | None = None,
    max_length: int | None = None,
    long: Long = "truncate",
) -> LongReport:
    """Encode pairs one by one into a store folder; memory stays flat whatever their number."""
    raise NotImplementedError


def open_store(path: str | PathLike[str], *, verify: bool = True) -> EncodedPairs:
    """Map a store folder; `verify` compares every file with its SHA-256 first."""
    raise NotImplementedError
