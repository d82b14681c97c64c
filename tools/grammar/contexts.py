"""Words that need their company: mole in three senses, tower in three sizes, and the sources."""

from __future__ import annotations

from tools.grammar.actions import determiners_for, moment, mood, object_for, transitives
from tools.grammar.dice import Dice
from tools.grammar.lexicon import (
    PAST_TIMES,
    PREPOSITIONS,
    PRONOUNS,
    adjectives,
    grounds,
    nouns,
    nouns_of,
)
from tools.grammar.phrases import (
    ALONE,
    DEFINITE,
    PLURALS,
    SUBJECT,
    owned_by,
    phrase,
    some_adjectives,
    subject_for,
    thing,
)
from tools.grammar.places import OWNERS, city, ground_phrase, place_for
from tools.grammar.tree import (
    Action,
    Command,
    Existence,
    Location,
    Mark,
    Name,
    NounPhrase,
    Place,
    Sentence,
    Subject,
    Tense,
    Wish,
)
from tools.grammar.verbs import verbs


def chemistry(dice: Dice) -> Sentence | None:
    """ "The chemist needs two moles of oxygen." """
    unit = nouns()["amount"] if dice.percent(55) else dice.choose(nouns_of("weight", "volume"))
    suited = {"amount": "substance", "weight": "powder", "volume": "liquid"}
    kind = next(kind for key, kind in suited.items() if key in unit.kinds)
    substance = dice.choose(nouns_of(kind))
    determiner = dice.choose((*ALONE, *("a",) * 5))
    amount = NounPhrase(unit, determiner, determiner in PLURALS, (), substance)
    drawn = dice.below(100)
    if drawn < 8:
        return Name(amount)
    if drawn < 35:
        heavy = unit.key == "kilogram"
        ground = nouns()[
            "box" if heavy or (unit.kinds & {"weight"} and dice.percent(40)) else "bottle"
        ]
        place = Place(PREPOSITIONS["in"], ground_phrase(dice, ground, PREPOSITIONS["in"]))
        return Existence(amount, place, False, dice.percent(20))
    keys = ["need", "use"]
    if "powder" in substance.kinds:
        keys += ["weigh"] * 4
    if unit.key in ("kilogram", "litre") and substance.kinds & {"grocery", "drink"}:
        keys += ["buy", "have"]
    verb = verbs()[dice.choose(keys)]
    tense = dice.choose((Tense.PAST, Tense.PAST, Tense.FUTURE))
    if verb.state:
        tense = dice.choose((Tense.PRESENT, Tense.PRESENT, Tense.PAST, Tense.FUTURE))
    elif verb.key != "buy" and dice.percent(25):
        tense = Tense.PROGRESSIVE
    question = dice.percent(12)
    buyer = verbs()["buy" if verb.key in ("buy", "have") else "need"]
    who = subject_for(dice, buyer, definite=True, tense=tense, asked=question)
    time = None if verb.state else moment(dice, tense, False, 30)
    return Action(who, verb, amount, None, None, time, tense, False, question)


def skin(dice: Dice) -> Sentence | None:
    """ "She has two small moles on her arm.", "The doctor will examine the mole." """
    mark = nouns()[dice.choose(("skinmole", "skinmole", "scar"))]
    part = dice.choose(nouns_of("body"))
    drawn = dice.below(100)
    counted = phrase(dice, mark, (*("a",) * 4, *("number",) * 3), 30)
    on_part = Place(PREPOSITIONS["on"], NounPhrase(part, dice.choose(OWNERS[:3])))
    if drawn < 28:
        if dice.percent(50):
            who: Subject = dice.choose(PRONOUNS[:3])
            return Mark(who, PRONOUNS[PRONOUNS.index(who)].possessive, counted, part)
        kind = dice.choose(("he", "she"))
        owner = NounPhrase(dice.choose(nouns_of(kind)), dice.choose(("the", "the", "the", "this")))
        return Mark(owner, "his" if kind == "he" else "her", counted, part)
    if drawn < 46:
        if dice.percent(20):
            return Existence(phrase(dice, mark, ("a",), 20), on_part, negated=True)
        return Existence(counted, on_part, False, counted.determiner == "a" and dice.percent(25))
    if drawn < 52:
        return Location(phrase(dice, mark, ("the", "the+", "this"), 15), on_part)
    keys = ("examine", "remove", "take a biopsy")
    verb = verbs()[dice.choose(keys if mark.key == "skinmole" else keys[:2])]
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
    if dice.percent(8):
        return Name(phrase(dice, noun, ("the", "a", "this", "number"), 30))
    verb = dice.choose(suited)
    tense, negated, question = mood(dice, verb)
    who = subject_for(dice, verb, definite=True, tense=tense, asked=question)
    if isinstance(who, NounPhrase) and "person" not in who.noun.kinds:
        return None
    if tense is Tense.PRESENT and verb.progressive:
        return None  # nobody sells towers every day
    if question and tense is Tense.PRESENT and verb.key == "see":
        return None
    what = owned_by(who, phrase(dice, noun, determiners_for(verb, noun, tense, negated)))
    if what.determiner == "some" and question:
        return None
    time = None if verb.state or tense is Tense.PRESENT else moment(dice, tense, negated, 30)
    return Action(who, verb, what, None, None, time, tense, negated, question)


