"""The corpus: which trees are drawn, into which split each falls, and how it is written down."""

from __future__ import annotations

from functools import cache
from operator import itemgetter

from tools.grammar import chinese, english, french
from tools.grammar.contexts import sources, unseen
from tools.grammar.dice import Dice
from tools.grammar.split import combinations, split_of
from tools.grammar.templates import TEMPLATES
from tools.grammar.tree import Sentence

SPLITS = ("train", "validation", "test")
HELD_OUT = {"validation": 1_000, "test": 2_000}
SEED = 2017
SHORTEST, LONGEST = 3, 14  # words of an English sentence


@cache
def trees() -> dict[str, list[tuple[str, Sentence]]]:
    """Every English sentence with its tree, by split, in the order of the alphabet."""
    dice = Dice(SEED)
    drawn = {english.say(tree): tree for tree in sources()}
    familiar = frozenset(key for tree in sources() for key in combinations(tree))
    withheld = frozenset(key for _, keys in unseen() for key in keys)
    for template, quota in TEMPLATES:
        wanted = len(drawn) + quota
        while len(drawn) < wanted:
            tree = template(dice)
            if tree is None:
                continue
            source = english.say(tree)
            if SHORTEST <= source.count(" ") + 1 <= LONGEST:
                drawn.setdefault(source, tree)
    splits: dict[str, list[tuple[str, Sentence]]] = {split: [] for split in (*SPLITS, "none")}
    for source, tree in drawn.items():
        splits[split_of(tree, familiar, withheld)].append((source, tree))
    del splits["none"]
    for split, size in HELD_OUT.items():
        pool = splits[split]  # in the order of the constructions: an even choice has them all
        splits[split] = [pool[index * len(pool) // size] for index in range(size)]
    for members in splits.values():
        members.sort(key=itemgetter(0))
    return splits


def text() -> str:
    """The whole corpus as lines of split, English, French and Chinese, parted by tabs."""
    return "".join(
        f"{split}\t{source}\t{french.say(tree)}\t{chinese.say(tree)}\n"
        for split in SPLITS
        for source, tree in trees()[split]
    )
