"""A broken or hostile tokenizer file is a TokenizerError: never a crash, never a wrong reading."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.errors import TokenizerError
from cutaway.text import Tokenizer
from cutaway.text.model_file import ModelFile, Piece
from cutaway.text.wire import WireError, field, read_message, read_varint, varint

# Runs apart, because what it guards against would take the test process down.
FUZZ = """
import sys
from random import Random
from pathlib import Path
from cutaway.errors import TokenizerError
from cutaway.text import Tokenizer

good = Path(sys.argv[1]).read_bytes()
random = Random(int(sys.argv[2]))
refused = loaded = 0
for turn in range(int(sys.argv[3])):
    data = bytearray(good)
    manner = turn % 4
    if manner == 0:
        data = data[: random.randrange(len(data))]
    elif manner == 1:
        data = bytearray(random.randbytes(random.randrange(4096)))
    elif manner == 2:
        for _ in range(random.choice([1, 1, 3, 29])):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    else:  # near the end lie the settings, where a change does most
        data[-random.randrange(1, 300)] = random.randrange(256)
    try:
        tokenizer = Tokenizer.from_bytes(bytes(data))
    except TokenizerError as error:
        assert "\\n" not in str(error)
        refused += 1
        continue
    loaded += 1
    for text in ("The cat ▁ is\\ton the mat.", "Grüße 中 \\0", "<pad>"):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) in (text, text.lower()), (turn, text)
        if tokenizer.kind in ("bpe", "unigram"):
            tokenizer.encode(text, sample=0.5, seed=1)
print(refused, loaded)
"""


@pytest.mark.parametrize("lowercase", [False, True])
def test_no_damage_takes_the_process_down(tmp_path: Path, lowercase: bool) -> None:
    tokenizer = Tokenizer.train(["The cat is on the mat."] * 3, vocabulary=293, lowercase=lowercase)
    path = tmp_path / "tokenizer.model"
    tokenizer.save(path)
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(path), "11", "400"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    refused, loaded = map(int, done.stdout.split())
    assert refused > 200
    assert refused + loaded == 400


def test_every_cut_of_the_file_is_refused(bpe: Tokenizer) -> None:
    data = bpe.to_bytes()
    for size in Random(3).sample(range(len(data)), 60):
        with pytest.raises(TokenizerError):
            Tokenizer.from_bytes(data[:size])


def _changed(bpe: Tokenizer, at: int, piece: Piece) -> bytes:
    model = ModelFile.from_bytes(bpe.to_bytes())
    pieces = [*model.pieces[:at], piece, *model.pieces[at + 1 :]]
    return ModelFile(
        tuple(pieces), model.kind, model.requested, model.lowercase, model.charsmap
    ).to_bytes()


@pytest.mark.parametrize(
    ("at", "piece", "message"),
    [
        (0, Piece("<s>", 0.0, 3), "first pieces"),
        (380, Piece("<start>", 0.0, 1), "twice"),
        (380, Piece("", 0.0, 1), "''"),
        (380, Piece("a\0b", 0.0, 1), "x00"),
        (380, Piece("abc", float("nan"), 1), "nan"),
        (380, Piece("abc", 0.0, 4), "type 4"),
        (380, Piece("abc", 0.0, 3), "type 3"),
        (200, Piece("abc", 0.0, 1), "byte pieces"),
        (1, Piece("<unk>", 0.0, 1), "type 1"),
    ],
)
def test_pieces_that_would_mislead_are_refused(
    bpe: Tokenizer, at: int, piece: Piece, message: str
) -> None:
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_bytes(_changed(bpe, at, piece))


@pytest.mark.parametrize(
    "extra",
    [
        field(3, field(1, "nmt_nfkc")),  # another way to prepare text
        field(3, field(1, "identity")),  # flags at their defaults: spaces would be lost
        field(2, field(3, 9)),  # no such kind
        field(2, field(3, 2)),  # bpe, but without byte fallback
        field(2, field(3, 2.0)),  # a number of the wrong type
        field(3, 5),  # a number where a message belongs
        field(1, 5),
        b"\xff",
        b"\x0b",
    ],
)
def test_settings_that_would_lose_text_are_refused(bpe: Tokenizer, extra: bytes) -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer\.model written by"):
        Tokenizer.from_bytes(bpe.to_bytes() + extra)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="No such file"):
        Tokenizer.load(tmp_path / "absent.model")
    with pytest.raises(TokenizerError, match="cannot read"):
        Tokenizer.load(tmp_path)
    empty = tmp_path / "empty.model"
    empty.write_bytes(b"")
    with pytest.raises(TokenizerError, match=r"empty\.model"):
        Tokenizer.load(empty)


@given(number=st.integers(0, 2**64 - 1))
def test_a_varint_comes_back(number: int) -> None:
    assert read_varint(varint(number), 0) == (number, len(varint(number)))


@given(data=st.binary(max_size=67))
@settings(max_examples=300)
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    try:
        fields = read_message(data)
    except WireError:
        return
    assert all(number > 0 for number, _ in fields)
