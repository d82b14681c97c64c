"""Sentences in which someone does something: tense, negation, question, object, place, time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tools.grammar.dice import Dice
from tools.grammar.lexicon import (
    FUTURE_TIMES,
    HABITS,
    NOW,
    PAST_TIMES,
    adjectives,
    nouns,
    nouns_of,
)
from tools.grammar.phrases import (
    DEFINITE,
    DENIED,
    KNOWN,
    OBJECT,
    OWNED,
    SUBJECT,
    owned_by,
    phrase,
    some_adjectives,
    subject_for,
)
from tools.grammar.places import where
from tools.grammar.tree import (
    Action,
    Noun,
    NounPhrase,
    Place,
    Pronoun,
    Sentence,
    Subject,
    Tense,
    Time,
    Verb,
    Wish,
)
from tools.grammar.verbs import verbs

PAST, FUTURE, PRESENT, NOW_DOING = Tense.PAST, Tense.FUTURE, Tense.PRESENT, Tense.PROGRESSIVE
# Tenses in which a verb is said; an activity that is a habit has a present besides the progressive.
TENSES = {
    "fall": (PAST,),
    "lose": (PAST,),
    **dict.fromkeys(("come", "leave", "come back", "find", "meet", "stay"), (PAST, PAST, FUTURE)),
    "close": (PAST, PAST, FUTURE),
    **dict.fromkeys(("see", "hear"), (PAST, PAST, PRESENT, FUTURE)),
    "go": (PAST, PAST, FUTURE, PRESENT),
    **dict.fromkeys(("know", "want", "love", "have"), (PRESENT, PRESENT, PAST)),
    **dict.fromkeys(("like", "need", "live"), (PRESENT, PRESENT, PRESENT, PAST, FUTURE)),
    "roam": (PRESENT, PRESENT, PAST, PAST, PAST, FUTURE),
}
ACTIVITY = (PAST, PAST, PAST, NOW_DOING, NOW_DOING, FUTURE)
HABITUAL = {
    "play", "walk", "run", "swim", "sing", "dance", "laugh", "work", "learn to program", "eat",
    "buy", "sell", "draw", "read", "write", "study", "drink",
}  # fmt: skip
SPECIAL = {"roam", "go", "come back", "give", "show", "need", "use", "weigh"}
HEALING = {"examine", "remove", "take a biopsy"}
LIKED = {
    "sleep", "play", "walk", "run", "swim", "sing", "dance", "laugh", "learn to program", "work",
    "jump", "eat", "draw", "read", "write", "visit", "help", "study", "drink",
}  # fmt: skip
UNWANTED = {"look", "follow", "chase", "fall", "live", "cry"}
AT_A_PLACE = {"learn to program", "read", "write", "eat", "study", "draw"}  # where adds something
# Who chases, eats and drinks what.
PREY = {
    "cat": ("mouse", "bird"),
    "dog": ("cat", "rabbit", "fox", "duck", "sheep", "bird"),
    "fox": ("rabbit", "duck", "mouse", "bird"),
    "boy": ("dog", "cat", "duck", "rabbit"),
    "girl": ("dog", "cat", "duck", "rabbit"),
}
DIET = {
    "rabbit": ("apple", "carrot"),
    "horse": ("apple", "carrot"),
    "goat": ("apple", "carrot"),
    "cat": ("egg", "cake"),
    "dog": ("egg", "cake", "carrot"),
    "mouse": ("apple", "cake", "carrot"),
}


def mood(dice: Dice, verb: Verb) -> tuple[Tense, bool, bool]:
    """Tense, negation and question that suit a verb."""
    habit = (PRESENT,) if verb.key in HABITUAL else ()
    tense = dice.choose(TENSES.get(verb.key, ACTIVITY + habit))
    negated = dice.percent(20)
    return tense, negated, not negated and dice.percent(14)


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
            return None if negated else dice.choose(HABITS)


@cache
def intransitives() -> tuple[Verb, ...]:
    return tuple(verb for verb in verbs().values() if not verb.objects)


@cache
def transitives() -> tuple[Verb, ...]:
    """Verbs with an object that need no construction of their own."""
    own = SPECIAL | HEALING
    return tuple(verb for verb in verbs().values() if verb.objects and verb.key not in own)


def determiners_for(verb: Verb, what: Noun, tense: Tense, negated: bool) -> tuple[str, ...]:
    """One has "a cat", not "the cat"; one loves "the king", not three; nobody denies "two"."""
    if verb.key in ("have", "want"):
        return ("a",) if negated else OWNED
    if verb.key == "like":
        listed = what.kinds & {"animal", "food", "flower", "book", "building"}
        return ("kind", "kind", "the", "this", "these") if listed else ("the", "this", "these")
    if verb.key == "love":
        return ("the", "the", "this", "these")
    if negated and verb.objects & {"person", "citizen", "animal", "tame"}:
        return KNOWN
    if tense is PRESENT and verb.progressive:  # a habit: books, not this one book
        return ("any",)
    return DENIED if negated else OBJECT


def object_for(
    dice: Dice, verb: Verb, who: Subject, tense: Tense, negated: bool
) -> NounPhrase | None:
    """Something to do it to that makes sense for who does it."""
    doer = who.noun.key if isinstance(who, NounPhrase) else ""
    suited: tuple[Noun, ...] = nouns_of(*sorted(verb.objects))
    if verb.key == "chase" and doer:
        suited = tuple(nouns()[key] for key in PREY[doer])
    if verb.key == "eat" and doer in DIET:
        suited = tuple(nouns()[key] for key in DIET[doer])
    if verb.key == "drink" and isinstance(who, NounPhrase):
        milk = who.noun.kinds & {"person", "cat", "mouse"}
        suited = suited if milk else (nouns()["water"],)
    if verb.key in ("buy", "sell") and tense is PRESENT:
        suited = nouns_of("food", "flower")
    what = dice.choose(suited)
    if what.key == doer:
        return None
    described = 0 if verb.key in ("write", "look", "like") else 20
    done_to = phrase(dice, what, determiners_for(verb, what, tense, negated), described)
    if done_to.determiner == "kind" and "unchanging" in what.kinds:
        return None
    return owned_by(who, done_to)


def placed(dice: Dice, verb: Verb, who: Subject) -> Place | None:
    """A place to do it; if it belongs to someone, to who does it."""
    place = where(dice, verb, who)
    return replace(place, ground=owned_by(who, place.ground)) if place else None


def intransitive(dice: Dice) -> Sentence | None:
    """ "Yesterday" and all: "Two cats slept on the mat last night." """
    verb = dice.choose(intransitives())
    tense, negated, question = mood(dice, verb)
    habit = tense is PRESENT and verb.progressive
    definite = negated or question or habit
    who = subject_for(dice, verb, definite=definite, tense=tense, asked=question)
    rules_place = "{p}" in verb.chinese
    place = placed(dice, verb, who) if rules_place or dice.percent(60) else None
    told = tense is PAST and not negated
    if place is None and (rules_place or verb.key in ("walk", "run", "wait", "jump")):
        return None
    if told and place is None and not verb.chinese_past:
        return None
    needs_time = told and not question and place is not None and not rules_place
    needs_time = needs_time or (habit and not negated and place is None)
    time = moment(dice, tense, negated, 100 if needs_time else 35)
    if verb.state:
        time = None
    return Action(who, verb, None, None, place, time, tense, negated, question)


def transitive(dice: Dice) -> Sentence | None:
    """ "The girl is not reading the old book." """
    verb = dice.choose(transitives())
    tense, negated, question = mood(dice, verb)
    told = tense is PAST and not negated
    if told and (not verb.chinese_past or (verb.english[2] == verb.english[0] and not question)):
        return None
    habit = tense is PRESENT and verb.progressive
    definite = negated or question or habit
    who = subject_for(dice, verb, definite=definite, tense=tense, asked=question)
    if verb.key == "follow" and isinstance(who, Pronoun) and who.person == 1 and not who.plural:
        return None  # "je suis" would be "I am"
    what = object_for(dice, verb, who, tense, negated)
    if what is None:
        return None
    if what.determiner == "some" and (question or "person" in what.noun.kinds):
        return None
    if question and (
        what.determiner == "one" or (verb.key in ("see", "hear") and tense is PRESENT)
    ):
        return None
    place = None
    if verb.key in AT_A_PLACE and dice.percent(30):
        place = placed(dice, verb, who)
    time = None if verb.state else moment(dice, tense, negated, 100 if habit else 25)
    if verb.key in ("see", "hear") and tense is PRESENT:
        time = None
    return Action(who, verb, what, None, place, time, tense, negated, question)


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
    described = some_adjectives(dice, ground, 50)
    what = NounPhrase(ground, "the", False, described)
    return Action(who, verb, what, tense=tense, negated=negated, question=question)


def errand(dice: Dice) -> Sentence | None:
    """ "The nurse went to the hospital this morning." """
    verb = verbs()[dice.choose(("go", "go", "come back"))]
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=True, tense=tense, asked=question)
    goal = phrase(dice, dice.choose(nouns_of("goal")), ("the",), 0)
    habit = tense is PRESENT
    if habit and (
        goal.noun.key == "paris" or (isinstance(who, NounPhrase) and "royal" in who.noun.kinds)
    ):
        return None
    time = moment(dice, tense, negated, 100 if habit else 50)
    return Action(who, verb, goal, None, None, time, tense, negated, question)


def giving(dice: Dice) -> Sentence | None:
    """ "The teacher gave two books to the child." """
    verb = verbs()[dice.choose(("give", "show"))]
    negated = dice.percent(15)
    tense = dice.choose((PAST, PAST, PAST, FUTURE))
    who = subject_for(dice, verb, definite=True, tense=tense)
    what = phrase(dice, dice.choose(nouns_of(*sorted(verb.objects))), DENIED if negated else OBJECT)
    taker = dice.choose(nouns_of("person"))
    if isinstance(who, NounPhrase) and who.noun == taker:
        return None
    determiner = "the" if "royal" in taker.kinds else dice.choose(("the", "the", "the+"))
    recipient = NounPhrase(taker, determiner.rstrip("+"), determiner.endswith("+"))
    return Action(who, verb, owned_by(who, what), recipient, tense=tense, negated=negated)


def wishing(dice: Dice) -> Sentence | None:
    """ "I like learning to program." """
    wanting = dice.percent(50)
    doable = [
        verb
        for verb in intransitives() + transitives()
        if (verb.key not in UNWANTED and not verb.state if wanting else verb.key in LIKED)
    ]
    verb = dice.choose([verb for verb in doable if verb.progressive or verb.key == "stay"])
    who = subject_for(dice, verb, definite=True)
    doer = who.noun if isinstance(who, NounPhrase) else nouns()["man"]
    if not doer.kinds & {"person", "pet"}:
        return None
    negated = dice.percent(25)
    what, place = None, None
    if verb.objects:
        what = object_for(dice, verb, who, PRESENT if not wanting else PAST, negated)
        if what is None or what.determiner == "some" or (what.determiner == "any" and negated):
            return None
        if what.determiner == "any" and "person" in what.noun.kinds:
            what = replace(what, determiner="the", adjectives=())
    elif verb.key == "stay" or dice.percent(50):
        place = placed(dice, verb, who)
    if place is None and verb.key in ("walk", "run", "wait", "jump", "stay"):
        return None
    return Wish(who, wanting, verb, what, place, negated)
