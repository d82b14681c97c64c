"""Noun phrases, drawn so that what is said makes sense."""

from __future__ import annotations

from dataclasses import replace

from tools.grammar.dice import Dice
from tools.grammar.lexicon import PRONOUNS, adjectives_of, nouns, nouns_of
from tools.grammar.places import OWNERS
from tools.grammar.tree import Adjective, Noun, NounPhrase, Subject, Tense, Verb

NUMBERS = ("one", "two", "three", "four")
# How often each number counts alone ("four cats") and behind "the" ("the four cats"): the smaller
# the oftener, as in everyday English.
ALONE = ("one",) * 14 + ("two",) * 6 + ("three",) * 3 + ("four",) * 2
TOGETHER = ("the two",) * 6 + ("the three",) * 2 + ("the four",)
PLURALS = {"two", "three", "four", "these", "some", "kind", "any", *TOGETHER}
# + is the plural; "number" and "the number" are drawn from the two lists above.
KNOWN = (*("the",) * 8, *("the+",) * 4, "this", "this", "these")
DEFINITE = (*KNOWN, "the number")
SUBJECT = (*KNOWN, *("a",) * 4, "some", "the number", *("number",) * 2)
OBJECT = (*KNOWN, *("a",) * 10, "some", "some", *("number",) * 4)
OWNED = (*("a",) * 5, "some", "number", "number")  # what one has or wants
DENIED = (*KNOWN, *("a",) * 6)
COUNTED = (*("a",) * 4, *("number",) * 4)
ROYAL = (*("the",) * 8, "the+")  # there are not many kings
NEVER_PLURAL = {"eiffel": "the", "paris": "bare"}
# What one is for a while, said of the subject alone: one does not buy a tired horse.
PASSING = {"tired", "happy", "sad", "clean", "dirty"}


def some_adjectives(
    dice: Dice, noun: Noun, chance: int, passing: bool = False
) -> tuple[Adjective, ...]:
    """None, one, or one and a colour: "black", "small black", "fluffy blue"."""
    suited = [one for one in adjectives_of(noun) if passing or one.key not in PASSING]
    if not suited or not dice.percent(chance):
        return ()
    first = dice.choose(suited)
    pairs = first.before or first.key == "fluffy"  # French: un petit chat noir, not rond et noir
    if pairs and noun.key not in ("shrew", "miniature") and dice.percent(30):
        colours = [adjective for adjective in suited if adjective.colour]
        if colours:
            return first, dice.choose(colours)
    return (first,)


def phrase(
    dice: Dice,
    noun: Noun,
    determiners: tuple[str, ...],
    adjectives: int = 20,
    passing: bool = False,
) -> NounPhrase:
    """A noun with a determiner that leaves no doubt about its number."""
    if noun.key in NEVER_PLURAL:
        return NounPhrase(noun, NEVER_PLURAL[noun.key])
    if "subject" in noun.kinds:
        return NounPhrase(noun, "mass")
    if "drink" in noun.kinds:
        return NounPhrase(noun, "partitive")
    drawn = dice.choose(ROYAL if "royal" in noun.kinds else determiners)
    if drawn == "number":
        drawn = dice.choose(ALONE)
    elif drawn == "the number":
        drawn = dice.choose(TOGETHER)
    if noun.kinds & {"pet", "thing", "horse", "home"} and drawn == "the" and dice.percent(25):
        drawn = dice.choose(OWNERS)
    if "unchanging" in noun.kinds:  # "the sheep slept": one or many?
        drawn = {"the": "this", "the+": "these"}.get(drawn, drawn)
    determiner, plural = drawn.rstrip("+"), drawn in PLURALS or drawn.endswith("+")
    chosen = some_adjectives(dice, noun, adjectives, passing)
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
    if verb.subjects & {"person", "citizen", "he", "scholar"} and dice.percent(35):
        return dice.choose(PRONOUNS[1:3] if others else PRONOUNS)
    noun = dice.choose(nouns_of(*sorted(verb.subjects)))
    return phrase(dice, noun, DEFINITE if definite else SUBJECT, 15, passing=True)


def owned_by(who: Subject, what: NounPhrase) -> NounPhrase:
    """The same thing, where it belongs to someone, belonging to who acts: "she lost her key"."""
    if what.determiner not in OWNERS:
        return what
    if not isinstance(who, NounPhrase):
        return replace(what, determiner=who.possessive)
    for kind, owner in (("he", "his"), ("she", "her"), ("nurse", "her")):
        if kind in who.noun.kinds and not who.plural:
            return replace(what, determiner=owner)
    return replace(what, determiner="my" if what.determiner in ("my", "his") else "our")


def thing(key: str, determiner: str = "the", *adjectives: Adjective) -> NounPhrase:
    """A phrase spelt out: for the sentences that must be there."""
    return NounPhrase(nouns()[key], determiner, determiner in PLURALS, adjectives)
