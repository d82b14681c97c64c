"""`ModelFile`: the content of a tokenizer's sentencepiece file, validated."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

from cutaway.errors import TokenizerError
from cutaway.text.wire import Value, WireError, field, read_message

Kind = Literal["bpe", "unigram", "word", "char"]
KINDS: tuple[Kind, ...] = ("unigram", "bpe", "word", "char")  # sentencepiece numbers them from 1

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
SPECIALS = ("<pad>", "<unk>", "<start>", "<end>", "<mask>")
TAGS = ("<2", "<#")  # how the symbols of languages and of marks begin
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
SPACE = "▁"  # how sentencepiece writes a space inside a piece

LARGEST_FILE = 256 * 2**20
MOST_PIECES = 2_000_000

Scalar = TypeVar("Scalar", int, float, bytes)


@dataclass(frozen=True)
class Piece:
    """One id: its text, its score (bpe: −rank; unigram: log probability) and its type."""

    text: str
    score: float
    type: int


@dataclass(frozen=True)
class ModelFile:
    """The pieces in the order of their ids, and how text is prepared for them."""

    pieces: tuple[Piece, ...]
    kind: Kind
    requested: int
    lowercase: bool
    charsmap: bytes  # the lowercasing rules compiled for other users of the file; never run here

    @cached_property
    def languages(self) -> dict[str, int]:
        """Language → id of its tag `<2language>`."""
        return {
            piece.text[2:-1]: number
            for number, piece in enumerate(self.pieces)
            if piece.type == CONTROL and piece.text.startswith("<2") and piece.text.endswith(">")
        }

    @cached_property
    def marks(self) -> dict[str, int]:
        """Name of a mark → id of its symbol `<#name>`."""
        return {
            piece.text[2:-1]: number
            for number, piece in enumerate(self.pieces)
            if piece.type == CONTROL and piece.text.startswith("<#") and piece.text.endswith(">")
        }

    def extended(self, pieces: Iterable[Piece], requested: int) -> "ModelFile":
        """The same file with pieces appended, so that no old id changes."""
        return replace(self, pieces=(*self.pieces, *pieces), requested=requested)

    def to_bytes(self, *, bare: bool = False) -> bytes:
        """The sentencepiece file; `bare` leaves preparing the text to the caller."""
        trainer = b"".join(
            (
                field(3, KINDS.index(self.kind) + 1),
                field(4, self.requested),
                *(field(30, p.text) for p in self.pieces[4:] if p.type == CONTROL),
                field(35, True),
                *(field(40 + at, number) for at, number in enumerate((1, 2, 3, 0))),
                *(field(45 + at, SPECIALS[number]) for at, number in enumerate((1, 2, 3, 0))),
            )
        )
        normaliser = b"".join(
            (
                field(1, "lowercase" if self.lowercase else "identity"),
                field(2, b"" if bare else self.charsmap),
                field(3, not bare),  # a space before the first word
                field(4, False),  # keep every space
                field(5, True),  # write a space as ▁
            )
        )
        body = b"".join(
            field(1, field(1, p.text) + field(2, p.score) + field(3, p.type)) for p in self.pieces
        )
        return body + field(2, trainer) + field(3, normaliser)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "tokenizer") -> "ModelFile":
        """Read and check a file; any fault in it is one TokenizerError."""
        if len(data) > LARGEST_FILE:
            raise TokenizerError(
                f"{name}: {len(data)} bytes; a tokenizer has at most {LARGEST_FILE}"
            )
        try:
            model = _parse(data)
        except (WireError, ValueError) as error:
            raise TokenizerError(
                f"{name} is no tokenizer of this package, or a damaged one ({error}); "
                "give a tokenizer.model written by Tokenizer.save"
            ) from None
        return model


def parse_trained(data: bytes) -> tuple[tuple[Piece, ...], bytes]:
    """The pieces and compiled rules of a file that sentencepiece itself has just written."""
    fields = read_message(data, MOST_PIECES)
    pieces = tuple(_piece(value) for number, value in fields if number == 1)
    normaliser = dict(read_message(_get(dict(fields), 3, b"")))
    return pieces, _get(normaliser, 2, b"")


def _parse(data: bytes) -> ModelFile:
    fields = read_message(data, MOST_PIECES + 100)
    single = dict(fields)
    pieces = tuple(_piece(value) for number, value in fields if number == 1)
    trainer = dict(read_message(_get(single, 2, b"")))
    normaliser = dict(read_message(_get(single, 3, b"")))
    number = _get(trainer, 3, 1)
    if not 1 <= number <= len(KINDS):
        raise ValueError(f"model type {number}")
    kind = KINDS[number - 1]
    manner = _get(normaliser, 1, b"").decode()
    if manner not in ("identity", "lowercase"):
        raise ValueError(f"text is prepared by {manner!r}, not by identity or lowercase")
    flags = [_get(normaliser, 3, 1), _get(normaliser, 4, 1), _get(normaliser, 5, 1)]
    if flags != [1, 0, 1] or not _get(trainer, 35, 0):
        raise ValueError("spaces or unknown characters would be lost")
    _check(pieces)
    return ModelFile(
        pieces=pieces,
        kind=kind,
        requested=_get(trainer, 4, 0),
        lowercase=manner == "lowercase",
        charsmap=_get(normaliser, 2, b""),
    )


def _check(pieces: tuple[Piece, ...]) -> None:
    if not len(SPECIALS) + 256 <= len(pieces) <= MOST_PIECES:
        raise ValueError(f"{len(pieces)} pieces")
    texts = [piece.text for piece in pieces]
    if tuple(texts[: len(SPECIALS)]) != SPECIALS:
        raise ValueError(f"the first pieces are {texts[: len(SPECIALS)]}, not {list(SPECIALS)}")
    if len(set(texts)) != len(texts):
        raise ValueError("a piece occurs twice")
    if SPACE not in texts or BYTES[0] not in texts:
        raise ValueError(f"the piece {SPACE} or {BYTES[0]} is missing")
    first = texts.index(BYTES[0])
    if tuple(texts[first : first + 256]) != BYTES:
        raise ValueError("the 256 byte pieces are incomplete or out of order")
    as_bytes = set(BYTES)
    for number, piece in enumerate(pieces):
        if not piece.text or "\0" in piece.text or not math.isfinite(piece.score):
            raise ValueError(f"piece {number} is {piece.text!r} with score {piece.score}")
        if number == 1:
            expected = UNKNOWN
        elif piece.text in as_bytes:
            expected = BYTE
        elif number < len(SPECIALS) or (piece.type == CONTROL and piece.text.startswith(TAGS)):
            expected = CONTROL
        else:
            expected = NORMAL
        if piece.type != expected:
            raise ValueError(f"piece {number}, {piece.text!r}, has type {piece.type}")


def _piece(message: Value) -> Piece:
    if not isinstance(message, bytes):
        raise ValueError("a piece is no message")
    fields = dict(read_message(message))
    return Piece(_get(fields, 1, b"").decode(), _get(fields, 2, 0.0), _get(fields, 3, NORMAL))


def _get(fields: dict[int, Value], number: int, default: Scalar) -> Scalar:
    """A field's value, which must have the type of its default."""
    value = fields.get(number, default)
    if not isinstance(value, type(default)):
        raise ValueError(f"field {number} is {type(value).__name__}")
    return value
