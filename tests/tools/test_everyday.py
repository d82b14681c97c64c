"""The everyday sentences: forty per pair, and how right ones are counted."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tools.measures import EVERYDAY as SENTENCES
from tools.measures import comparable, everyday, everyday_right

from cutaway.data import PAIRS


class Says:
    """A translator that says what it was told."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers

    def translate(self, texts: list[str]) -> list[Any]:
        return [SimpleNamespace(text=self.answers.get(text, "?")) for text in texts]


@pytest.mark.parametrize("pair", PAIRS)
def test_there_are_forty_sentences_each_with_right_translations(pair: str) -> None:
    rows = everyday(pair)
    assert len(rows) == len({source for source, _ in rows}) == 40
    assert all(accepted and source not in accepted for source, accepted in rows)
    for needed in ("Where is the station?", "I don't understand.", "My name is Anna."):
        assert needed in dict(rows)
    text = (SENTENCES / f"{pair}.tsv").read_text(encoding="utf-8")
    assert text == text.strip() + "\n"
    assert "  " not in text


def test_what_a_reader_takes_for_right_is_counted() -> None:
    answers = {
        "Where is the station?": "Où\u202fest la gare\u00a0?",  # other spaces
        "My name is Anna.": "Je m’appelle Anna.",  # another apostrophe
        "I am tired.": "Je suis fatiguée.",  # another right one
        "I love you.": "Je t'aime beaucoup.",  # not it
    }
    assert everyday_right(Says(answers), "en-fr") == (3, 40)  # type: ignore[arg-type]
    assert comparable("你好吗？") == comparable("你好吗?")


def test_the_sentences_are_data_of_the_tests() -> None:
    assert Path(__file__).parent.parent / "everyday" == SENTENCES
