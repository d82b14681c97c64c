"""The embedded corpus: size, sameness everywhere, splits unseen by construction, the sources."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from cutaway.corpus.embedded import PAIRS, SOURCES_SENTENCES, SPLITS, embedded, thrones, trees
from cutaway.corpus.grammar.split import combinations
from cutaway.corpus.grammar.tree import Command
from cutaway.errors import DataError

# Everything the corpus holds, in order: a change of one letter anywhere changes these.
PINNED = {
    "en-fr": "088a199c329fbb57cf479458671b39736c512e49811fc8fc6fbf1c310b2cc07e",
    "en-zh": "804b82221bf9ea28c90c8b2ef6dcc9cc64c6f4c3cb8e34311a142000527c23c4",
}
HASHING = """
import hashlib, sys
from cutaway.corpus.embedded import PAIRS, SPLITS, embedded
for pair in PAIRS:
    text = "".join(f"{split}\\t{s}\\t{t}\\n" for split in SPLITS for s, t in embedded(pair, split))
    print(pair, hashlib.sha256(text.encode()).hexdigest())
"""


def words(sentence: str) -> list[str]:
    return sentence.rstrip(" .?").replace("'", "' ").split()


@pytest.mark.parametrize("pair", PAIRS)
def test_sizes(pair: str) -> None:
    train, validation, test = (embedded(pair, split) for split in SPLITS)
    assert len(train) >= 55_000
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


def test_the_corpus_is_the_same_under_another_hash_seed() -> None:
    run = subprocess.run(
        [sys.executable, "-c", HASHING],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert dict(line.split() for line in run.stdout.splitlines()) == PINNED


def test_asking_twice_gives_equal_lists_that_do_not_share_state() -> None:
    first = embedded("en-fr", "test")
    first.clear()
    assert len(embedded("en-fr", "test")) == 2_000


def test_held_out_sentences_have_a_combination_training_never_sees() -> None:
    seen = {key for _, tree in trees()["train"] for key in combinations(tree)}
    for split in ("validation", "test"):
        for source, tree in trees()[split]:
            assert set(combinations(tree)) - seen, source


def test_what_is_tested_is_new_after_validation_too() -> None:
    known = {
        key
        for split in ("train", "validation")
        for _, tree in trees()[split]
        for key in combinations(tree)
    }
    for source, tree in trees()["test"]:
        assert set(combinations(tree)) - known, source


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


def test_every_construction_is_tested() -> None:
    kinds = {type(tree) for _, tree in trees()["train"]}
    tested = {type(tree) for _, tree in trees()["test"]}
    assert kinds - tested <= {Command}  # its few combinations all fell to training


def test_lengths() -> None:
    for split in SPLITS:
        for source, _ in embedded("en-fr", split):
            assert 3 <= len(source.split()) <= 14, source


@pytest.mark.parametrize("pair", PAIRS)
def test_the_sources_sentences_are_in_training(pair: str) -> None:
    train = dict(embedded(pair, "train"))
    for source, target in SOURCES_SENTENCES[pair]:
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


def test_singular_and_plural_meet_every_number_in_the_same_constructions() -> None:
    """What the lesson on directions needs: cats and cat, one to four, side by side."""
    text = " ".join(source.lower() for source, _ in embedded("en-fr", "train"))
    for singular, plural in (("cat", "cats"), ("dog", "dogs"), ("book", "books"), ("boy", "boys")):
        assert text.count(f"there is one {singular} ") >= 3
        for number in ("two", "three", "four"):
            assert text.count(f"there are {number} {plural} ") >= 3


def test_no_number_is_rare() -> None:
    count = Counter(word.lower() for s, _ in embedded("en-fr", "train") for word in words(s))
    numbers = [count[number] for number in ("one", "two", "three", "four")]
    assert min(numbers) > 0.5 * max(numbers)


def test_unknown_pair_and_split_are_told_in_one_line() -> None:
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
