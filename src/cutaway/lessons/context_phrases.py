"""Words that belong together: a noun and its adjectives, a pronoun and its noun.

Part of the lesson `context`.
"""

from collections.abc import Iterator

import torch

from cutaway.decode import Translator
from cutaway.lessons.encoder_reading import Reading
from cutaway.lessons.fine_tuning import Tuned, it_sentences, taught_it
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Series, Step
from cutaway.lessons.section import Sections
from cutaway.lessons.trained_run import angle, target_language

TEXT = Sections("context")
CREATURE = "A fluffy blue creature roamed the verdant forest."
OWN = {"creature": ("fluffy", "blue"), "forest": ("verdant",)}  # noun → its adjectives
SWAPS = (("blue", "green"), ("creature", "duck"), ("forest", "park"))


def phrase_steps(translator: Translator, inputs: LessonInputs) -> Iterator[Step]:
    """Every position at once, adjectives and nouns, the pronoun "it"."""
    sentence = inputs.choice("sentence", CREATURE)
    yield _every_position(Reading(translator, sentence))
    creature = Reading(translator, CREATURE)
    yield _adjectives(creature)
    yield _swaps(translator, creature)
    if it_sentences(target_language(translator)):
        yield _pronoun(taught_it(translator), inputs.choice("noun", "cow"))


