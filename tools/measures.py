"""What is said of a demo model, measured: exact sentences, known and unseen ones, number words."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cutaway.corpus.embedded import chosen_sentences, embedded
from cutaway.decode import Translator
from tools.grammar.lexicon import nouns

EVERYDAY = Path(__file__).parent.parent / "tests" / "everyday"
ALIKE = str.maketrans({"\u00a0": " ", "\u202f": " ", "’": "'", "？": "?", "！": "!", "，": ","})
NUMBERS = ("one", "two", "three", "four")


def measures(translator: Translator, pair: str) -> dict[str, Any]:
    """Exact test sentences, sentences right of those in training and of the unseen, numbers."""
    return {
        "exact_test": right(translator, tuple(embedded(pair, "test")), beam=1),
        "sentences_test": len(embedded(pair, "test")),
        "right_in_training": right(translator, chosen_sentences(pair, "known")),
        "sentences_in_training": len(chosen_sentences(pair, "known")),
        "right_unseen": right(translator, chosen_sentences(pair, "unseen")),
        "sentences_unseen": len(chosen_sentences(pair, "unseen")),
        "number_words": number_words(translator),
    }


def right(translator: Translator, pairs: tuple[tuple[str, str], ...], **options: Any) -> int:
    """How many sources are translated exactly as their targets."""
    outputs = translator.translate([source for source, _ in pairs], **options)
    return sum(o.text == target for o, (_, target) in zip(outputs, pairs, strict=True))


def everyday(pair: str) -> list[tuple[str, set[str]]]:
    """Sentences a person types first, each with the translations that are right."""
    lines = (EVERYDAY / f"{pair}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [(source, {comparable(text) for text in accepted}) for source, *accepted in rows]


def everyday_right(translator: Translator, pair: str) -> tuple[int, int]:
    """How many of these sentences come out right, and how many there are."""
    rows = everyday(pair)
    outputs = translator.translate([source for source, _ in rows])
    right = sum(
        comparable(o.text) in accepted for o, (_, accepted) in zip(outputs, rows, strict=True)
    )
    return right, len(rows)


def comparable(text: str) -> str:
    """A text with one kind of space, apostrophe and full-width mark, as a reader takes them."""
    return " ".join(text.translate(ALIKE).split())


def number_words(translator: Translator) -> dict[str, Any]:
    """one, two, three and four along plural − singular: of cat, of the mean, of single nouns."""
    table = translator.model.embedding.weight.detach()  # (V, D)

    def ids(word: str) -> list[int]:
        return translator.tokenizer.encode(word)

    def row(word: str) -> Tensor:
        return table[ids(word)].mean(0)

    pairs = [
        (noun.english, noun.english_plural)
        for noun in nouns().values()
        if noun.kinds & {"animal", "person", "thing", "building", "mole"}
        and noun.english != noun.english_plural
        and len(ids(noun.english)) == len(ids(noun.english_plural)) == 1
    ]
    differences = torch.stack([row(many) - row(one) for one, many in pairs])  # (nouns, D)
    vectors = torch.stack([row(word) for word in NUMBERS])  # (4, D)
    along = differences @ vectors.T  # (nouns, 4)
    cat = (row("cats") - row("cat")) @ vectors.T
    mean = differences.mean(0) @ vectors.T
    return {
        "along_cats_minus_cat": [round(float(x), 4) for x in cat],
        "along_mean_plural": [round(float(x), 4) for x in mean],
        "order_along_cats_minus_cat": in_order(cat),
        "order_along_mean_plural": in_order(mean),
        "nouns": len(pairs),
        "nouns_in_order": sum(in_order(one) for one in along),
    }


def in_order(values: Tensor) -> bool:
    """Whether each number is above the one before."""
    return bool((values.diff() > 0).all())
