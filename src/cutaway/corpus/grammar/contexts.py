"""Words that need their company: mole in three senses, tower in three sizes, and the sources."""

from __future__ import annotations

from cutaway.corpus.grammar.actions import city, determiners_for, moment, mood, transitives
from cutaway.corpus.grammar.dice import Dice
from cutaway.corpus.grammar.lexicon import PREPOSITIONS, PRONOUNS, adjectives, nouns, nouns_of
from cutaway.corpus.grammar.phrases import (
    DEFINITE,
    NUMBERS,
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
    Existence,
    Location,
    Mark,
    Name,
    Noun,
    NounPhrase,
    Place,
    Sentence,
    Subject,
    Tense,
    Wish,
)
from cutaway.corpus.grammar.verbs import verbs


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
    who = subject_for(dice, verbs()["need"], definite=True, tense=tense, asked=question)
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
    if drawn < 64:
        return Command(verb, what)
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=True, tense=tense, asked=question)
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
    who = subject_for(dice, verb, definite=True, tense=tense, asked=question)
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
        seen = dice.choose(nouns_of(*sorted(verb.objects)))
        if seen.kinds & {"vehicle", "landmark", "building"} or seen == noun:
            return None
        what = phrase(dice, seen, determiners_for(verb, negated))
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