def _every_position(reading: Reading) -> Step:
    """Every word gets its own ΔE in the same step."""
    words = reading.words
    updates = [reading.updates(number) for number in range(len(words))]
    error = max(update.error for row in updates for update in row)
    flow = torch.stack(
        [sum(update.parts.sum(0).norm(dim=1) for update in row) for row in updates]
    )  # (words, words)
    taken = flow.clone().fill_diagonal_(0)
    place = int(taken.argmax())
    section = TEXT.section(
        "every-position",
        sentence=reading.run.sentence,
        output=reading.run.text,
        count=sum(map(len, updates)),
        error=error,
        taker=words[place // len(words)],
        giver=words[place % len(words)],
    )
    section.matrix("flow", flow, words, words, digits=1)
    section.claim("sum", error < 1e-4)
    section.control("sentence", "text", reading.run.sentence)
    return section.step(
        "E5", "E9", trace=reading.run.trace, show="encoder.layers.0.self_attention.output[0,0,0]"
    )


def adjective_shares(reading: Reading) -> dict[str, dict[str, float]]:
    """Noun → adjective → length of what the adjective adds to it, over all layers and heads."""
    adjectives = [word for own in OWN.values() for word in own]
    return {
        noun: {
            word: sum(
                float(update.parts[:, reading.number(word)].sum(0).norm())
                for update in reading.updates(noun)
            )
            for word in adjectives
        }
        for noun in OWN
    }


def _adjectives(reading: Reading) -> Step:
    """What each adjective adds to each noun, and in which head the noun asks for it most."""
    shares = adjective_shares(reading)
    adjectives = list(shares["creature"])
    layers = reading.model.config.encoder_layers
    weight, layer, head, word = max(
        (float(weights[reading.number(word)]), layer, head, word)
        for layer in range(layers)
        for head, weights in enumerate(reading.weights("creature", layer))
        for word in OWN["creature"]
    )
    part = f"encoder.layers.{layer}.self_attention"
    creature = reading.place("creature")
    scores = reading.numbers(f"{part}.scaled")[0, head, creature]
    weights = reading.numbers(f"{part}.weights")[0, head, creature]
    section = TEXT.section(
        "adjectives",
        layer=layer + 1,
        head=head + 1,
        word=word,
        weight=weight,
        **{
            f"{noun}_{adjective}": shares[noun][adjective]
            for noun in OWN
            for adjective in adjectives
        },
    )
    own = {noun: max(shares[noun][word] for word in OWN[noun]) for noun in OWN}
    other = {noun: max(shares[noun][w] for w in adjectives if w not in OWN[noun]) for noun in OWN}
    section.matrix(
        "scores",
        torch.stack([scores, weights]),
        section.labels("score", "weight"),
        reading.run.source,
        digits=2,
    )
    section.matrix(
        "added",
        [list(row.values()) for row in shares.values()],
        list(shares),
        adjectives,
        digits=2,
    )
    for noun in OWN:
        section.claim(noun, own[noun] > other[noun])
    return section.step(
        "E5",
        trace=reading.run.trace,
        show=f"{part}.softmax[0,{head},{creature},{reading.place(word)}]",
    )


def turned_by(translator: Translator, before: Reading) -> list[dict[str, float]]:
    """For each swap: by how many degrees the memory vector of each watched word turns."""
    watched = [word for noun, own in OWN.items() for word in (*own, noun)]
    old = {word: before.stations(word)[-1] for word in watched}
    turned = []
    for gone, come in SWAPS:
        after = Reading(translator, CREATURE.replace(gone, come))
        now = {word: after.stations(come if word == gone else word)[-1] for word in watched}
        turned.append({word: angle(old[word], now[word]) for word in watched})
    return turned


def _swaps(translator: Translator, before: Reading) -> Step:
    """Swap one word and measure how far the finished vectors of the others turn."""
    turned = turned_by(translator, before)
    colour, noun, place = turned
    adjective = max(noun["fluffy"], noun["blue"])
    direction = "to-adjective" if adjective > colour["creature"] else "to-noun"
    section = TEXT.section(
        "swaps",
        creature=colour["creature"],
        forest=colour["forest"],
        fluffy=noun["fluffy"],
        blue=noun["blue"],
        verdant=noun["verdant"],
        direction=TEXT.section(direction).said("body"),
    )
    section.matrix(
        "turned",
        [list(row.values()) for row in turned],
        [f"{gone} → {come}" for gone, come in SWAPS],
        list(colour),
        digits=1,
    )
    section.claim("noun", adjective > noun["verdant"])
    section.claim("forest", place["verdant"] > place["blue"])
    return section.step(
        "E5", trace=before.run.trace, show="encoder.layers.0.self_attention.softmax[0,0,0,0]"
    )


def _pronoun(tuned: Tuned, noun: str) -> Step:
    """Where each head looks from the word "it", in a copy of the model that was taught "it"."""
    nouns = sorted({one.noun for one in tuned.sentences})
    chosen = next((s for s in tuned.sentences if s.noun == noun), tuned.sentences[0])
    reading = Reading(tuned.translator, chosen.source)
    layers = range(reading.model.config.encoder_layers)
    rows = [reading.weights("it", layer) for layer in layers]  # (H, words) each
    right = sum(tuned.pronoun_right(one) for one in tuned.unseen)
    column = reading.number(chosen.noun)
    weight, layer, head = max(
        (float(row[head, column]), layer, head)
        for layer, row in enumerate(rows)
        for head in range(len(row))
    )
    names = TEXT.numbered("head", "name", len(rows[0]))
    section = TEXT.section(
        "pronoun",
        noun=chosen.noun,
        sentence=chosen.source,
        output=reading.run.text,
        taught=len(tuned.taught),
        right=right,
        count=len(tuned.unseen),
        layer=layer + 1,
        head=head + 1,
        weight=weight,
    )
    sections = [TEXT.section("layer", number=number + 1) for number in layers]
    for named, row in zip(sections, rows, strict=True):
        section.matrix("it", row, names, reading.words, digits=2, named=named)
    bars = [
        Series(name, range(len(reading.words)), weights.tolist(), reading.words)
        for name, weights in zip(names, rows[layer], strict=True)
    ]
    section.picture("it", "bars", *bars, named=sections[layer])
    section.claim("pronouns", right == len(tuned.unseen))
    section.control("noun", "option", chosen.noun, nouns)
    cell = f"[0,{head},{reading.place('it')},{reading.place(chosen.noun)}]"
    return section.step(
        "C12", trace=reading.run.trace, show=f"encoder.layers.{layer}.self_attention.softmax{cell}"
    )
