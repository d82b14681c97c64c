"""Cleaning removes what it says and counts all it removes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.corpus import Cleaner, Filters, clean
from cutaway.corpus.cleaning import CHECKS, WHY, Seen, words
from cutaway.errors import DataError


def test_each_filter_removes_and_counts_its_own() -> None:
    long = "word " * 251
    pairs = [
        ("The cat.", "Le chat."),
        ("", "Rien."),
        ("A space.", " \u200b\u00a0"),
        ("A\x07bell.", "Une cloche."),
        ("Broken \N{REPLACEMENT CHARACTER}.", "Cassé."),
        ("OK", "OK"),
        (long, long + "mot"),
        ("one two three four five six seven eight nine ten", "dix"),
        ("The cat.", "Le chat."),
        ("  The cat.\t", "Le chat."),
        ("The cat.", "Le matou."),
        ("e\u0301te\u0301", "summer"),
    ]
    kept, report = clean(pairs)
    assert kept == [("The cat.", "Le chat."), ("The cat.", "Le matou."), ("été", "summer")]
    assert report.removed == {
        "empty": 2,
        "control": 2,
        "copied": 1,
        "longest": 1,
        "ratio": 1,
        "duplicate": 2,
    }
    assert list(report.numbers) == [0, 10, 11]
    assert report.examples["empty"] == (1, 2)
    assert report.examples["duplicate"] == (8, 9)
    assert report.normalised == 4  # stripped or recomposed
    assert (report.given, report.kept) == (12, 3)


def test_filters_can_be_switched_off_and_set() -> None:
    off = Filters(
        normalise=None, strip=False, empty=False, control=False, copied=False, longest=None,
        ratio=None, duplicate=False,
    )  # fmt: skip
    pairs = [("", ""), ("\0", "a " * 999), ("x", "x"), ("x", "x"), (" e\u0301", "y")]
    assert clean(pairs, off)[0] == pairs
    assert clean(pairs, off)[1].removed == {}
    kept, report = clean([("one", "un"), ("one two", "un deux")], Filters(shortest=2))
    assert kept == [("one two", "un deux")]
    assert report.removed["shortest"] == 1
    assert clean([("ﬁ", "a")], Filters(normalise="NFKC"))[0] == [("fi", "a")]


def test_words_are_counted_in_scripts_without_spaces() -> None:
    assert words("The cat is here") == 4
    assert words("我喜欢 AI") == 4
    assert words("我喜欢AI") == 4
    assert words("") == 0


@given(st.lists(st.tuples(st.text(max_size=11), st.text(max_size=11)), max_size=23))
def test_nothing_is_lost_uncounted(pairs: list[tuple[str, str]]) -> None:
    kept, report = clean(pairs)
    assert report.given == len(pairs)
    assert report.kept == len(kept) == len(report.numbers)
    assert report.given == report.kept + sum(report.removed.values())
    assert len(set(kept)) == len(kept)
    again, second = clean(kept)
    assert again == kept  # cleaning the clean changes nothing
    assert sum(second.removed.values()) == 0


@given(
    st.lists(st.tuples(st.text("ab", max_size=3), st.text("ab", max_size=3)), max_size=60),
    st.integers(0, 3000),
)
def test_duplicates_are_those_of_a_set(pairs: list[tuple[str, str]], others: int) -> None:
    """Also after the table has grown."""
    seen = Seen()
    known: set[tuple[str, str]] = set()
    for number in range(others):
        assert not seen(f"{number}", "other")
    for pair in pairs:
        assert seen(*pair) is (pair in known)
        known.add(pair)


def test_what_is_kept_of_a_pair_is_bounded_whatever_its_text() -> None:
    seen, count = Seen(), 20_011
    for number in range(count):
        assert not seen(f"{number} " * 50, "x")
    assert 12 * count <= seen.bytes <= 24 * count


def test_a_corpus_that_streams_keeps_no_numbers_of_its_pairs() -> None:
    cleaner = Cleaner()
    assert sum(1 for _ in cleaner.passing((f"a{n}", f"b{n}") for n in range(101))) == 101
    assert (cleaner.report().kept, list(cleaner.report().numbers)) == (101, [])


def test_every_filter_says_what_is_wrong_with_a_pair_it_removes() -> None:
    assert set(WHY) == set(CHECKS)


def test_a_corpus_that_cleaning_empties_is_refused_with_the_reasons() -> None:
    pairs = [("1 2", "1 2"), ("", "x"), ("3", "3")]
    expected = r"removed all 3 pairs: 1 by 'empty' \(.*\), 2 by 'copied' \(the target is the source"
    with pytest.raises(DataError, match=expected):
        list(Cleaner().some(pairs))
    assert list(Cleaner().some([*pairs, ("a", "b")])) == [("a", "b")]
    assert list(Cleaner().some([])) == []  # an empty file is another complaint
