"""Which combinations training never sees.

A sentence is made of combinations: (subject, verb), (verb, object), (adjective, noun),
(number, noun, place), (mark, part) and (unit, substance). Some of them, chosen by their CRC-32
alone, are held out for the test split and some for validation. A sentence with a combination held
out for the test is a test sentence or is in no split; likewise for validation; training has
sentences without any. Every word of a held-out combination is met in training in other company.
"""

from __future__ import annotations

from zlib import crc32

from tools.grammar.tree import (
    Action,
    Command,
    Comparison,
    Existence,
    HowMany,
    Location,
    Mark,
    Name,
    NounPhrase,
    Place,
    Sentence,
    State,
    Subject,
    Where,
    Wish,
)

ONE_IN = 40  # of the combinations, one in so many is held out for the test, and one for validation
TEST, VALIDATION = 0, 1


def combinations(sentence: Sentence) -> list[str]:
    """What a sentence puts together, one line each: "subject verb: cat sleep"."""
    match sentence:
        case Action() | Wish():
            return doing(sentence) + within(sentence.object) + in_place(sentence.place)
        case Command():
            command = f"verb object: {sentence.verb.key} {sentence.object.noun.key}"
            return [command, *within(sentence.object)]
        case State():
            adjective = f"adjective noun: {sentence.adjective.key} {name(sentence.subject)}"
            return [adjective, *within(sentence.subject)]
        case Comparison():
            adjective = f"adjective noun: {sentence.adjective.key} {name(sentence.subject)}"
            return [adjective, *within(sentence.subject), *within(sentence.other)]
        case Location():
            return placed(sentence.subject, sentence.place)
        case Existence():
            return placed(sentence.what, sentence.place)
        case HowMany():
            return counted("how many", sentence.noun.key, sentence.place)
        case Mark():
            marked = f"{sentence.mark.noun.key} {sentence.part.key}"
            return [f"mark part: {marked}", *within(sentence.mark)]
        case Where():
            return within(sentence.subject)
        case Name():
            return within(sentence.phrase)


def doing(sentence: Action | Wish) -> list[str]:
    who = sentence.subject
    keys = within(who)
    if isinstance(who, NounPhrase) or who.person == 3:
        # "I" and "we" have French forms of their own: never met, nobody could know them.
        keys.append(f"subject verb: {name(who)} {sentence.verb.key}")
    if sentence.object and not sentence.object.substance:
        keys.append(f"verb object: {sentence.verb.key} {sentence.object.noun.key}")
    return keys


def placed(what: Subject, place: Place) -> list[str]:
    number = "the"
    if isinstance(what, NounPhrase):
        number = what.determiner + (" many" if what.plural else "")
    return counted(number, name(what), place) + within(what)


def counted(number: str, noun: str, place: Place) -> list[str]:
    if "body" in place.ground.noun.kinds:
        return [f"mark part: {noun} {place.ground.noun.key}"]
    where = f"{place.preposition.english} {place.ground.noun.key}"
    return [f"number noun place: {number} {noun} {where}", *within(place.ground)]


def in_place(place: Place | None) -> list[str]:
    return within(place.ground) if place else []


def within(what: Subject | None) -> list[str]:
    """The pairs of adjective and noun inside a phrase."""
    if not isinstance(what, NounPhrase):
        return []
    keys = [
        f"adjective noun: {adjective.key} {what.noun.key}"
        for adjective in what.adjectives
        if adjective.english != "big"  # gros or grand: never met, nobody could know
    ]
    if what.at and "body" in what.at.ground.noun.kinds:
        keys.append(f"mark part: {what.noun.key} {what.at.ground.noun.key}")
    elif what.at:
        keys += within(what.at.ground)
    if what.substance:
        keys.append(f"unit substance: {what.noun.key} {what.substance.key}")
    return keys


def name(who: Subject) -> str:
    return who.noun.key if isinstance(who, NounPhrase) else who.english


def split_of(sentence: Sentence, familiar: frozenset[str], withheld: frozenset[str]) -> str:
    """The split a sentence may be in.

    `familiar` combinations are never held out; sentences with `withheld` ones are in no split.
    """
    made_of = combinations(sentence)
    if withheld.intersection(made_of):
        return "none"
    found = {
        crc32(combination.encode()) % ONE_IN
        for combination in made_of
        if combination not in familiar
    }
    if TEST in found:
        return "test"
    return "validation" if VALIDATION in found else "train"
