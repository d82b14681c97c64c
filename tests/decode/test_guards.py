"""Guards: where texts are cut, how they are joined, what is a loop."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.decode.guards import Piece, cut, has_words, join, loop, odd_length, sentences


def words(text: str) -> int:
    return len(text.split())


@settings(deadline=None)
@given(
    st.text(alphabet="ab A.!?,;。！？，、中文 \n\t\r\u2028(\"'»”", max_size=80), st.integers(1, 5)
)
def test_pieces_joined_are_the_text(text: str, limit: int) -> None:
    pieces = cut(text, words, limit)
    assert "".join(piece.text for piece in pieces) == text
    for piece in pieces:
        assert piece.text
        if piece.translate:
            assert has_words(piece.text)
            assert piece.text == piece.text.strip()
            assert words(piece.text) <= limit


@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_short_text_stays_whole(text: str) -> None:
    pieces = cut(text, words, 1000)
    assert "".join(piece.text for piece in pieces) == text
    assert sum(piece.translate for piece in pieces) <= len(text.splitlines())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Go home. Sit down!  Why?", ["Go home. ", "Sit down!  ", "Why?"]),
        ("Dr. Smith met Mr. J. Brown. He left.", ["Dr. Smith met Mr. J. Brown. ", "He left."]),
        ("It costs 3.50 now. Yes.", ["It costs 3.50 now. ", "Yes."]),
        ("We saw cats etc. and dogs.", ["We saw cats etc. and dogs."]),
        ('He said "Stop!" Then he ran.', ['He said "Stop!" ', "Then he ran."]),
        ("你好。你是谁？我不知道！", ["你好。", "你是谁？", "我不知道！"]),
        ("他说：“走吧！”然后离开了。", ["他说：“走吧！”", "然后离开了。"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_join_puts_spaces_where_the_script_wants_them() -> None:
    chinese = [Piece("你好。", True), Piece("再见。", True)]
    assert join(chinese, ["Hello.", "Goodbye."]) == "Hello. Goodbye."
    english = [Piece("Hello.", True), Piece(" ", False), Piece("Goodbye.", True)]
    assert join(english, ["你好。", "再见。"]) == "你好。再见。"
    assert join(english, ["Bonjour.", "Adieu."]) == "Bonjour. Adieu."
    lines = [Piece("A", True), Piece("\n\n", False), Piece("B", True), Piece("\n", False)]
    assert join(lines, ["x", "y"]) == "x\n\ny\n"


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], None),
        ([9, 1, 2, 1, 2, 1, 2, 1, 2], (1, 2)),
        ([7] * 8, (0, 1)),
        ([7] * 7, None),  # "!!!!!!!" is no loop
        ([1, 2, 3, 1, 2, 3, 1, 2, 3], None),  # three times may be meant
        ([5, *[1, 2, 3] * 4, 6], (1, 3)),
    ],
)
def test_loops(ids: list[int], expected: tuple[int, int] | None) -> None:
    assert loop(ids) == expected


def test_odd_lengths_are_told_and_usual_ones_are_not() -> None:
    assert odd_length(20, 22) is None
    assert odd_length(2, 8) is None  # short sentences differ
    assert "shorter" in (odd_length(30, 5) or "")
    assert "longer" in (odd_length(5, 30) or "")


@pytest.mark.parametrize("text", ["", "   ", "...", "123 + 4", "😀", "— §"])
def test_symbols_are_no_words(text: str) -> None:
    assert not has_words(text)
