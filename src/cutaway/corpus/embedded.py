"""The corpus the package carries in itself: sentences of a synchronous grammar, and A1's three.

A tree is drawn by our own arithmetic and read aloud in English, French and Chinese, so both pairs
have the same English sentences, each with one translation. The test split is unseen by
construction: every test sentence has a combination, (subject, verb), (verb, object),
(adjective, noun), (number, noun, place), (number, number, noun) or (unit, substance), that is in
no training sentence, while each of its words is in others. `grammar/split.py` says which
combinations these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cutaway.corpus.grammar import chinese, english, french
from cutaway.corpus.grammar.contexts import sources
from cutaway.corpus.grammar.dice import Dice
from cutaway.corpus.grammar.split import combinations, split_of
from cutaway.corpus.grammar.templates import TEMPLATES
from cutaway.corpus.grammar.tree import Sentence
from cutaway.errors import DataError

__all__ = ["PAIRS", "SOURCES_SENTENCES", "SPLITS", "Thrones", "embedded", "thrones"]

PAIRS = ("en-fr", "en-zh")
SPLITS = ("train", "validation", "test")
HELD_OUT = {"validation": 1_000, "test": 2_000}
SEED = 2017
SHORTEST, LONGEST = 3, 14  # words of an English sentence

# The sentences that lessons and demo speak of, as they must come out; all are in training.
SOURCES_SENTENCES: dict[str, tuple[tuple[str, str], ...]] = {
    "en-fr": (
        ("The cat is on the mat.", "Le chat est sur le tapis."),
        ("The cat walks on the street.", "Le chat marche dans la rue."),
        (
            "A fluffy blue creature roamed the verdant forest.",
            "Une créature duveteuse et bleue parcourait la forêt verdoyante.",
        ),
        ("American shrew mole.", "Taupe musaraigne américaine."),
        ("One mole of carbon dioxide.", "Une mole de dioxyde de carbone."),
        ("Take a biopsy of the mole.", "Faites une biopsie du grain de beauté."),
        ("The mole is digging a hole.", "La taupe creuse un trou."),
        ("The chemist needs one mole of oxygen.", "Le chimiste a besoin d'une mole d'oxygène."),
        ("She has a mole on her arm.", "Elle a un grain de beauté sur le bras."),
        ("There is a tower on the hill.", "Il y a une tour sur la colline."),
        ("The Eiffel tower is in Paris.", "La tour Eiffel est à Paris."),
        (
            "There is a miniature Eiffel tower on the table.",
            "Il y a une tour Eiffel miniature sur la table.",
        ),
        ("I love AI.", "J'aime l'IA."),
        ("I like learning to program.", "J'aime apprendre à programmer."),
    ),
    "en-zh": (
        ("The cat is on the mat.", "猫在垫子上。"),
        ("The cat walks on the street.", "猫在街上走。"),
        (
            "A fluffy blue creature roamed the verdant forest.",
            "一只毛茸茸的蓝色生物在翠绿的森林里游荡。",
        ),
        ("American shrew mole.", "美洲鼩鼹鼠。"),
        ("One mole of carbon dioxide.", "一摩尔二氧化碳。"),
        ("Take a biopsy of the mole.", "给那颗痣做活检。"),
        ("The mole is digging a hole.", "鼹鼠正在挖洞。"),
        ("The chemist needs one mole of oxygen.", "化学家需要一摩尔氧气。"),
        ("She has a mole on her arm.", "她的胳膊上有一颗痣。"),
        ("There is a tower on the hill.", "山丘上有一座塔。"),
        ("The Eiffel tower is in Paris.", "埃菲尔铁塔在巴黎。"),
        ("There is a miniature Eiffel tower on the table.", "桌子上有一座微型埃菲尔铁塔。"),
        ("I love AI.", "我爱AI。"),
        ("I like learning to program.", "我喜欢学习编程。"),
    ),
}


def embedded(pair: str, split: str) -> list[tuple[str, str]]:
    """The (source, target) sentences of a pair ("en-fr", "en-zh") and a split, always the same.

    train has over 55,000, validation 1,000, test 2,000; no source is in two splits.
    """
    if pair not in PAIRS:
        raise DataError(f"embedded corpus {pair!r}: expected one of {', '.join(PAIRS)}")
    if split not in SPLITS:
        raise DataError(f"embedded corpus split {split!r}: expected one of {', '.join(SPLITS)}")
    return list(pairs_of(pair, split))


@dataclass(frozen=True)
class Thrones:
    """The three sentences of A1, and the continuation a model is to learn from them."""

    sentences: tuple[str, str, str]
    prompt: str
    continuation: str


def thrones() -> Thrones:
    """A1's corpus: three sentences, 30 words, and what follows "when you play …"."""
    return Thrones(
        (
            "I drink and I know things.",
            "When you play the game of thrones, you win or you die.",
            "The true enemy won't wait out the storm, He brings the storm.",
        ),
        "when you play the game of thrones",
        "you win or you die",
    )


@cache
def pairs_of(pair: str, split: str) -> tuple[tuple[str, str], ...]:
    say = french.say if pair == "en-fr" else chinese.say
    return tuple((source, say(tree)) for source, tree in trees()[split])


@cache
def trees() -> dict[str, list[tuple[str, Sentence]]]:
    """Every English sentence with its tree, by split, in mixed order."""
    dice = Dice(SEED)
    drawn = {english.say(tree): tree for tree in sources()}
    familiar = frozenset(key for tree in sources() for key in combinations(tree))
    for template, quota in TEMPLATES:
        wanted = len(drawn) + quota
        while len(drawn) < wanted:
            tree = template(dice)
            if tree is None:
                continue
            source = english.say(tree)
            if SHORTEST <= source.count(" ") + 1 <= LONGEST:
                drawn.setdefault(source, tree)
    splits: dict[str, list[tuple[str, Sentence]]] = {split: [] for split in SPLITS}
    for source, tree in drawn.items():
        splits[split_of(tree, familiar)].append((source, tree))
    for split, size in HELD_OUT.items():
        pool = splits[split]  # in the order of the constructions: an even choice has them all
        splits[split] = [pool[index * len(pool) // size] for index in range(size)]
    for members in splits.values():
        dice.shuffle(members)
    return splits
