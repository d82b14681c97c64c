"""Where sentences end, how texts are cut and put together again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.text.sentences import Piece, cut, has_words, join, sentences


def words(text: str) -> int:
    return len(text.split())


@settings(deadline=None)
@given(
    st.text(alphabet="ab A.!?,;。！？，、中とJ3 \n\t\r\u2028(\"'»”」", max_size=80),
    st.integers(1, 5),
    st.booleans(),
)
def test_pieces_joined_are_the_text(text: str, limit: int, split: bool) -> None:
    pieces = cut(text, words, limit, split=split)
    assert "".join(piece.text for piece in pieces) == text
    for piece in pieces:
        assert piece.text
        if piece.translate:
            assert has_words(piece.text)
            assert piece.text == piece.text.strip()
            assert words(piece.text) <= limit
    joined = join(pieces, [piece.text for piece in pieces if piece.translate])
    assert "".join(joined.split()) == "".join(text.split())


@settings(deadline=None)
@given(st.text(max_size=60))
def test_without_split_a_short_line_stays_whole(text: str) -> None:
    pieces = cut(text, words, 1000, split=False)
    assert "".join(piece.text for piece in pieces) == text
    assert sum(piece.translate for piece in pieces) <= len(text.splitlines())
    assert not any(piece.broken for piece in pieces)


@pytest.mark.parametrize(
    "expected",
    [
        ["Go home. ", "Sit down!  ", "Why?"],
        ["Dr. Smith met Mr. J. Brown. ", "He left."],
        ["It costs 3.50 now. ", "Yes."],
        ["We saw cats etc. and dogs. ", "And birds etc. ", "We left."],
        ['He said "Stop!" ', "Then he ran."],
        ['"Stop!" he said.'],
        ["No. ", "I will not."],
        ["See no. 5 and fig. 3. ", "Then p. 7."],
        ["This is art. ", "The cat is there."],
        ["The U.S. Army left, e.g. Tom. ", "It ended at 5 p.m. sharp."],
        ["Wait... what? ", "Really?! ", "(Yes.) ", "Good."],
        ["1. ", "Open the file."],
        ["un chat . ", "Le chien ."],
        ["¿Qué? ", "¡Nada! ", "Bien."],
        ["Привет. ", "Как дела?"],
        ["هل أنت هنا؟ ", "نعم."],
        ["तुम कौन हो। ", "मैं।"],
        ["你好。", "你是谁？", "我不知道！"],
        ["他说：“走吧！”", "然后离开了。"],
        ["我……不知道。", "真的？！", "好。"],
        ["你好!", "你是谁?", "我是３．５号。"],
        ["「走れ！」と彼は言った。", "「はい。」", "彼女は笑った。"],
        ["你好。 ", "Hello. ", "再见。"],
        ["no stop at all"],
        ["..."],
        [".NET is here. ", "WWW.a.b is there."],
    ],
)
def test_sentences(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


def test_ordinal_numbers_end_no_sentence_where_they_have_dots() -> None:
    text = "Am 3. Mai kam er. Dann ging er."
    assert sentences(text, "de") == ["Am 3. Mai kam er. ", "Dann ging er."]
    assert sentences("We are 3. They are 5.", "en") == ["We are 3. ", "They are 5."]
    assert sentences("1. Datei öffnen.", "de") == ["1. ", "Datei öffnen."]


def test_a_long_line_is_cut_in_linear_time() -> None:
    text = "The cat sat. " * 30_000  # a quadratic cut would take minutes
    assert len(sentences(text)) == 30_000


def test_what_is_too_long_is_cut_and_marked() -> None:
    pieces = cut("Go. One two, three four five, six! seven", words, 3)
    assert [piece.text for piece in pieces if piece.translate and not piece.broken] == ["Go."]
    assert [piece.text for piece in pieces if piece.broken] == [
        "One two,",
        "three four five,",
        "six!",
        "seven",
    ]


def test_join_puts_spaces_where_the_script_wants_them() -> None:
    chinese = [Piece("你好。", True), Piece("再见。", True)]
    assert join(chinese, ["Hello.", "Goodbye."]) == "Hello. Goodbye."
    english = [Piece("Hello.", True), Piece(" ", False), Piece("Goodbye.", True)]
    assert join(english, ["你好。", "再见。"]) == "你好。再见。"
    assert join(english, ["Bonjour.", "Adieu."]) == "Bonjour. Adieu."
    lines = [Piece("A", True), Piece("\n\n", False), Piece("B", True), Piece("\n", False)]
    assert join(lines, ["x", "y"]) == "x\n\ny\n"


@pytest.mark.parametrize("text", ["", "   ", "...", "123 + 4", "😀", "— §"])
def test_symbols_are_no_words(text: str) -> None:
    assert not has_words(text)
