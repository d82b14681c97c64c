"""A tokenizer and a few pairs to encode."""

import pytest

from cutaway.text import Tokenizer

PAIRS = [
    ("The cat is on the mat.", "Le chat est sur le tapis."),
    ("A mole.", "Une taupe."),
    ("I love AI.", "J'aime l'IA."),
    ("A fluffy blue creature roamed the verdant forest.", "Une créature bleue et duveteuse."),
    ("The tower is tall.", "La tour est haute."),
    ("", ""),
    ("Yes", "Oui, et encore beaucoup d'autres choses dans une longue phrase."),
]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    texts = [text for pair in PAIRS for text in pair] * 3
    return Tokenizer.train(texts, vocabulary=373, languages=["fr"])
