"""The grammar makes the corpus that the package carries; its splits hold what they promise."""

import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.grammar import chinese, english, french
from tools.grammar.contexts import sources, unseen
from tools.grammar.corpus import trees
from tools.grammar.split import combinations
from tools.grammar.tree import Command, Sentence

from cutaway.corpus.embedded import chosen_sentences
from cutaway.data import CORPUS

ROOT = Path(__file__).parents[2]
SAY = {"en-fr": french.say, "en-zh": chinese.say}


def test_the_grammar_gives_the_corpus_of_the_package_byte_for_byte() -> None:
    """Under a hash seed of its own, for nothing may follow the order of a set."""
    run = subprocess.run(
        [sys.executable, "-c", "from tools.grammar.corpus import text; print(text(), end='')"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
    )
    assert run.stdout == lzma.decompress(CORPUS.read_bytes())


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


def test_every_construction_is_tested() -> None:
    kinds = {type(tree) for _, tree in trees()["train"]}
    tested = {type(tree) for _, tree in trees()["test"]}
    assert kinds - tested <= {Command}  # its few combinations may all fall to training


@pytest.mark.parametrize("pair", ["en-fr", "en-zh"])
def test_the_sentences_that_are_listed_are_those_of_the_grammar(pair: str) -> None:
    def said(found: list[Sentence]) -> list[tuple[str, str]]:
        return [(english.say(tree), SAY[pair](tree)) for tree in found]

    assert tuple(said(sources())) == chosen_sentences(pair, "known")
    assert tuple(said([tree for tree, _ in unseen()])) == chosen_sentences(pair, "unseen")


def test_the_combination_of_an_unseen_sentence_is_in_no_split() -> None:
    seen = {key for split in trees() for _, tree in trees()[split] for key in combinations(tree)}
    for tree, keys in unseen():
        assert keys[0] in combinations(tree)
        assert not seen & set(keys)
