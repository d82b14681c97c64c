"""Which sentences are drawn: one function a construction, each with the number it gives."""

from __future__ import annotations

from collections.abc import Callable

from cutaway.corpus.grammar.actions import (
    city,
    errand,
    giving,
    intransitive,
    intransitives,
    moment,
    mood,
    roaming,
    transitive,
    wishing,
)
from cutaway.corpus.grammar.contexts import burrowing, chemistry, skin, towers
from cutaway.corpus.grammar.dice import Dice
from cutaway.corpus.grammar.lexicon import PRONOUNS, adjectives_of, nouns, nouns_of
from cutaway.corpus.grammar.phrases import (
    COUNTED,
    DEFINITE,
    KNOWN,
    NUMBERS,
    SIZES,
    phrase,
    place_for,
    thing,
)
from cutaway.corpus.grammar.tree import (
    Action,
    Adjective,
    Change,
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

UNDERSTOOD = ("two", "two", "three", "three", "three", "four", "four", "four", "four")
QUANTITIES = {"one": 1, "two": 2, "three": 3, "four": 4, "the": 1, "the+": 5}  # + is the plural
CAPTIONED = ("big", "small", "old")
TEMPORARY = ("happy", "sad", "tired", "clean", "dirty")


def location(dice: Dice) -> Sentence | None:
    """ "The two small keys are under the table." """
    kinds = ("animal", "burrower", "person", "small", "vehicle", "model", "building", "plant")
    noun = dice.choose(nouns_of(*kinds, "furniture", "landmark"))
    if noun.key == "eiffel":
        return Location(
            thing("eiffel"), city(), negated=dice.percent(30), question=dice.percent(20)
        )
    place = place_for(dice, noun)
    if noun.kinds & {"person", "sight"} and dice.percent(15):
        place = city()
    if place is None:
        return None
    negated = dice.percent(25)
    question = not negated and dice.percent(20)
    tense = dice.choose((Tense.PRESENT, Tense.PRESENT, Tense.PAST, Tense.FUTURE))
    if noun.kinds & {"building", "plant", "furniture"} or question:
        tense = Tense.PRESENT
    who: Subject = phrase(dice, noun, DEFINITE if negated or question else (*DEFINITE, *NUMBERS))
    if "person" in noun.kinds and dice.percent(25):
        who = dice.choose(PRONOUNS[1:3] if question else PRONOUNS)
    time = None
    if tense is not Tense.PRESENT:
        time = moment(dice, tense, negated, 100)
    return Location(who, place, time, tense, negated, question)


def existence(dice: Dice) -> Sentence | None:
    """ "There are four rabbits in the garden." """
    kinds = ("animal", "burrower", "person", "small", "vehicle", "model", "plant", "tower")
    noun = dice.choose(nouns_of(*kinds))
    place = place_for(dice, noun)
    if place is None:
        return None
    negated = dice.percent(15)
    question = not negated and dice.percent(12)
    determiners = ("a",) if negated else COUNTED if question else (*COUNTED, "some")
    what = phrase(dice, noun, determiners, 25)
    if dice.percent(8) and not negated:
        return HowMany(noun, place)
    return Existence(what, place, negated, question)


def whereabouts(dice: Dice) -> Sentence | None:
    noun = dice.choose(nouns_of("animal", "person", "small", "vehicle", "landmark", "sight"))
    who = phrase(dice, noun, ("the", "the", "the+"))
    return Where(who)


def quality(dice: Dice) -> Sentence | None:
    """ "These horses are not black." """
    noun = dice.choose(nouns_of("animal", "person", "thing", "building", "green", "burrower"))
    adjective = dice.choose(adjectives_of(noun))
    if noun.key == "mole" and adjective.key not in ("tired", "wild"):
        return None
    if adjective.key == "new" or (adjective.key == "verdant" and dice.percent(50)):
        return None
    singular = ("the", "this")
    who: Subject = phrase(dice, noun, singular if "green" in noun.kinds else DEFINITE, 0)
    if "person" in noun.kinds and dice.percent(30) and "adult" not in adjective.kinds:
        who = dice.choose(PRONOUNS)
        if "person" not in adjective.kinds:
            return None
    negated = dice.percent(25)
    question = isinstance(who, NounPhrase) and not negated and dice.percent(15)
    tense = Tense.PRESENT
    if adjective.key in TEMPORARY and dice.percent(60) and not question:
        tense = dice.choose((Tense.PAST, Tense.FUTURE))
    time = None if tense is Tense.PRESENT else moment(dice, tense, negated, 100)
    return State(who, adjective, time, tense, negated, question)


def comparison(dice: Dice) -> Sentence | None:
    """ "The horse is bigger than the mole." """
    kind = dice.choose(("animal", "animal", "person", "building", "furniture", "cloth"))
    kinds = (kind, "burrower") if kind == "animal" else (kind,)
    noun = dice.choose(nouns_of(*kinds))
    other = dice.choose(nouns_of(*kinds))
    graded = [
        adjective
        for adjective in adjectives_of(noun)
        if adjective.comparative and adjective.kinds & other.kinds
    ]
    if noun == other or not graded or {noun.key, other.key} == {"mole", "shrew"}:
        return None
    adjective = dice.choose(graded)
    who: Subject = phrase(dice, noun, KNOWN, 0)
    if kind == "person" and dice.percent(30) and "adult" not in adjective.kinds:
        who = dice.choose(PRONOUNS)
    if adjective.key == "old" and kind == "building":
        return None
    than = phrase(dice, other, KNOWN, 0)
    negated = dice.percent(20)
    if kind == "animal" and adjective.key in ("big", "small"):
        if noun.key not in SIZES or other.key not in SIZES:
            return None
        bigger = SIZES.index(noun.key) > SIZES.index(other.key)
        negated = bigger != (adjective.key == "big")
    return Comparison(who, adjective, than, negated)


def change(dice: Dice) -> Sentence | None:
    """ "The total went from three cats to one cat.": the one construction that asks how many."""
    noun = dice.choose(nouns_of("animal", "person", "thing"))
    start, finish = (dice.choose((*QUANTITIES, "the", "the+", "the", "the+")) for _ in range(2))
    if QUANTITIES[start] == QUANTITIES[finish]:
        return None
    if "the+" in (start, finish) and min(QUANTITIES[start], QUANTITIES[finish]) > 1:
        return None  # the cats are more than one; more than two, nobody knows
    if "unchanging" in noun.kinds:
        return None  # "from the sheep to the sheep"
    tense = dice.choose((Tense.PRESENT, Tense.PAST, Tense.FUTURE))
    rises = QUANTITIES[finish] > QUANTITIES[start]
    sides = [NounPhrase(noun, s.rstrip("+"), QUANTITIES[s] > 1) for s in (start, finish)]
    time = None if tense is Tense.PRESENT else moment(dice, tense, False, 40)
    return Change(sides[0], sides[1], rises, time, tense)


def names(dice: Dice) -> Sentence | None:
    """ "A fluffy blue creature." """
    noun = dice.choose(nouns_of("animal", "thing", "building", "person", "shrew"))
    determiners = ("a", "a", "the", *NUMBERS, "this", "these")
    drawn = phrase(dice, noun, determiners, 85)
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


def ellipsis(dice: Dice) -> Sentence | None:
    """A number alone, its noun understood: "Two are under the table.", "Four will sleep." """
    determiner = dice.choose(UNDERSTOOD)
    who = NounPhrase(nouns()["understood"], determiner, True)
    if dice.percent(50):
        place = place_for(dice, dice.choose(nouns_of("pet", "small")))
        tense = dice.choose((Tense.PRESENT, Tense.PAST, Tense.FUTURE))
        time = None if tense is Tense.PRESENT else moment(dice, tense, False, 100)
        return Location(who, place, time, tense) if place else None
    verb = dice.choose([verb for verb in intransitives() if "person" in verb.subjects])
    tense, _, _ = mood(dice, verb)
    if verb.key in ("run", "walk", "wait", "stay", "live"):
        return None
    time = moment(dice, tense, False, 60)
    return Action(who, verb, None, None, None, time, tense)


Template = Callable[[Dice], Sentence | None]
TEMPLATES: tuple[tuple[Template, int], ...] = (
    (captions, 500),
    (intransitive, 15_000),
    (transitive, 18_000),
    (location, 6_000),
    (existence, 8_000),
    (quality, 4_000),
    (comparison, 2_500),
    (wishing, 3_500),
    (giving, 2_000),
    (errand, 2_200),
    (roaming, 1_500),
    (burrowing, 1_800),
    (skin, 2_200),
    (chemistry, 1_800),
    (towers, 1_500),
    (names, 1_500),
    (whereabouts, 300),
    (ellipsis, 900),
    (change, 6_000),
)
