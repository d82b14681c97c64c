"""French: gender and number, elision, contraction, ne … pas, and four tenses."""

from __future__ import annotations

from tools.grammar.tree import (
    Action,
    Adjective,
    Command,
    Comparison,
    Existence,
    FrenchVerb,
    HowMany,
    Location,
    Mark,
    Name,
    NounPhrase,
    Place,
    Sentence,
    State,
    Subject,
    Tense,
    Where,
    Wish,
)
from tools.grammar.verbs import french_verb

VOWELS = "aeiouhâàéèêîôûœAEIO"  # every h in the lexicon is silent: l'homme, l'hôpital
NUMBERS = {"two": "deux", "three": "trois", "four": "quatre"}
POSSESSIVES = {
    "my": ("mon", "ma", "mes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
}
IMPERFECT = ("ais", "ait", "ions", "aient")
FUTURE = ("ai", "a", "ons", "ont")
# What a set phrase turns into after pas: creuse un trou, ne creuse pas de trou.
AFTER_PAS = {"un trou": "de trou", "une biopsie": "de biopsie", "bien": ""}


def say(sentence: Sentence) -> str:
    """A tree as a French sentence."""
    text = parts(sentence)
    return text[0].upper() + text[1:] + (" ?" if asks(sentence) else ".")


def asks(sentence: Sentence) -> bool:
    match sentence:
        case Where() | HowMany():
            return True
        case Action() | State() | Location() | Existence():
            return sentence.question
        case _:
            return False


def parts(sentence: Sentence) -> str:
    match sentence:
        case Action():
            return action(sentence)
        case Wish():
            matrix = french_verb("vouloir" if sentence.wanting else "aimer")
            finite = conjugate(sentence.subject, matrix, Tense.PRESENT, sentence.negated)
            verb = sentence.verb.french
            tail = AFTER_PAS.get(verb.tail, verb.tail) if sentence.negated else verb.tail
            return joined(finite, verb.infinitive, tail, *complements(sentence))
        case Command():
            verb = sentence.verb.french
            stem = verb.present[2].removesuffix("ons")
            imperative = "faites" if verb.infinitive == "faire" else stem + "ez"
            thing = governed(sentence.verb.french_preposition, sentence.object)
            return joined(imperative, verb.tail, thing)
        case State():
            predicate = agreed(sentence.adjective, sentence.subject)
            return copula(sentence, predicate)
        case Location():
            return copula(sentence, place(sentence.place))
        case Where():
            form = number(sentence.subject)
            return joined("où", french_verb("être").present[form], subject(sentence.subject))
        case Existence():
            return existence(sentence)
        case HowMany():
            counted = elided("de", sentence.noun.french_plural)
            return joined("combien", counted, "y a-t-il", place(sentence.place))
        case Comparison():
            finite = conjugate(
                sentence.subject, french_verb("être"), Tense.PRESENT, sentence.negated
            )
            than = elided("que", noun_phrase(sentence.other))
            return joined(finite, "plus", agreed(sentence.adjective, sentence.subject), than)
        case Mark():
            finite = conjugate(sentence.owner, french_verb("avoir"), Tense.PRESENT, False)
            part = "sur " + noun_phrase(NounPhrase(sentence.part, "the"))  # French: on the arm
            return joined(finite, noun_phrase(sentence.mark), part)
        case Name():
            return noun_phrase(sentence.phrase)


def action(sentence: Action) -> str:
    verb = sentence.verb
    tense = sentence.tense
    clause = conjugate(sentence.subject, verb.french, tense, sentence.negated, imperfect=verb.state)
    clause = joined(clause, *complements(sentence))
    return asked(clause) if sentence.question else clause


def complements(sentence: Action | Wish) -> list[str]:
    """What follows the verb: object, recipient, place, time."""
    words = []
    if sentence.object:
        preposition = sentence.verb.french_preposition
        words.append(governed(preposition, sentence.object, after_pas=sentence.negated))
    if isinstance(sentence, Action) and sentence.recipient:
        words.append(contracted("à", noun_phrase(sentence.recipient)))
    if sentence.place:
        words.append(place(sentence.place))
    if isinstance(sentence, Action) and sentence.time:
        words.append(sentence.time.french)
    return words


def governed(preposition: str, thing: NounPhrase, after_pas: bool = False) -> str:
    """An object behind the preposition its verb wants; after pas, un and du become de."""
    if after_pas and thing.determiner in ("a", "some", "any", "partitive") and not preposition:
        return elided("de", bare(thing))
    return contracted(preposition, noun_phrase(thing)) if preposition else noun_phrase(thing)


def copula(sentence: State | Location, predicate: str) -> str:
    be = french_verb("être")
    verb = conjugate(sentence.subject, be, sentence.tense, sentence.negated, imperfect=True)
    clause = joined(verb, predicate, sentence.time.french if sentence.time else "")
    return asked(clause) if sentence.question else clause


def existence(sentence: Existence) -> str:
    if sentence.negated:
        what = elided("de", bare(sentence.what))
        return joined("il n'y a pas", what, place(sentence.place))
    clause = joined("il y a", noun_phrase(sentence.what), place(sentence.place))
    return asked(clause) if sentence.question else clause


def asked(clause: str) -> str:
    return "est-ce " + elided("que", clause)


def conjugate(
    who: Subject, verb: FrenchVerb, tense: Tense, negated: bool, imperfect: bool = False
) -> str:
    """Subject and verb: "le chat n'a pas dormi", "nous sommes allés", "j'aime"."""
    form, tail = number(who), verb.tail
    match tense:
        case Tense.PRESENT | Tense.PROGRESSIVE:
            finite, participle = verb.present[form], ""
        case Tense.FUTURE:
            finite, participle = verb.future_stem + FUTURE[form], ""
        case Tense.PAST if imperfect:
            stem = "ét" if verb.infinitive == "être" else verb.present[2].removesuffix("ons")
            finite, participle = stem + IMPERFECT[form], ""
        case Tense.PAST:
            auxiliary = french_verb("être" if verb.with_etre else "avoir")
            ending = gender_ending(who) if verb.with_etre else ""
            finite, participle = auxiliary.present[form], verb.participle + ending
    if negated:
        finite, tail = elided("ne", finite) + " pas", AFTER_PAS.get(tail, tail)
    predicate = joined(finite, participle, tail)
    name = subject(who)
    return elided(name, predicate) if name == "je" else joined(name, predicate)


def number(who: Subject) -> int:
    """Which form of the verb a subject takes: je, il, nous or ils."""
    if isinstance(who, NounPhrase) or who.person == 3:
        return 3 if who.plural else 1
    return 2 if who.plural else 0


def feminine(who: Subject) -> bool:
    return who.noun.feminine if isinstance(who, NounPhrase) else who.feminine


def gender_ending(who: Subject) -> str:
    return ("e" if feminine(who) else "") + ("s" if who.plural else "")


def subject(who: Subject) -> str:
    return noun_phrase(who) if isinstance(who, NounPhrase) else who.french


def agreed(adjective: Adjective, who: Subject) -> str:
    return adjective.french[feminine(who) + 2 * who.plural]


def place(where: Place) -> str:
    return contracted(where.preposition.french, noun_phrase(where.ground))


def bare(phrase: NounPhrase) -> str:
    """Adjectives and noun in order, without a determiner: "petit chat noir"."""
    plural, woman = phrase.plural, phrase.noun.feminine
    words = [phrase.noun.french_plural if plural else phrase.noun.french]
    after = [adjective for adjective in phrase.adjectives if not adjective.before]
    if after:
        words.append(" et ".join(adjective.french[woman + 2 * plural] for adjective in after))
    for adjective in phrase.adjectives:
        if adjective.before:
            form = adjective.french[woman + 2 * plural]
            if not plural and not woman and words[0][0] in VOWELS:
                form = adjective.french[4]
            words.insert(0, form)
    if phrase.substance:
        words.append(elided("de", phrase.substance.french))
    if phrase.at:
        words.append(place(phrase.at))
    return joined(*words)


def noun_phrase(phrase: NounPhrase) -> str:
    """Determiner and the rest, agreed and elided: "l'homme", "de vieux livres", "cet arbre"."""
    rest = bare(phrase)
    vowel, plural, woman = rest[:1] in tuple(VOWELS), phrase.plural, phrase.noun.feminine
    match phrase.determiner:
        case "bare":
            return rest
        case "the" | "mass" | "kind":
            article = "les" if plural else "la" if woman else "le"
            return elided(article, rest)
        case "partitive":
            return contracted("de", elided("la" if woman else "le", rest))
        case "a" | "one":
            return joined("une" if woman else "un", rest)
        case "some" | "any":
            first = phrase.adjectives and phrase.adjectives[0].before
            return elided("de", rest) if first else joined("des", rest)
        case "this":
            return joined("cette" if woman else "cet" if vowel else "ce", rest)
        case "these":
            return joined("ces", rest)
        case "two" | "three" | "four" as count:
            return joined(NUMBERS[count], rest)
        case "the two" | "the three" | "the four" as count:
            return joined("les", NUMBERS[count.removeprefix("the ")], rest)
        case owner:
            masculine, feminine_form, plural_form = POSSESSIVES[owner]
            singular = feminine_form if woman and not vowel else masculine
            return joined(plural_form if plural else singular, rest)


def elided(word: str, following: str) -> str:
    """A short word before another: le, la, de, ne, que, je lose their vowel before a vowel."""
    if following[0] in VOWELS and word in ("le", "la", "de", "ne", "que", "je"):
        return word[:-1] + "'" + following
    return f"{word} {following}"


def contracted(preposition: str, phrase: str) -> str:
    """A preposition before a phrase: de + le is du, de + les des, à + le au, à + les aux."""
    head, _, last = preposition.rpartition(" ")
    for article, of, to in (("le ", "du ", "au "), ("les ", "des ", "aux ")):
        if last in ("de", "à") and phrase.startswith(article):
            short = of if last == "de" else to
            return joined(head, short + phrase.removeprefix(article))
    return joined(head, elided(last, phrase))


def joined(*words: str) -> str:
    return " ".join(word for word in words if word)
