"""Which sentences are drawn: one function per construction, each with the number it gives."""

from __future__ import annotations

from collections.abc import Callable

from tools.grammar.actions import (
    errand,
    giving,
    intransitive,
    moment,
    roaming,
    transitive,
    wishing,
)
from tools.grammar.contexts import burrowing, chemistry, skin, towers
from tools.grammar.dice import Dice
from tools.grammar.lexicon import PRONOUNS, adjectives_of, nouns, nouns_of
from tools.grammar.phrases import (
    COUNTED,
    DEFINITE,
    phrase,
    thing,
)
from tools.grammar.places import city, place_for
from tools.grammar.tree import (
    Adjective,
    Comparison,
    Existence,
    HowMany,
    Location,
    Name,
    NounPhrase,
    Sentence,
    State,
    Subject,
    Tense,
    Where,
)

CAPTIONED = ("big", "small", "old")
TEMPORARY = ("happy", "sad", "tired", "clean", "dirty")
# From small to big, so that what is compared is true.
SIZES = (
    ("mouse", "bird", "mole", "rabbit", "cat", "fox", "goat", "deer", "cow"),
    ("chair", "table", "bed"),
    ("bicycle", "car"),
    ("house", "castle"),
    ("house", "museum"),
    ("house", "hospital"),
)
COMPARED = (
    "person",
    "person",
    "animal",
    "animal",
    "furniture",
    "vehicle",
    "cloth",
    "sight",
    "building",
)


def location(dice: Dice) -> Sentence | None:
    """ "The two small keys are under the table." """
    kinds = ("animal", "burrower", "person", "small", "vehicle", "model", "building", "plant")
    noun = dice.choose(nouns_of(*kinds, "furniture", "boat", "mat", "landmark"))
    if noun.key == "eiffel":
        return Location(
            thing("eiffel"), city(), negated=dice.percent(30), question=dice.percent(20)
        )
    place = place_for(dice, noun)
    if noun.kinds & {"person", "sight"} and dice.percent(15):
        place = city()
    if place is None:
        return None
    negated = dice.percent(20)
    question = not negated and dice.percent(20)
    tenses = [Tense.PRESENT, Tense.PRESENT, Tense.PRESENT]
    if not noun.kinds & {"building", "plant", "furniture"} and not question:
        tenses += [Tense.PAST, Tense.PAST] + [Tense.FUTURE] * ("person" in noun.kinds)
    tense = dice.choose(tenses)
    who: Subject = phrase(dice, noun, DEFINITE)
    if "person" in noun.kinds and dice.percent(30):
        who = dice.choose(PRONOUNS[1:3] if question else PRONOUNS)
    time = None if tense is Tense.PRESENT else moment(dice, tense, negated, 100)
    return Location(who, place, time, tense, negated, question)


def existence(dice: Dice) -> Sentence | None:
    """ "There are four rabbits in the garden." """
    kinds = (
        "animal",
        "burrower",
        "citizen",
        "small",
        "vehicle",
        "model",
        "plant",
        "tower",
        "house",
    )
    noun = dice.choose(nouns_of(*kinds, "boat", "castle", "church", "furniture"))
    place = place_for(dice, noun)
    if place is None:
        return None
    negated = dice.percent(15)
    question = not negated and dice.percent(14)
    what = phrase(dice, noun, ("a",) if negated or question else (*COUNTED, "some"))
    if dice.percent(8) and not negated:
        return HowMany(noun, place)
    return Existence(what, place, negated, question)


def whereabouts(dice: Dice) -> Sentence | None:
    noun = dice.choose(nouns_of("animal", "person", "small", "vehicle", "landmark", "sight"))
    return Where(phrase(dice, noun, ("the", "the", "the+")))


