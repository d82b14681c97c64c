"""Sentences in which someone does something: tense, negation, question, object, place, time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from cutaway.corpus.grammar.dice import Dice
from cutaway.corpus.grammar.lexicon import (
    EVERY_DAY,
    FUTURE_TIMES,
    NOW,
    PAST_TIMES,
    PREPOSITIONS,
    adjectives,
    nouns,
    nouns_of,
)
from cutaway.corpus.grammar.phrases import (
    DEFINITE,
    DENIED,
    KNOWN,
    OBJECT,
    OWNED,
    SUBJECT,
    ground_phrase,
    phrase,
    place_for,
    some_adjectives,
    subject_for,
    thing,
)
from cutaway.corpus.grammar.tree import (
    Action,
    NounPhrase,
    Place,
    Sentence,
    Subject,
    Tense,
    Time,
    Verb,
    Wish,
)
from cutaway.corpus.grammar.verbs import verbs

MOMENTARY = {
    "fall",
    "come",
    "leave",
    "come back",
    "find",
    "lose",
}  # no present: they are over when told
SPECIAL = {"roam", "go", "come back", "give", "show", "need", "use", "weigh"}
HEALING = {"examine", "remove", "take a biopsy"}
MOVING = {"run", "jump", "dig a hole", "walk", "fly"}
WIDE = {"outdoors", "street", "deck", "plant", "shore"}  # where there is room to move
PASTIMES = {"eat", "draw", "read", "write", "wash", "visit", "help", "study", "drink"}
SEATED = {"learn to program", "work", "study", "read", "eat", "write"}  # done in a room


def mood(dice: Dice, verb: Verb) -> tuple[Tense, bool, bool]:
    """Tense, negation and question that suit a verb."""
    tenses = [Tense.PAST, Tense.PAST, Tense.FUTURE]
    if verb.key not in MOMENTARY:
        tenses += [Tense.PRESENT, Tense.PRESENT]
    if verb.progressive:
        tenses.append(Tense.PROGRESSIVE)
    negated = dice.percent(25)
    return dice.choose(tenses), negated, not negated and dice.percent(14)


def moment(dice: Dice, tense: Tense, negated: bool, chance: int) -> Time | None:
    """A time that suits the tense, in `chance` of a hundred."""
    if not dice.percent(chance):
        return None
    match tense:
        case Tense.PAST:
            return dice.choose(PAST_TIMES)
        case Tense.FUTURE:
            return dice.choose(FUTURE_TIMES)
        case Tense.PROGRESSIVE:
            return NOW
        case Tense.PRESENT:
            return None if negated else EVERY_DAY


def where(dice: Dice, verb: Verb, who: Subject) -> Place | None:
    """Somewhere to do it: swimmers in water, others where their kind is found."""
    lexicon = nouns()
    if verb.key == "swim":
        ground = dice.choose((lexicon["river"], lexicon["lake"]))
        return Place(PREPOSITIONS["in"], ground_phrase(dice, ground))
    doer = who.noun if isinstance(who, NounPhrase) else lexicon["man"]
    if verb.key == "live" and "person" in doer.kinds:
        home = dice.choose((lexicon["house"], lexicon["castle"]))
        kind = dice.choose(("in", "near", "behind"))
        if dice.percent(20):
            return city()
        ground = home if kind == "in" else dice.choose(nouns_of("building"))
        return Place(PREPOSITIONS[kind], ground_phrase(dice, ground))
    if verb.key == "live" and "pet" in doer.kinds:
        ground = dice.choose((lexicon["house"], lexicon["garden"], lexicon["box"]))
        return Place(PREPOSITIONS["in"], ground_phrase(dice, ground))
    if "person" in doer.kinds and verb.key in SEATED:
        room = dice.choose(nouns_of("room"))
        return Place(PREPOSITIONS["in"], ground_phrase(dice, room))
    if "person" in doer.kinds and verb.key in ("stay", "work", "walk") and dice.percent(10):
        return city()
    for _ in range(6):
        found = place_for(dice, doer)
        if found is None or verb.key not in MOVING:
            return found
        open_air = {"outdoors", "plant"} if verb.key in ("dig a hole", "fly") else WIDE
        if found.ground.noun.kinds & open_air and found.preposition.english != "in front of":
            return found
    return None


@cache
def city() -> Place:
    return Place(PREPOSITIONS["in a city"], thing("paris", "bare"))


@cache
def intransitives() -> tuple[Verb, ...]:
    return tuple(verb for verb in verbs().values() if not verb.objects)


@cache
def transitives() -> tuple[Verb, ...]:
    """Verbs with an object that need no construction of their own."""
    own = SPECIAL | HEALING
    return tuple(verb for verb in verbs().values() if verb.objects and verb.key not in own)


def determiners_for(verb: Verb, negated: bool) -> tuple[str, ...]:
    """One has "a cat", not "the cat"; one loves "the king", not three; nobody denies "two"."""
    if verb.key in ("have", "want"):
        return ("a",) if negated else OWNED
    if verb.key in ("love", "like") or (negated and verb.objects & {"person", "animal", "pet"}):
        return KNOWN
    return DENIED if negated else OBJECT


def intransitive(dice: Dice) -> Sentence | None:
    """ "Yesterday" and all: "Two cats slept on the mat last night." """
    verb = dice.choose(intransitives())
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=negated or question, tense=tense, asked=question)
    rules_place = "{p}" in verb.chinese
    place = None
    if verb.key not in MOMENTARY and (rules_place or dice.percent(65)):
        place = where(dice, verb, who)
    told = tense is Tense.PAST and not negated
    if place is None and (rules_place or verb.key in ("walk", "run", "wait", "jump")):
        return None
    if told and place is None and not verb.chinese_past:
        return None
    needs_time = told and not question and place is not None and not rules_place
    time = moment(dice, tense, negated, 100 if needs_time else 30)
    if verb.state:
        time = None
    return Action(who, verb, None, None, place, time, tense, negated, question)


def transitive(dice: Dice) -> Sentence | None:
    """ "The girl is not reading the old book." """
    verb = dice.choose(transitives())
    tense, negated, question = mood(dice, verb)
    told = tense is Tense.PAST and not negated
    if told and (not verb.chinese_past or (verb.english[2] == verb.english[0] and not question)):
        return None
    who = subject_for(dice, verb, definite=negated or question, tense=tense, asked=question)
    what = dice.choose(nouns_of(*sorted(verb.objects)))
    if isinstance(who, NounPhrase) and who.noun == what:
        return None
    thing_done = phrase(dice, what, determiners_for(verb, negated))
    if thing_done.determiner == "some" and (question or "person" in verb.objects):
        return None
    place = None
    if verb.key in SEATED and dice.percent(35):
        place = where(dice, verb, who)
    time = None if verb.state else moment(dice, tense, negated, 25)
    return Action(who, verb, thing_done, None, place, time, tense, negated, question)


def roaming(dice: Dice) -> Sentence | None:
    verb = verbs()["roam"]
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=negated or question, tense=tense, asked=question)
    if dice.percent(30):  # the creature roams most, and never undescribed for long
        who = phrase(dice, nouns()["creature"], DEFINITE if negated or question else SUBJECT, 90)
        if dice.percent(50):
            colour = dice.choose(("blue", "blue", "green", "yellow", "black", "white"))
            who = replace(who, adjectives=(adjectives()["fluffy"], adjectives()[colour]))
    ground = dice.choose(nouns_of("outdoors"))
    return Action(
        who,
        verb,
        NounPhrase(ground, "the", False, some_adjectives(dice, ground, 60)),
        tense=tense,
        negated=negated,
        question=question,
    )


def errand(dice: Dice) -> Sentence | None:
    """ "The nurse went to the hospital this morning." """
    verb = verbs()[dice.choose(("go", "go", "come back"))]
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=True, tense=tense, asked=question)
    goal = phrase(dice, dice.choose(nouns_of("goal")), ("the",), 0)
    time = moment(dice, tense, negated, 50)
    if tense is Tense.PRESENT and not negated and not question:
        time = EVERY_DAY
    return Action(who, verb, goal, None, None, time, tense, negated, question)


def giving(dice: Dice) -> Sentence | None:
    """ "The teacher gave two books to the child." """
    verb = verbs()[dice.choose(("give", "show"))]
    negated = dice.percent(15)
    tense = dice.choose((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.PRESENT))
    who = subject_for(dice, verb, definite=True, tense=tense)
    what = phrase(dice, dice.choose(nouns_of(*sorted(verb.objects))), DENIED if negated else OBJECT)
    taker = dice.choose(nouns_of("person"))
    if isinstance(who, NounPhrase) and who.noun == taker:
        return None
    determiner = dice.choose(("the", "the", "the+"))
    recipient = NounPhrase(taker, determiner.rstrip("+"), determiner.endswith("+"))
    return Action(who, verb, what, recipient, tense=tense, negated=negated)


def wishing(dice: Dice) -> Sentence | None:
    """ "I like learning to program." """
    doable = [
        verb for verb in intransitives() + transitives() if verb.progressive or verb.key == "stay"
    ]
    verb = dice.choose(doable)
    wanting = dice.percent(50)
    who = subject_for(dice, verb, definite=True)
    doer = who.noun if isinstance(who, NounPhrase) else nouns()["man"]
    what = None
    place = None
    if verb.key == "dig a hole" and not wanting:
        return None  # one likes digging holes, not a hole
    if verb.key in ("look", "follow", "chase", "stay") or not doer.kinds & {"person", "pet"}:
        return None
    if verb.objects:
        if not wanting and verb.key not in PASTIMES:
            return None
        determiners = ("a", "the", "this", "some", "the+") if wanting else ("this", "the+")
        what = phrase(dice, dice.choose(nouns_of(*sorted(verb.objects))), determiners)
    elif verb.key not in MOMENTARY and dice.percent(60):
        place = where(dice, verb, who)
    if place is None and verb.key in ("walk", "run", "wait", "jump"):
        return None
    negated = dice.percent(25)
    if negated and what and what.determiner in ("a", "some"):
        return None
    return Wish(who, wanting, verb, what, place, negated)
