"""Which sentences are drawn: one function a construction, each with the number it gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from cutaway.corpus.grammar.dice import Dice
from cutaway.corpus.grammar.lexicon import (
    EVERY_DAY,
    FUTURE_TIMES,
    NOW,
    PAST_TIMES,
    PREPOSITIONS,
    PRONOUNS,
    adjectives,
    adjectives_of,
    nouns,
    nouns_of,
)
from cutaway.corpus.grammar.phrases import (
    COUNTED,
    DEFINITE,
    DENIED,
    NUMBERS,
    OBJECT,
    OWNED,
    OWNERS,
    PLURALS,
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
    Command,
    Comparison,
    Existence,
    HowMany,
    Location,
    Mark,
    Name,
    Noun,
    NounPhrase,
    Place,
    Sentence,
    State,
    Subject,
    Tense,
    Time,
    Verb,
    Where,
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
TEMPORARY = ("happy", "sad", "tired", "clean", "dirty")
SPECIAL = {"roam", "go", "come back", "give", "show", "need", "use", "weigh"}
HEALING = {"examine", "remove", "take a biopsy"}
MOVING = {"run", "jump", "dig a hole", "walk", "fly"}
WIDE = {"outdoors", "street", "deck", "plant", "shore"}  # where there is room to move
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
        if found.ground.noun.kinds & WIDE and found.preposition.english != "in front of":
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


def intransitive(dice: Dice) -> Sentence | None:
    """ "Yesterday" and all: "Two cats slept on the mat last night." """
    verb = dice.choose(intransitives())
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=negated or question, asked=question)
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
    who = subject_for(dice, verb, definite=negated or question, asked=question)
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


def determiners_for(verb: Verb, negated: bool) -> tuple[str, ...]:
    """One has "a cat", not "the cat"; nobody denies "two cats"."""
    if verb.key in ("have", "want"):
        return ("a",) if negated else OWNED
    return DENIED if negated else OBJECT


def roaming(dice: Dice) -> Sentence | None:
    verb = verbs()["roam"]
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=negated or question, asked=question)
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
    who = subject_for(dice, verb, definite=True, asked=question)
    goal = phrase(dice, dice.choose(nouns_of("goal")), ("the",), 0)
    time = moment(dice, tense, negated, 50)
    if tense is Tense.PRESENT and not negated and not question:
        time = EVERY_DAY
    return Action(who, verb, goal, None, None, time, tense, negated, question)


def giving(dice: Dice) -> Sentence | None:
    """ "The teacher gave two books to the child." """
    verb = verbs()[dice.choose(("give", "show"))]
    who = subject_for(dice, verb, definite=True)
    negated = dice.percent(15)
    tense = dice.choose((Tense.PAST, Tense.PAST, Tense.FUTURE, Tense.PRESENT))
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
    if verb.key in ("look", "follow", "chase", "stay") or not doer.kinds & {"person", "pet"}:
        return None
    if verb.objects:
        determiners = ("a", "the", "this", "some", "the+") if wanting else ("this", "some", "the+")
        what = phrase(dice, dice.choose(nouns_of(*sorted(verb.objects))), determiners)
    elif verb.key not in MOMENTARY and dice.percent(60):
        place = where(dice, verb, who)
    if place is None and verb.key in ("walk", "run", "wait", "jump"):
        return None
    negated = dice.percent(25)
    if negated and what and what.determiner in ("a", "some"):
        return None
    return Wish(who, wanting, verb, what, place, negated)


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
    who: Subject = phrase(dice, noun, ("the", "the", "this", "the+", "these"), 0)
    if kind == "person" and dice.percent(30) and "adult" not in adjective.kinds:
        who = dice.choose(PRONOUNS)
    if adjective.key == "old" and kind == "building":
        return None
    than = phrase(dice, other, ("the", "the", "this", "the+", "these"), 0)
    return Comparison(who, adjective, than, dice.percent(20))


def measured(dice: Dice, unit: Noun, substance: Noun, counted: tuple[str, ...]) -> NounPhrase:
    determiner = dice.choose(counted)
    return NounPhrase(unit, determiner, determiner in PLURALS, (), substance)


def chemistry(dice: Dice) -> Sentence | None:
    """ "The chemist needs two moles of oxygen." """
    unit = dice.choose(nouns_of("amount", "amount", "weight", "volume"))
    if dice.percent(40):
        unit = nouns()["amount"]
    suited = {"amount": "substance", "weight": "powder", "volume": "liquid"}
    kind = next(kind for key, kind in suited.items() if key in unit.kinds)
    substance = dice.choose(nouns_of(kind))
    amount = measured(dice, unit, substance, ("a", *NUMBERS, *NUMBERS))
    drawn = dice.below(100)
    if drawn < 8:
        return Name(amount)
    if drawn < 40:
        ground = ground_phrase(dice, dice.choose(nouns_of("bottle", "box")))
        return Existence(amount, Place(PREPOSITIONS["in"], ground), False, dice.percent(20))
    keys = ("need", "use", "weigh", "want", "have", "buy")
    verb = verbs()[dice.choose(keys[:3] if unit.key == "amount" else keys)]
    tense = dice.choose((Tense.PRESENT, Tense.PAST, Tense.FUTURE))
    question = dice.percent(12)
    who = subject_for(dice, verbs()["need"], definite=True, asked=question)
    time = None if verb.state else moment(dice, tense, False, 30)
    return Action(who, verb, amount, None, None, time, tense, False, question)


def skin(dice: Dice) -> Sentence | None:
    """ "She has two small moles on her arm.", "The doctor will examine the mole." """
    mark = nouns()[dice.choose(("skinmole", "skinmole", "scar"))]
    part = dice.choose(nouns_of("body"))
    drawn = dice.below(100)
    counted = phrase(dice, mark, ("a", *NUMBERS), 30)
    on_part = Place(PREPOSITIONS["on"], NounPhrase(part, dice.choose(OWNERS[:3])))
    if drawn < 25:
        if dice.percent(50):
            who: Subject = dice.choose(PRONOUNS[:3])
            return Mark(who, PRONOUNS[PRONOUNS.index(who)].possessive, counted, part)
        kind = dice.choose(("he", "she"))
        owner = NounPhrase(dice.choose(nouns_of(kind)), dice.choose(("the", "this")))
        return Mark(owner, "his" if kind == "he" else "her", counted, part)
    if drawn < 45:
        if dice.percent(20):
            return Existence(phrase(dice, mark, ("a",), 20), on_part, negated=True)
        return Existence(counted, on_part, False, dice.percent(15))
    if drawn < 52:
        return Location(phrase(dice, mark, ("the", "the+", "this"), 15), on_part)
    verb = verbs()[dice.choose(("examine", "remove", "take a biopsy"))]
    determiner = dice.choose(("the", "the", "the+", "this", "these"))
    plural = determiner in ("the+", "these")
    at = on_part if determiner == "the" and dice.percent(40) else None
    chosen = some_adjectives(dice, mark, 20)
    what = NounPhrase(mark, determiner.rstrip("+"), plural, chosen, None, at)
    if drawn < 58:
        return Command(verb, what)
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=True, asked=question)
    time = moment(dice, tense, negated, 25)
    return Action(who, verb, what, None, None, time, tense, negated, question)


def towers(dice: Dice) -> Sentence | None:
    """ "We visited the Eiffel tower.", "He lost a miniature Eiffel tower." """
    noun = nouns()[dice.choose(("tower", "eiffel", "miniature"))]
    suited = [verb for verb in transitives() if verb.objects & noun.kinds]
    if dice.percent(12):
        return Name(phrase(dice, noun, ("the", "a", "this", *NUMBERS), 30))
    verb = dice.choose(suited)
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=True, asked=question)
    what = phrase(dice, noun, determiners_for(verb, negated))
    if question and what.determiner == "some":
        return None
    time = None if verb.state else moment(dice, tense, negated, 30)
    if isinstance(who, NounPhrase) and "animal" in who.noun.kinds:
        return None
    return Action(who, verb, what, None, None, time, tense, negated, question)


def burrowing(dice: Dice) -> Sentence | None:
    """Moles that sleep, dig, run and eat: "The mole is digging a hole." """
    noun = nouns()[dice.choose(("mole", "mole", "mole", "shrew"))]
    verb = dice.choose([verb for verb in verbs().values() if verb.subjects & noun.kinds])
    tense, negated, question = mood(dice, verb)
    who = phrase(dice, noun, DEFINITE if negated or question else SUBJECT)
    told = tense is Tense.PAST and not negated
    what = None
    if verb.objects:
        what = phrase(
            dice, dice.choose(nouns_of(*sorted(verb.objects))), DENIED if negated else OBJECT
        )
        if question and what.determiner == "some":
            return None
        if verb.key == "roam":
            what = NounPhrase(what.noun, "the", False, what.adjectives)
        return Action(who, verb, what, tense=tense, negated=negated, question=question)
    place = place_for(dice, noun)
    if not place:
        return None
    needs_time = told and not question and "{p}" not in verb.chinese
    time = None if verb.state else moment(dice, tense, negated, 100 if needs_time else 20)
    return Action(who, verb, None, None, place, time, tense, negated, question)


def names(dice: Dice) -> Sentence | None:
    """ "A fluffy blue creature." """
    noun = dice.choose(nouns_of("animal", "thing", "building", "person", "shrew"))
    determiners = ("a", "a", "the", *NUMBERS, "this", "these")
    drawn = phrase(dice, noun, determiners, 85)
    return Name(drawn) if drawn.adjectives or noun.key == "shrew" else None


def sources() -> list[Sentence]:
    """The sentences that every corpus has: cat and mat, street, creature, moles, towers, AI."""
    verb, quality_of, lexicon = verbs(), adjectives(), nouns()
    creature = thing("creature", "a", quality_of["fluffy"], quality_of["blue"])
    first_person = PRONOUNS[0]
    table = Place(PREPOSITIONS["on"], thing("table"))
    return [
        Location(thing("cat"), Place(PREPOSITIONS["on"], thing("mat"))),
        Action(
            thing("cat"), verb["walk"], place=Place(PREPOSITIONS["on the street"], thing("street"))
        ),
        Action(
            creature, verb["roam"], thing("forest", "the", quality_of["verdant"]), tense=Tense.PAST
        ),
        Name(thing("shrew", "bare")),
        Name(NounPhrase(lexicon["amount"], "one", substance=lexicon["dioxide"])),
        Command(verb["take a biopsy"], thing("skinmole")),
        Action(thing("mole"), verb["dig a hole"], tense=Tense.PROGRESSIVE),
        Action(
            thing("chemist"),
            verb["need"],
            NounPhrase(lexicon["amount"], "one", substance=lexicon["oxygen"]),
        ),
        Mark(PRONOUNS[2], "her", thing("skinmole", "a"), lexicon["arm"]),
        Existence(thing("tower", "a"), Place(PREPOSITIONS["on"], thing("hill"))),
        Location(thing("eiffel"), city()),
        Existence(thing("miniature", "a"), table),
        Action(first_person, verb["love"], thing("AI", "mass")),
        Wish(first_person, False, verb["learn to program"]),
    ]


Template = Callable[[Dice], Sentence | None]
TEMPLATES: tuple[tuple[Template, int], ...] = (
    (intransitive, 15_000),
    (transitive, 18_000),
    (location, 6_000),
    (existence, 8_000),
    (quality, 4_000),
    (comparison, 2_500),
    (wishing, 3_500),
    (giving, 2_000),
    (errand, 1_000),
    (roaming, 1_500),
    (burrowing, 1_800),
    (skin, 1_800),
    (chemistry, 1_800),
    (towers, 1_500),
    (names, 1_500),
    (whereabouts, 300),
)
