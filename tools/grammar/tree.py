"""What a sentence says, before any language: the trees that the three languages read aloud."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Tense(Enum):
    PRESENT = "present"
    PROGRESSIVE = "progressive"
    PAST = "past"
    FUTURE = "future"


@dataclass(frozen=True, slots=True)
class Noun:
    """A thing with a name: its forms, its French gender, its Chinese measure word, its kinds."""

    key: str
    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    chinese: str
    measure: str
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Adjective:
    """A quality; French agrees it and places it before or after, Chinese joins it by 的 or not."""

    key: str
    english: str
    comparative: str  # empty where nothing is compared by it
    before: bool  # its place in French: "un petit chat", but "un chat noir"
    french: tuple[str, str, str, str, str]  # m, f, m plural, f plural, m before a vowel
    chinese: tuple[tuple[str, str], ...]  # (kind of noun, attributive form); the last is for all
    colour: bool
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verb:
    """What is done: forms in each language, and the kinds of nouns it goes with.

    `chinese` is a frame: {o} the object, {r} the recipient, {p} the place if the verb rules it.
    """

    key: str
    english: tuple[str, str, str, str]  # base, third person, past, -ing
    english_preposition: str
    french: FrenchVerb
    french_preposition: str
    chinese: str
    chinese_past: str  # empty where the bare past would say something else
    state: bool  # a state: no progressive, French imparfait, Chinese without 了
    progressive: bool
    subjects: frozenset[str]
    objects: frozenset[str]


@dataclass(frozen=True, slots=True)
class FrenchVerb:
    infinitive: str
    tail: str  # what goes with it: "un trou" in "creuser un trou"
    present: tuple[str, str, str, str]  # je, il, nous, ils
    participle: str
    future_stem: str
    with_etre: bool


@dataclass(frozen=True, slots=True)
class Pronoun:
    english: str
    person: int
    plural: bool
    feminine: bool
    french: str
    chinese: str
    possessive: str  # the key of "his" for "he"


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """Determiner, adjectives, noun; of a substance ("of water") or somewhere ("on my arm")."""

    noun: Noun
    determiner: str
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    substance: Noun | None = None
    at: Place | None = None


@dataclass(frozen=True, slots=True)
class Preposition:
    english: str
    french: str
    chinese: str  # what follows the noun: 上, 里, 旁边


@dataclass(frozen=True, slots=True)
class Place:
    preposition: Preposition
    ground: NounPhrase


@dataclass(frozen=True, slots=True)
class Time:
    english: str
    french: str
    chinese: str
    after_subject: bool = False  # 猫每天都… but 昨天猫…


Subject = NounPhrase | Pronoun


@dataclass(frozen=True, slots=True)
class Action:
    """Someone does something: "The cat sleeps on the mat." """

    subject: Subject
    verb: Verb
    object: NounPhrase | None = None
    recipient: NounPhrase | None = None
    place: Place | None = None
    time: Time | None = None
    tense: Tense = Tense.PRESENT
    negated: bool = False
    question: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """Someone likes or wants to do something: "The girl likes swimming." """

    subject: Subject
    wanting: bool
    verb: Verb
    object: NounPhrase | None = None
    place: Place | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """Do something: "Take a biopsy of the mole." """

    verb: Verb
    object: NounPhrase


@dataclass(frozen=True, slots=True)
class State:
    """Something is so: "The two cats are black." """

    subject: Subject
    adjective: Adjective
    time: Time | None = None
    tense: Tense = Tense.PRESENT
    negated: bool = False
    question: bool = False


@dataclass(frozen=True, slots=True)
class Location:
    """Something is somewhere: "The cat is on the mat." """

    subject: Subject
    place: Place
    time: Time | None = None
    tense: Tense = Tense.PRESENT
    negated: bool = False
    question: bool = False


@dataclass(frozen=True, slots=True)
class Where:
    """Where something is: "Where is the cat?" """

    subject: NounPhrase


@dataclass(frozen=True, slots=True)
class Existence:
    """There is something somewhere: "There are four cats on the mat." """

    what: NounPhrase
    place: Place
    negated: bool = False
    question: bool = False


@dataclass(frozen=True, slots=True)
class HowMany:
    """How many there are: "How many cats are there on the mat?" """

    noun: Noun
    place: Place


@dataclass(frozen=True, slots=True)
class Comparison:
    """One is more so than another: "The horse is bigger than the dog." """

    subject: Subject
    adjective: Adjective
    other: NounPhrase
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Someone has a mark on the skin: "She has two moles on her arm." """

    owner: Subject
    owner_possessive: str
    mark: NounPhrase
    part: Noun


@dataclass(frozen=True, slots=True)
class Name:
    """A noun phrase by itself: "A fluffy blue creature." """

    phrase: NounPhrase


Sentence = (
    Action
    | Wish
    | Command
    | State
    | Location
    | Where
    | Existence
    | HowMany
    | Comparison
    | Mark
    | Name
)
