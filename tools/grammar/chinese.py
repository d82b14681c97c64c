"""Chinese: measure words, 的, 了 and 没, 在 with its place words, topics before their comment."""

from __future__ import annotations

from tools.grammar.tree import (
    Action,
    Adjective,
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

NUMBERS = {"a": "一", "one": "一", "two": "两", "three": "三", "four": "四"}
POINTED = {"man", "woman"}  # 猫 may be the cat, but 男人 alone is any man: the man is 那个男人
POSSESSIVES = {"my": "我", "his": "他", "her": "她", "our": "我们"}


def say(sentence: Sentence) -> str:
    """A tree as a Chinese sentence."""
    match sentence:
        case Action():
            return timed(sentence.subject, sentence.time, predicate(sentence)) + end(sentence)
        case Wish():
            verb = ("不" if sentence.negated else "") + ("想" if sentence.wanting else "喜欢")
            at = place(sentence.place) if sentence.place else ""
            where = "在" + at if at and "{p}" not in sentence.verb.chinese else ""
            thing = undergoing(sentence)
            doing = sentence.verb.chinese.format(o=thing, p=at)
            return subject(sentence.subject) + verb + where + doing + "。"
        case Command():
            return sentence.verb.chinese.format(o=done_to(sentence.verb, sentence.object)) + "。"
        case State():
            return timed(sentence.subject, sentence.time, quality(sentence)) + end(sentence)
        case Location():
            verb = "在"
            if sentence.tense is Tense.FUTURE:
                verb = "不会在" if sentence.negated else "会在"
            elif sentence.negated:
                verb = "不在"
            return timed(sentence.subject, sentence.time, verb + place(sentence.place)) + end(
                sentence
            )
        case Where():
            return subject(sentence.subject) + "在哪里？"
        case Existence():
            verb = "没有" if sentence.negated else "有"
            what = bare(sentence.what) if sentence.negated else noun_phrase(sentence.what)
            return place(sentence.place) + verb + what + end(sentence)
        case HowMany():
            return (
                place(sentence.place)
                + "有几"
                + sentence.noun.measure
                + sentence.noun.chinese
                + "？"
            )
        case Comparison():
            than = ("不比" if sentence.negated else "比") + noun_phrase(sentence.other)
            quality_word = attributive(sentence.adjective, sentence.subject).removesuffix("的")
            return subject(sentence.subject) + than + quality_word + "。"
        case Mark():
            owner = subject(sentence.owner)
            return f"{owner}的{sentence.part.chinese}上有{noun_phrase(sentence.mark)}。"
        case Name():
            return noun_phrase(sentence.phrase) + "。"


def end(sentence: Action | State | Location | Existence) -> str:
    return "吗？" if sentence.question else "。"


def timed(who: Subject, time: Time | None, rest: str) -> str:
    """When comes first, or right after who: 昨天猫…, 猫每天都…"""
    if time is None:
        return subject(who) + rest
    if time.after_subject:
        return subject(who) + time.chinese + rest
    return time.chinese + subject(who) + rest


# Who does not see cannot: 看不见, not 不看见.
UNABLE = {"看见": "看不见", "听见": "听不见"}


def predicate(sentence: Action) -> str:
    """Negation or aspect, place, verb and object: 没在花园里吃苹果, 正在睡觉, 会来."""
    verb, tense, negated = sentence.verb, sentence.tense, sentence.negated
    rules_place = "{p}" in verb.chinese
    where = "在" + place(sentence.place) if sentence.place and not rules_place else ""
    frame = verb.chinese
    if tense is Tense.PAST and not negated:
        if verb.objects or not where:
            frame = verb.chinese_past or frame
        elif sentence.question:
            frame += "了"
    doing = frame.format(
        o=undergoing(sentence),
        r=noun_phrase(sentence.recipient) if sentence.recipient else "",
        p=place(sentence.place) if sentence.place else "",
    )
    if doing.startswith("有") and negated:
        return {Tense.FUTURE: "不会", Tense.PRESENT: "没", Tense.PAST: "没"}[tense] + doing
    if negated and tense is Tense.PRESENT and doing[:2] in UNABLE:
        return where + UNABLE[doing[:2]] + doing[2:]
    match tense:
        case Tense.FUTURE:
            before = "不会" if negated else "会"
        case Tense.PROGRESSIVE if negated:
            before = "没" if where else "没在"
        case Tense.PROGRESSIVE:
            before = "正" if where else "正在"
        case Tense.PAST if negated:
            before = "不" if verb.state and not doing.startswith("在") else "没"
        case _:
            before = "不" if negated else ""
    return before + where + doing


def quality(sentence: State) -> str:
    """很 grades, 是…的 classes: 猫很大, 猫是黑色的."""
    adjective, negated = sentence.adjective, sentence.negated
    _, form = adjective.chinese[-1]
    future = sentence.tense is Tense.FUTURE
    will = "不会" if future and negated else "会" if future else "不" if negated else ""
    if adjective.colour:
        return f"{will}是{form}色的"
    if form.startswith("是"):
        return will + form.removesuffix("的") + "的"
    word = attributive(adjective, sentence.subject).removesuffix("的")
    return will + word if negated or sentence.question else will + "很" + word


def subject(who: Subject) -> str:
    return noun_phrase(who) if isinstance(who, NounPhrase) else who.chinese


def place(where: Place) -> str:
    return noun_phrase(where.ground) + where.preposition.chinese


def attributive(adjective: Adjective, who: Subject | Noun) -> str:
    """The form an adjective takes before this noun: 老猫, 旧书, 古老的塔."""
    noun = who if isinstance(who, Noun) else who.noun if isinstance(who, NounPhrase) else None
    kinds = noun.kinds if noun else frozenset({"person"})
    for kind, form in adjective.chinese:
        if not kind or kind in kinds:
            return form.removeprefix("是")
    raise AssertionError(f"{adjective.key} has no Chinese form for all nouns")


def bare(phrase: NounPhrase) -> str:
    """Adjectives and noun: those with 的 first, the short ones joined to the noun."""
    noun = phrase.noun.chinese
    near, far = "", ""
    colours = [adjective for adjective in phrase.adjectives if adjective.colour]
    for adjective in phrase.adjectives:
        if adjective.colour:
            continue
        form = attributive(adjective, phrase.noun)
        if form.endswith("的"):
            far += form
        else:
            near += form
    for adjective in colours:
        _, form = adjective.chinese[-1]
        if far:  # 毛茸茸的蓝色生物, but 毛茸茸的黑猫
            far += form if len(noun) == 1 else form + "色"
        else:
            far = form + "色的"
    text = far + near + noun
    if phrase.substance:
        text += phrase.substance.chinese
    if phrase.at:
        text = owned(phrase.at) + "的" + text
    return text


def undergoing(sentence: Action | Wish) -> str:
    """The object; nobody denies "one apple": after a negation an indefinite has no number."""
    if sentence.object is None:
        return ""
    if sentence.negated and sentence.object.determiner in ("a", "some"):
        return bare(sentence.object)
    return done_to(sentence.verb, sentence.object)


def done_to(verb: Verb, thing: NounPhrase) -> str:
    """An object: a bare 书 would be any book, so "the book" is 那本书; a goal stays bare."""
    goal = verb.objects & {"goal", "outdoors"} or "landmark" in thing.noun.kinds
    if thing.determiner != "the" or thing.plural or thing.at or goal:
        return noun_phrase(thing)
    return "那" + thing.noun.measure + bare(thing)


def owned(at: Place) -> str:
    """Where a thing is, before the thing: 花园里, 我胳膊上."""
    if "body" not in at.ground.noun.kinds:
        return place(at)
    return POSSESSIVES[at.ground.determiner] + at.ground.noun.chinese + at.preposition.chinese


def noun_phrase(phrase: NounPhrase) -> str:
    """Number and measure word, or 这些, 那些, 们; a bare noun where English says "the"."""
    rest = bare(phrase)
    match phrase.determiner:
        case "bare" | "mass" | "partitive" | "kind" | "any":
            return rest
        case "the" if phrase.plural:
            named = "person" in phrase.noun.kinds and phrase.noun.key not in POINTED
            return rest + "们" if named else "那些" + rest
        case "the" if phrase.noun.key in POINTED and not phrase.at:
            return "那" + phrase.noun.measure + rest
        case "the":
            return rest
        case "some":
            return "一些" + rest
        case "this":
            return "这" + phrase.noun.measure + rest
        case "these":
            return "这些" + rest
        case ("a" | "one" | "two" | "three" | "four") as count:
            return NUMBERS[count] + phrase.noun.measure + rest
        case "the two" | "the three" | "the four" as count:
            return "那" + NUMBERS[count.removeprefix("the ")] + phrase.noun.measure + rest
        case owner:
            # 我的猫, but 我黑色的猫: one 的 is enough
            return POSSESSIVES[owner] + (rest if "的" in rest else "的" + rest)
