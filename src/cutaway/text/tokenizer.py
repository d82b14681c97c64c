"""`Tokenizer`: text → ids → the same text in NFC, for any Unicode text."""

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any

from cutaway.errors import InputError, TokenizerError
from cutaway.system.files import replace
from cutaway.text.model_file import BYTE, CONTROL, LARGEST_FILE, NORMAL, SPACE, Kind, ModelFile
from cutaway.text.sampling import Sampler
from cutaway.text.training import grow_model, lower, train_model

_SPACE_BYTES = tuple(SPACE.encode())


class Tokenizer:
    """A sentencepiece model with byte fallback: `decode(encode(text)) == NFC(text)`.

    Ids 0…4 are `<pad> <unk> <start> <end> <mask>`, then the language tags (`<2fr>`), the 256
    bytes, and the learnt pieces. Text is brought to NFC, so that é has the same ids composed and
    decomposed, and when asked to lower case: `decode(encode(text)) == lower(NFC(text))`. No text
    can spell a special symbol.
    """

    pad = 0
    unk = 1
    start = 2
    end = 3
    mask = 4

    def __init__(self, data: bytes, name: str = "tokenizer") -> None:
        """The tokenizer of a file's content; `name` is for messages."""
        import sentencepiece

        self._data = data
        self._model = ModelFile.from_bytes(data, name)
        # The processor gets what was checked, never the file itself.
        self._processor: Any = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(self._model.to_bytes(bare=True))
        except (RuntimeError, ValueError, OSError) as error:
            reason = " ".join(str(error).split())
            raise TokenizerError(f"{name}: sentencepiece refuses it: {reason}") from None
        pieces = self._model.pieces
        self._first_byte = next(i for i, piece in enumerate(pieces) if piece.type == BYTE)
        self._words = {p.text: i for i, p in enumerate(pieces) if p.type == NORMAL}
        self._space = next(i for i, piece in enumerate(pieces) if piece.text == SPACE)
        self._surfaces: list[str | None] = [
            None if p.type == BYTE else "" if p.type == CONTROL else p.text.replace(SPACE, " ")
            for p in pieces
        ]
        self._surfaces[self.unk] = "\N{REPLACEMENT CHARACTER}"
        self._sampler = Sampler(self._model, self._cut) if self.kind in ("bpe", "unigram") else None

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        *,
        kind: Kind = "bpe",
        vocabulary: int = 8000,
        languages: Sequence[str] = (),
        marks: Sequence[str] = (),
        seed: int = 0,
        lowercase: bool = False,
        limit: int = 2_000_000,
    ) -> "Tokenizer":
        """Learn pieces from sentences; a vocabulary the data cannot fill is reduced.

        `requested` keeps the number asked for, `vocabulary` says the number reached. Of more than
        `limit` sentences a sample, fixed by `seed`, is used.
        """
        model = train_model(
            sentences,
            kind=kind,
            vocabulary=vocabulary,
            languages=languages,
            marks=marks,
            seed=seed,
            lowercase=lowercase,
            limit=limit,
        )
        return cls(model.to_bytes())

    @property
    def vocabulary(self) -> int:
        """The number of ids."""
        return len(self._model.pieces)

    @property
    def requested(self) -> int:
        """The vocabulary asked for at training; more than `vocabulary` when the data ran out."""
        return self._model.requested

    @property
    def kind(self) -> Kind:
        """bpe, unigram, word or char."""
        return self._model.kind

    @property
    def lowercase(self) -> bool:
        """Whether text is lowercased before it is cut; part of the file itself."""
        return self._model.lowercase

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have a tag, in the order of their ids."""
        return tuple(self._model.languages)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the file's bytes."""
        return hashlib.sha256(self._data).hexdigest()

    def tag(self, language: str) -> int:
        """The id of a language's tag: `tag("fr")` is the id of `<2fr>`."""
        number = self._model.languages.get(language)
        if number is None:
            if not self.languages:
                raise InputError(
                    f"{language!r} is asked for, and this model translates into one language only: "
                    "leave the language out"
                )
            known = ", ".join(self.languages)
            raise InputError(f"language {language!r} has no tag; this tokenizer knows: {known}")
        return number

    @property
    def marks(self) -> tuple[str, ...]:
        """The names of the marks, such as bt of `<#bt>`, in the order of their ids."""
        return tuple(self._model.marks)

    @property
    def tags(self) -> tuple[int, ...]:
        """The ids of all language tags and marks."""
        return (*self._model.languages.values(), *self._model.marks.values())

    def mark(self, name: str) -> int:
        """The id of a mark: `mark("bt")` is the id of `<#bt>`."""
        number = self._model.marks.get(name)
        if number is None:
            known = ", ".join(self.marks) or "none"
            raise InputError(f"tag {name!r} is not in this tokenizer; it knows: {known}")
        return number

    def encode(
        self,
        text: str,
        *,
        start: bool = False,
        end: bool = False,
        language: str | None = None,
        mark: str | None = None,
        inside: bool = False,
        sample: float = 0.0,
        seed: int | None = None,
    ) -> list[int]:
        """Text to ids: `[<start>] [<2language>] [<#mark>] pieces… [<end>]`.

        `inside`: as within a word or a text without spaces, with no space before it.
        `sample` is the probability that a merge is left out (BPE-dropout; for unigram, that a
        word's cut is drawn instead of the best); the cut is then a pure function of
        (text, sample, seed), in any thread or process.
        """
        ids = [self.start] if start else []
        if language is not None:
            ids.append(self.tag(language))
        if mark is not None:
            ids.append(self.mark(mark))
        if sample:
            ids.extend(self._sampled(self._prepare(text), sample, seed))
        else:
            prepared = self._prepare(text)
            ids.extend(self._encode(prepared.removeprefix(" ") if inside else prepared))
        if end:
            ids.append(self.end)
        return ids

    def encode_many(
        self,
        texts: Sequence[str],
        *,
        start: bool = False,
        end: bool = False,
        language: str | None = None,
        mark: str | None = None,
        threads: int = 1,
    ) -> list[list[int]]:
        """`encode` of each text, on so many cores."""
        before = [self.start] * start + ([] if language is None else [self.tag(language)])
        before += [] if mark is None else [self.mark(mark)]
        after = [self.end] * end
        prepared = [self._prepare(text) for text in texts]
        if self.kind == "word" or any(SPACE in text for text in prepared):
            cuts = [self._encode(text) for text in prepared]
        else:
            cuts = self._processor.Encode(prepared, out_type=int, num_threads=threads)
        return [[*before, *cut, *after] for cut in cuts]

    def decode(self, ids: Iterable[int]) -> str:
        """Ids to text; control symbols (`<pad>`, `<start>`, tags…) leave no trace.

        Bytes that form no character, which only a model can write, show as U+FFFD.
        """
        parts: list[str] = []
        pending = bytearray()
        for number in self._checked(ids):
            surface = self._surfaces[number]
            if surface is None:
                pending.append(number - self._first_byte)
                continue
            if pending:
                parts.append(pending.decode(errors="replace"))
                pending.clear()
            parts.append(surface)
        parts.append(pending.decode(errors="replace"))
        return "".join(parts).removeprefix(" ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """One label per id for showing; "▁" stands for the space before a word."""
        return [self._model.pieces[number].text for number in self._checked(ids)]

    def spelled(self, ids: Iterable[int]) -> int:
        """How many of these ids are single bytes: parts of characters no piece was learnt for."""
        return sum(self._first_byte <= number < self._first_byte + 256 for number in ids)

    def grow(
        self,
        sentences: Iterable[str],
        vocabulary: int,
        *,
        languages: Sequence[str] = (),
        seed: int = 0,
        limit: int = 2_000_000,
    ) -> "Tokenizer":
        """A tokenizer with further pieces learnt from sentences; every old id keeps its meaning."""
        model = grow_model(
            self._model,
            sentences,
            vocabulary=vocabulary,
            languages=languages,
            seed=seed,
            limit=limit,
        )
        return Tokenizer(model.to_bytes())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the sentencepiece file (`tokenizer.model`): whole, or not at all."""
        place = Path(path)
        fresh = place.with_name(place.name + ".new")
        try:
            with fresh.open("wb") as file:
                file.write(self._data)
                file.flush()
                os.fsync(file.fileno())
            replace(fresh, place)
        except OSError as error:
            raise TokenizerError(f"cannot write {place}: {error.strerror}") from None
        finally:
            with suppress(OSError):
                fresh.unlink()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Tokenizer":
        """Read a file written by `save`; anything else is a TokenizerError."""
        place = Path(path)
        try:
            with place.open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
        except OSError as error:
            raise TokenizerError(f"cannot read {place}: {error.strerror}") from None
        return cls(data, str(place))

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return self._data

    @classmethod
    def from_bytes(cls, data: bytes) -> "Tokenizer":
        """The tokenizer of a file's content."""
        return cls(data)

    def _prepare(self, text: str) -> str:
        """NFC, lower case if asked, and the space before the first word that each word has."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"text has a lone surrogate at character {error.start}; give valid Unicode"
            ) from None
        if not text:
            return text
        text = unicodedata.normalize("NFC", text)
        return " " + (lower(text) if self.lowercase else text)

    def _encode(self, prepared: str) -> list[int]:
        """The best cut. A literal ▁, which sentencepiece would take for a space, goes as bytes."""
        segments = prepared.split(SPACE)
        ids = self._cut(segments[0])
        for segment in segments[1:]:
            ids.extend(self._first_byte + byte for byte in _SPACE_BYTES)
            ids.extend(self._cut(segment))
        return ids

    def _cut(self, segment: str) -> list[int]:
        if self.kind != "word":
            ids: list[int] = self._processor.EncodeAsIds(segment)
            return ids
        ids = []
        for word in _words(segment.replace(" ", SPACE)):
            number = self._words.get(word)
            if number is not None:
                ids.append(number)
                continue
            if word.startswith(SPACE):  # else sentencepiece would spell the space mark in bytes
                ids.append(self._space)
                word = word[1:]
            ids.extend(self._first_byte + byte for byte in word.encode())
        return ids

    def _sampled(self, prepared: str, sample: float, seed: int | None) -> list[int]:
        if self._sampler is None:
            raise InputError(f"a {self.kind} tokenizer has one cut only; sample must be 0")
        if not 0 < sample <= 1 or seed is None:
            raise InputError(f"sample {sample}, seed {seed}: expected 0 < sample ≤ 1 and a seed")
        random = Random(seed)
        ids: list[int] = []
        for number, segment in enumerate(prepared.split(SPACE)):
            if number:
                ids.extend(self._first_byte + byte for byte in _SPACE_BYTES)
            for word in _words(segment.replace(" ", SPACE)):
                ids.extend(self._sampler.cut(word, sample, random))
        return ids

    def _checked(self, ids: Iterable[int]) -> list[int]:
        numbers = [int(number) for number in ids]
        for number in numbers:
            if not 0 <= number < len(self._surfaces):
                raise InputError(f"id {number} is outside the vocabulary of {self.vocabulary}")
        return numbers


def _words(escaped: str) -> list[str]:
    """Cut before every ▁, which stays with the word it begins."""
    first, *rest = escaped.split(SPACE)
    return [first] * bool(first) + [SPACE + word for word in rest]
