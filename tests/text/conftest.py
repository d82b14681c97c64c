"""Small tokenizers, trained once."""

import pytest

from cutaway.text import Kind, Tokenizer

SENTENCES = [
    "The cat is on the mat.",
    "A fluffy blue creature roamed the verdant forest.",
    "Le chat est sur le tapis, n'est-ce pas ?",
    "Grüße aus Köln: 3 Äpfel und 17 Birnen!",
    "我喜欢学习编程。",
    "猫在垫子上。",
    "you win or you die",
    "when you play the game of thrones",
] * 5

KINDS: tuple[Kind, ...] = ("bpe", "unigram", "word", "char")


@pytest.fixture(scope="session")
def tokenizers() -> dict[tuple[Kind, bool], Tokenizer]:
    """One tokenizer for each kind, with and without lowercasing."""
    return {
        (kind, lowercase): Tokenizer.train(
            SENTENCES, kind=kind, vocabulary=389, languages=["fr", "zh-Hans"], lowercase=lowercase
        )
        for kind in KINDS
        for lowercase in (False, True)
    }


@pytest.fixture(scope="session")
def bpe(tokenizers: dict[tuple[Kind, bool], Tokenizer]) -> Tokenizer:
    return tokenizers["bpe", False]