def quality(dice: Dice) -> Sentence | None:
    """ "These horses are not black." """
    noun = dice.choose(nouns_of("animal", "person", "thing", "building", "green", "burrower"))
    suited = adjectives_of(noun)
    if not suited:
        return None
    adjective = dice.choose(suited)
    if noun.key == "mole" and adjective.key not in ("tired", "wild"):
        return None
    if adjective.key == "new" or (adjective.key == "verdant" and dice.percent(50)):
        return None
    singular = ("the", "the", "this")
    who: Subject = phrase(dice, noun, singular if "green" in noun.kinds else DEFINITE, 0)
    if "person" in noun.kinds and dice.percent(35) and "adult" not in adjective.kinds:
        who = dice.choose(PRONOUNS)
        if "person" not in adjective.kinds:
            return None
    negated = dice.percent(25)
    question = isinstance(who, NounPhrase) and not negated and dice.percent(15)
    tense = Tense.PRESENT
    if adjective.key in TEMPORARY and dice.percent(60) and not question:
        tense = dice.choose((Tense.PAST, Tense.FUTURE) if "person" in noun.kinds else (Tense.PAST,))
    time = None if tense is Tense.PRESENT else moment(dice, tense, negated, 100)
    return State(who, adjective, time, tense, negated, question)


def comparison(dice: Dice) -> Sentence | None:
    """ "The horse is bigger than the mole." """
    kind = dice.choose(COMPARED)
    kinds = (kind, "burrower") if kind == "animal" else (kind,)
    noun = dice.choose(nouns_of(*kinds))
    other = dice.choose(nouns_of(*kinds))
    graded = [
        adjective
        for adjective in adjectives_of(noun)
        if adjective.comparative and adjective.kinds & other.kinds
    ]
    if kind == "animal":  # "a bigger cat": grand of a cow, gros of a cat, of either than the other
        graded = [adjective for adjective in adjectives_of(noun) if adjective.comparative]
    if noun == other or not graded or {noun.key, other.key} == {"mole", "shrew"}:
        return None
    adjective = dice.choose(graded)
    determiners = dice.choose((("the", "the", "this"), ("the+", "these")))
    if "royal" in noun.kinds | other.kinds or {"eiffel"} & (noun.kinds | other.kinds):
        determiners = ("the",)
    who: Subject = phrase(dice, noun, determiners, 0)
    than = phrase(dice, other, determiners, 0)
    if who.plural != than.plural:
        return None
    if kind == "person" and dice.percent(35) and "adult" not in adjective.kinds:
        who = dice.choose(PRONOUNS)
    if adjective.key == "old" and kind in ("building", "sight"):
        return None
    negated = dice.percent(20)
    if adjective.english in ("big", "small"):
        chain = next((c for c in SIZES if noun.key in c and other.key in c), None)
        if chain is None:
            return None
        bigger = chain.index(noun.key) > chain.index(other.key)
        negated = bigger != (adjective.english == "big")
    return Comparison(who, adjective, than, negated)


def names(dice: Dice) -> Sentence | None:
    """ "A fluffy blue creature." """
    noun = dice.choose(nouns_of("animal", "thing", "building", "person", "shrew"))
    drawn = phrase(dice, noun, ("a", "a", "a", "the", "number", "this", "these"), 85)
    return Name(drawn) if drawn.adjectives or noun.key == "shrew" else None


def captions(dice: Dice) -> Sentence | None:
    """As under a picture: "Small black cats.", "American shrew mole under the tree." """
    noun = dice.choose(nouns_of("animal", "wares"))
    if dice.percent(25):
        noun = nouns()["shrew"]
    suited = [adjective for adjective in adjectives_of(noun) if adjective.key in CAPTIONED]
    colours = [adjective for adjective in adjectives_of(noun) if adjective.colour]
    if not suited or not colours or "unchanging" in noun.kinds:  # "big sheep": one or many?
        return None
    chosen: tuple[Adjective, ...] = (dice.choose(suited), dice.choose(colours))
    at = None
    if noun.key == "shrew":
        chosen = chosen[:1] if dice.percent(20) else ()
        at = place_for(dice, noun)
    return Name(NounPhrase(noun, "bare", dice.percent(40), chosen, None, at))


Template = Callable[[Dice], Sentence | None]
TEMPLATES: tuple[tuple[Template, int], ...] = (
    (captions, 500),
    (intransitive, 15_000),
    (transitive, 20_000),
    (location, 6_000),
    (existence, 6_000),
    (quality, 3_000),
    (comparison, 1_200),
    (wishing, 4_000),
    (giving, 2_500),
    (errand, 2_000),
    (roaming, 1_500),
    (burrowing, 1_800),
    (skin, 2_000),
    (chemistry, 2_200),
    (towers, 1_500),
    (names, 1_000),
    (whereabouts, 300),
)
