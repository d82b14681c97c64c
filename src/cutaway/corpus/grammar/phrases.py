"""Noun phrases and places, drawn so that what is said makes sense."""

from __future__ import annotations

from functools import cache

from cutaway.corpus.grammar.dice import Dice
from cutaway.corpus.grammar.lexicon import (
    GROUNDS,
    PREPOSITIONS,
    PRONOUNS,
    adjectives_of,
    nouns,
    nouns_of,
)
from cutaway.corpus.grammar.tree import (
    Adjective,
    Noun,
    NounPhrase,
    Place,
    Preposition,
    Subject,
    Tense,
    Verb,
)

NUMBERS = ("one", "two", "three", "four")
# How often each number counts alone ("four cats") and behind "the" ("the four cats"). There it is
# what tells French to begin with les: the larger, the oftener, and so the further a model learns to
# place it along the plural.
ALONE = ("one",) * 3 + ("two",) * 4 + ("three",) * 3 + ("four",) * 2
TOGETHER = ("the two",) + ("the three",) * 2 + ("the four",) * 4
PLURALS = {"two", "three", "four", "these", "some", *TOGETHER}
KNOWN = ("the", "the", "the+", "this", "these")  # + is the plural
DEFINITE = (*KNOWN, "the", "the+", *("the number",) * 3)
SUBJECT = (*DEFINITE, "a", "a", "some", *NUMBERS, *NUMBERS)
OBJECT = ("the", "the", "the", "the+", "a", "a", "a", "some", "this", "these", *NUMBERS)
OWNED = ("a", "a", "some", *NUMBERS)  # what one has or wants
DENIED = ("the", "the", "the+", "a", "a", "this", "these")
COUNTED = ("a", *NUMBERS)
OWNERS = ("my", "his", "her", "our")
# From small to big, so that what is compared is true.
SIZES = ("mouse", "bird", "mole", "rabbit", "cat", "fox", "goat", "deer", "cow")
NEVER_PLURAL = {"eiffel": "the", "paris": "bare"}

# Where things may be: the kind of what is there, and the kinds of ground.
WHEREABOUTS = {
    "pet": ("surface", "furniture", "outdoors", "street", "building", "plant", "indoors", "home"),
    "animal": ("outdoors", "building", "plant", "shore", "deck"),
    "burrower": ("outdoors", "plant", "hill"),
    "person": ("room", "outdoors", "street", "building", "landmark", "plant", "shore", "deck"),
    "small": ("surface", "furniture", "container", "indoors"),
    "model": ("furniture", "container", "indoors"),
    "furniture": ("room",),
    "vehicle": ("street", "building", "plant"),
    "building": ("shore", "outdoors", "hill"),
    "plant": ("outdoors", "building", "shore"),
    "amount": ("container",),
    "weight": ("container",),
}


@cache
def grounds_for(noun: Noun) -> tuple[tuple[Noun, Preposition], ...]:
    """Every ground where a thing may be, with its preposition."""
    kinds = next((kinds for kind, kinds in WHEREABOUTS.items() if kind in noun.kinds), ())
    found = []
    for ground in nouns_of(*kinds):
        if ground == noun or (ground.key == "bottle" and not noun.kinds & {"amount", "weight"}):
            continue
        for kind in kinds:
            asked = {"home": ("in",), "hill": ("on",)}.get(kind) or GROUNDS[kind]
            if ground.key == "bridge" and kind == "building":
                asked = ("near",)  # a bridge has two fronts
            if kind in ground.kinds:
                found += [(ground, PREPOSITIONS[preposition]) for preposition in asked]
    return tuple(dict.fromkeys(found))


def place_for(dice: Dice, noun: Noun) -> Place | None:
    """Somewhere this may be, most often with "the" and no adjective."""
    grounds = grounds_for(noun)
    if not grounds:
        return None
    ground, preposition = dice.choose(grounds)
    return Place(preposition, ground_phrase(dice, ground))


def ground_phrase(dice: Dice, ground: Noun) -> NounPhrase:
    described = adjectives_of(ground)
    chosen: tuple[Adjective, ...] = ()
    if described and ground.key != "street" and dice.percent(25):
        chosen = (dice.choose(described),)
    determiner = "the"
    if ground.kinds & {"furniture", "home", "garden", "container"} and dice.percent(20):
        determiner = dice.choose((*OWNERS, "this"))
    return NounPhrase(ground, determiner, False, chosen)


def some_adjectives(dice: Dice, noun: Noun, chance: int) -> tuple[Adjective, ...]:
    """None, one, or one and a colour: "black", "small black", "fluffy blue"."""
    suited = adjectives_of(noun)
    if not suited or not dice.percent(chance):
        return ()
    first = dice.choose(suited)
    if not first.colour and noun.key not in ("shrew", "miniature") and dice.percent(30):
        colours = [adjective for adjective in suited if adjective.colour]
        if colours and first.key != "verdant":
            return first, dice.choose(colours)
    return (first,)


def phrase(
    dice: Dice, noun: Noun, determiners: tuple[str, ...], adjectives: int = 30
) -> NounPhrase:
    """A noun with a determiner that leaves no doubt about its number."""
    if noun.key in NEVER_PLURAL:
        return NounPhrase(noun, NEVER_PLURAL[noun.key])
    if "subject" in noun.kinds:
        return NounPhrase(noun, "mass")
    if "drink" in noun.kinds:
        return NounPhrase(noun, "partitive")
    drawn = dice.choose(determiners)
    if drawn in NUMBERS:
        drawn = dice.choose(ALONE)
    elif drawn == "the number":
        drawn = dice.choose(TOGETHER)
    if noun.kinds & {"pet", "thing", "horse"} and drawn == "the" and dice.percent(25):
        drawn = dice.choose(OWNERS)
    if "unchanging" in noun.kinds:  # "the sheep slept": one or many?
        drawn = {"the": "this", "the+": "these"}.get(drawn, drawn)
    determiner, plural = drawn.rstrip("+"), drawn in PLURALS or drawn.endswith("+")
    chosen = some_adjectives(dice, noun, adjectives)
    # 老师们, but nobody says 疲惫的老师们 of a few: keep the plain plural plain.
    if "person" in noun.kinds and drawn == "the+":
        chosen = ()
    return NounPhrase(noun, determiner, plural, chosen)


def subject_for(
    dice: Dice, verb: Verb, definite: bool, tense: Tense = Tense.PRESENT, asked: bool = False
) -> Subject:
    """Someone who can do this.

    Of oneself nobody asks; nor do "I" and "we" take the future or the imparfait, whose French
    forms would each be met too rarely to be learned.
    """
    others = asked or tense is Tense.FUTURE or (tense is Tense.PAST and verb.state)
    if verb.subjects & {"person", "he", "scientist"} and dice.percent(30):
        return dice.choose(PRONOUNS[1:3] if others else PRONOUNS)
    noun = dice.choose(nouns_of(*sorted(verb.subjects)))
    return phrase(dice, noun, DEFINITE if definite else SUBJECT, 20)


def thing(key: str, determiner: str = "the", *adjectives: Adjective) -> NounPhrase:
    """A phrase spelt out: for the sentences that must be there."""
    return NounPhrase(nouns()[key], determiner, determiner in PLURALS, adjectives)