def burrowing(dice: Dice) -> Sentence | None:
    """Moles that sleep, dig, run and drink: "The mole is digging a hole." """
    noun = nouns()[dice.choose(("mole", "mole", "mole", "shrew"))]
    verb = dice.choose([verb for verb in verbs().values() if verb.subjects & noun.kinds])
    tense, negated, question = mood(dice, verb)
    if tense is Tense.PRESENT and verb.progressive:
        tense = Tense.PROGRESSIVE
    who = phrase(dice, noun, DEFINITE if negated or question else SUBJECT, 20, passing=True)
    told = tense is Tense.PAST and not negated
    if verb.key == "roam":
        ground = dice.choose(nouns_of("outdoors"))
        what = NounPhrase(ground, "the", False, some_adjectives(dice, ground, 30))
        return Action(who, verb, what, tense=tense, negated=negated, question=question)
    if verb.objects:
        done_to = object_for(dice, verb, who, tense, negated)
        if done_to is None or done_to.noun.kinds & {"vehicle", "landmark", "building", "royal"}:
            return None
        if question and done_to.determiner == "some":
            return None
        return Action(who, verb, done_to, tense=tense, negated=negated, question=question)
    place = place_for(dice, noun)
    if not place:
        return None
    needs_time = told and not question and "{p}" not in verb.chinese
    time = None if verb.state else moment(dice, tense, negated, 100 if needs_time else 20)
    if "{p}" not in verb.chinese and not told and dice.percent(30):
        place = None
    return Action(who, verb, None, None, place, time, tense, negated, question)


def at(preposition: str, ground: str) -> Place:
    found, noun = grounds(preposition, ground)
    return Place(found, thing(noun.key))


def sources() -> list[Sentence]:
    """The sentences that every corpus has: cat and mat, street, creature, moles, towers, AI."""
    verb, quality_of, lexicon = verbs(), adjectives(), nouns()
    creature = thing("creature", "a", quality_of["fluffy"], quality_of["blue"])
    first_person = PRONOUNS[0]
    return [
        Location(thing("cat"), at("on", "mat")),
        Action(thing("cat"), verb["walk"], place=at("on", "street")),
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
        Existence(thing("tower", "a"), at("on", "hill")),
        Location(thing("eiffel"), city()),
        Existence(thing("miniature", "a"), at("on", "table")),
        Action(first_person, verb["love"], thing("AI", "mass")),
        Wish(first_person, False, verb["learn to program"]),
    ]


def unseen() -> list[tuple[Sentence, tuple[str, ...]]]:
    """Sentences about moles and towers, with the combinations withheld from training for them."""
    verb, lexicon = verbs(), nouns()
    amount = lexicon["amount"]
    garden, water = at("in", "garden"), NounPhrase(lexicon["water"], "partitive")
    morning = PAST_TIMES[-1]
    salt = NounPhrase(amount, "two", True, (), lexicon["salt"])
    hydrogen = NounPhrase(amount, "three", True, (), lexicon["hydrogen"])
    face = Place(PREPOSITIONS["on"], thing("face", "his"))
    on_face = NounPhrase(lexicon["skinmole"], "the", at=face)
    past, now = Tense.PAST, Tense.PROGRESSIVE
    return [
        (
            Action(thing("mole"), verb["run"], place=garden, time=morning, tense=past),
            ("subject verb: mole run", "subject verb: shrew run"),
        ),
        (
            Action(thing("mole", "two"), verb["drink"], water, tense=now),
            ("subject verb: mole drink", "subject verb: shrew drink"),
        ),
        (
            Action(thing("student"), verb["weigh"], salt, tense=past),
            ("unit substance: amount salt",),
        ),
        (
            Existence(hydrogen, at("in", "bottle")),
            ("number noun place: three many amount in bottle",),
        ),
        (
            Mark(PRONOUNS[2], "her", thing("skinmole", "a"), lexicon["neck"]),
            ("mark part: skinmole neck",),
        ),
        (
            Action(thing("doctor"), verb["examine"], on_face, tense=past),
            ("mark part: skinmole face",),
        ),
        (
            Action(thing("boy"), verb["see"], thing("tower", "a"), tense=past),
            ("verb object: see tower",),
        ),
        (
            Action(thing("artist"), verb["draw"], thing("eiffel"), tense=now),
            ("verb object: draw eiffel",),
        ),
        (
            Action(thing("girl"), verb["lose"], thing("miniature", "a"), tense=past),
            ("verb object: lose miniature",),
        ),
    ]
