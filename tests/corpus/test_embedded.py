"""The embedded corpus: size, sameness everywhere, splits unseen by construction, the sources."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from cutaway.corpus.embedded import (
    PAIRS,
    SPLITS,
    chosen_sentences,
    embedded,
    thrones,
)
from cutaway.errors import DataError


def words(sentence: str) -> list[str]:
    return sentence.rstrip(" .?").replace("'", "' ").split()


@pytest.mark.parametrize("pair", PAIRS)
def test_sizes(pair: str) -> None:
    train, validation, test = (embedded(pair, split) for split in SPLITS)
    assert len(train) >= 60_000
    assert (len(validation), len(test)) == (1_000, 2_000)
    assert len(train) + len(validation) + len(test) >= 60_000


@pytest.mark.parametrize("pair", PAIRS)
def test_every_source_is_said_once_so_it_has_one_translation(pair: str) -> None:
    sources = [source for split in SPLITS for source, _ in embedded(pair, split)]
    assert [source for source, count in Counter(sources).items() if count > 1] == []


def test_both_pairs_have_the_same_english() -> None:
    for split in SPLITS:
        french, chinese = embedded("en-fr", split), embedded("en-zh", split)
        assert [source for source, _ in french] == [source for source, _ in chinese]


def test_asking_twice_gives_equal_lists_that_do_not_share_state() -> None:
    first = embedded("en-fr", "test")
    first.clear()
    assert len(embedded("en-fr", "test")) == 2_000


@pytest.mark.parametrize("pair", PAIRS)
def test_every_held_out_word_is_in_training_in_other_company(pair: str) -> None:
    train = embedded(pair, "train")
    source_words = Counter(word for source, _ in train for word in words(source))
    if pair == "en-fr":
        target_words = Counter(word for _, target in train for word in words(target))
    else:
        target_words = Counter(character for _, target in train for character in target)
    for split in ("validation", "test"):
        for source, target in embedded(pair, split):
            rare = [word for word in words(source) if source_words[word] < 5]
            parts = words(target) if pair == "en-fr" else list(target)
            rare += [part for part in parts if target_words[part] < 5]
            assert rare == [], source


def test_lengths() -> None:
    for split in SPLITS:
        for source, _ in embedded("en-fr", split):
            assert 3 <= len(source.split()) <= 14, source


@pytest.mark.parametrize("pair", PAIRS)
def test_the_sources_sentences_are_in_training(pair: str) -> None:
    train = dict(embedded(pair, "train"))
    for source, target in chosen_sentences(pair, "known"):
        assert train[source] == target


def test_mole_and_tower_have_three_renderings_each_in_many_contexts() -> None:
    french = embedded("en-fr", "train")
    moles = [(s, t) for s, t in french if {"mole", "moles"} & set(words(s))]
    senses = Counter(
        "skin" if "beauté" in t else "animal" if "taupe" in t.lower() else "unit" for _, t in moles
    )
    assert min(senses.values()) >= 500, senses
    for source, target in moles:
        if senses and "taupe" not in target.lower() and "beauté" not in target:
            assert " of " in source, source
    towers = [source for source, _ in french if {"tower", "towers"} & set(words(source))]
    kinds = Counter(
        "miniature" if "miniature" in s else "Eiffel" if "Eiffel" in s else "plain" for s in towers
    )
    assert min(kinds.values()) >= 500, kinds


def test_the_unseen_sentences_are_in_no_split() -> None:
    known = {s for split in SPLITS for s, _ in embedded("en-fr", split)}
    sources = {pair: [s for s, _ in chosen_sentences(pair, "unseen")] for pair in PAIRS}
    assert sources["en-fr"] == sources["en-zh"]
    assert not known & set(sources["en-fr"])


def test_what_is_new_in_the_unseen_sentences_is_in_no_training_sentence() -> None:
    """The combinations that the comment in embedded.py names are in no split."""
    train = embedded("en-fr", "train")
    new = {
        "a mole runs or drinks": (r"\bmoles? .*\b(run|ran|runs|running|dr[aiu]nk)", "aupe"),
        "a mole of salt": (r"\bmoles? of salt\b", ""),
        "three moles in a bottle": (r"\bthree moles of .* bottle\b", ""),
        "a mole on a neck or a face": (r"\bmoles? on \w+ (neck|face)\b", ""),
        "someone sees a tower": (r"\b(see|sees|saw|seeing)\b.* towers?\.", "tours?[ .]"),
        "someone draws the Eiffel tower": (r"\b(draw|drew)\w*\b.*\bthe Eiffel tower", ""),
        "someone loses a miniature": (r"\b(lose|loses|lost|losing)\b.* miniature ", ""),
    }
    for what, (english, french) in new.items():
        found = [
            source
            for source, target in train
            if re.search(english, source) and re.search(french, target)
        ]
        if what == "someone sees a tower":  # the Eiffel tower may be seen
            found = [source for source in found if "Eiffel" not in source]
        assert found == [], what


def test_smaller_numbers_are_more_frequent_as_in_everyday_text() -> None:
    count = Counter(word.lower() for s, _ in embedded("en-fr", "train") for word in words(s))
    numbers = [count[number] for number in ("one", "two", "three", "four")]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] >= 500  # often enough to be learned


def test_no_opening_stands_out() -> None:
    """No sentence pattern is there for a purpose of its own."""
    train = embedded("en-fr", "train")
    openings = Counter(" ".join(source.split()[:2]) for source, _ in train)
    opening, most = openings.most_common(1)[0]
    assert opening == "There is", opening
    assert most < 0.06 * len(train)
    assert sum("total" in source for source, _ in train) == 0


def test_an_unknown_pair_or_split_is_an_error_of_one_line() -> None:
    with pytest.raises(DataError, match=r"'en-de'.*en-fr, en-zh"):
        embedded("en-de", "train")
    with pytest.raises(DataError, match=r"'dev'.*train, validation, test"):
        embedded("en-fr", "dev")


def test_thrones_counts_as_the_article_counts() -> None:
    corpus = thrones()
    cleaned = [
        word.strip(".,").lower() for sentence in corpus.sentences for word in sentence.split()
    ]
    assert len(cleaned) == 30
    assert len(set(cleaned)) == 23
    whole = " ".join(word.strip(".,").lower() for word in corpus.sentences[1].split())
    assert whole == f"{corpus.prompt} {corpus.continuation}"
