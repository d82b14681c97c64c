"""English: a or an, plural, do-support, the third person's s."""

from __future__ import annotations

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
    Tense,
    Where,
    Wish,
)

SILENT = {"bare", "mass", "partitive", "kind", "any"}  # determiners English leaves out


def say(sentence: Sentence) -> str:
    """A tree as an English sentence."""
    words, mark = parts(sentence)
    text = " ".join(word for word in words if word)
    return text[0].upper() + text[1:] + mark


def parts(sentence: Sentence) -> tuple[list[str], str]:
    match sentence:
        case Action():
            return action(sentence)
        case Wish():
            return wish(sentence), "."
        case Command():
            verb = sentence.verb
            return [verb.english[0], verb.english_preposition, noun_phrase(sentence.object)], "."
        case State():
            return copula(sentence, sentence.adjective.english)
        case Location():
            return copula(sentence, place(sentence.place))
        case Where():
            return ["where", be(sentence.subject), subject(sentence.subject)], "?"
        case Existence():
            return existence(sentence)
        case HowMany():
            noun = sentence.noun.english_plural
            return ["how many", noun, "are there", place(sentence.place)], "?"
        case Comparison():
            than = ["than", noun_phrase(sentence.other)]
            finite = [be(sentence.subject), "not" if sentence.negated else ""]
            return [subject(sentence.subject), *finite, sentence.adjective.comparative, *than], "."
        case Mark():
            has = "has" if third_person(sentence.owner) else "have"
            part = ["on", sentence.owner_possessive, sentence.part.english]
            return [subject(sentence.owner), has, noun_phrase(sentence.mark), *part], "."
        case Name():
            return [noun_phrase(sentence.phrase)], "."


def action(sentence: Action) -> tuple[list[str], str]:
    base, third, past, progressive = sentence.verb.english
    who, negation = sentence.subject, "not" if sentence.negated else ""
    plain = not sentence.negated and not sentence.question
    match sentence.tense:
        case Tense.PROGRESSIVE:
            auxiliary, main = be(who), progressive
        case Tense.FUTURE:
            auxiliary, main = "will", base
        case Tense.PAST if plain:
            auxiliary, main = "", past
        case Tense.PRESENT if plain:
            auxiliary, main = "", third if third_person(who) else base
        case Tense.PAST:
            auxiliary, main = "did", base
        case _:
            auxiliary, main = "does" if third_person(who) else "do", base
    if sentence.question:
        start = [auxiliary, subject(who), negation, main]
    else:
        start = [subject(who), auxiliary, negation, main]
    return [*start, *complements(sentence)], "?" if sentence.question else "."


def complements(sentence: Action | Wish) -> list[str]:
    """What follows the verb: object, recipient, place, time."""
    preposition = sentence.verb.english_preposition
    words = []
    if isinstance(sentence, Action) and sentence.recipient and sentence.object:
        words += [noun_phrase(sentence.object), preposition, noun_phrase(sentence.recipient)]
    elif sentence.object:
        words += [preposition, noun_phrase(sentence.object)]
    if sentence.place:
        words.append(place(sentence.place))
    if isinstance(sentence, Action) and sentence.time:
        words.append(sentence.time.english)
    return words


def wish(sentence: Wish) -> list[str]:
    base, _, _, progressive = sentence.verb.english
    who, third = sentence.subject, third_person(sentence.subject)
    matrix = "want" if sentence.wanting else "like"
    doing = ["to", base] if sentence.wanting else [progressive]
    if sentence.negated:
        finite = ["does" if third else "do", "not", matrix]
    else:
        finite = [matrix + "s" if third else matrix]
    return [subject(who), *finite, *doing, *complements(sentence)]


def copula(sentence: State | Location, predicate: str) -> tuple[list[str], str]:
    who, negation = sentence.subject, "not" if sentence.negated else ""
    time = sentence.time.english if sentence.time else ""
    if sentence.tense is Tense.FUTURE:
        return [subject(who), "will", negation, "be", predicate, time], "."
    verb = was(who) if sentence.tense is Tense.PAST else be(who)
    if sentence.question:
        return [verb, subject(who), negation, predicate, time], "?"
    return [subject(who), verb, negation, predicate, time], "."


def existence(sentence: Existence) -> tuple[list[str], str]:
    verb = "are" if sentence.what.plural else "is"
    if sentence.question:
        return [verb, "there", noun_phrase(sentence.what), place(sentence.place)], "?"
    if sentence.negated:
        without = NounPhrase(sentence.what.noun, "no", False, sentence.what.adjectives)
        return ["there", "is", noun_phrase(without), place(sentence.place)], "."
    return ["there", verb, noun_phrase(sentence.what), place(sentence.place)], "."


def third_person(who: Subject) -> bool:
    """Whether a verb in the present takes its s."""
    return not who.plural and (isinstance(who, NounPhrase) or who.person == 3)


def be(who: Subject) -> str:
    if who.plural:
        return "are"
    return "is" if third_person(who) else "am"


def was(who: Subject) -> str:
    return "were" if who.plural else "was"


def subject(who: Subject) -> str:
    return noun_phrase(who) if isinstance(who, NounPhrase) else who.english


def place(where: Place) -> str:
    return f"{where.preposition.english} {noun_phrase(where.ground)}"


def noun_phrase(phrase: NounPhrase) -> str:
    """Determiner, adjectives, noun: "a fluffy blue creature", "two moles of water"."""
    noun = phrase.noun.english_plural if phrase.plural else phrase.noun.english
    words = [*(adjective.english for adjective in phrase.adjectives), noun]
    if phrase.substance:
        words += ["of", phrase.substance.english]
    if phrase.at:
        words.append(place(phrase.at))
    determiner = phrase.determiner
    if determiner == "a" and words[0][0] in "aeiouAEIO":
        determiner = "an"
    return " ".join(words if determiner in SILENT else [determiner, *words])
