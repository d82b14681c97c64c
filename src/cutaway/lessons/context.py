"""What context does to a word: its vector at each stage, ΔE and its parts.

ΔE_i = Σ_head Σ_j weight_ij · value_j W_O + b_O, and E′ = E + ΔE
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import torch
from torch import Tensor

from cutaway.corpus.embedded import chosen_sentences
from cutaway.decode import Translator
from cutaway.lessons.context_phrases import phrase_steps
from cutaway.lessons.encoder_reading import WORD, Reading
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.section import Section, Sections
from cutaway.lessons.texts import LocalizedText
from cutaway.lessons.trained_run import angle, pair_name

TEXT = Sections("context")
SENSES = {"en-fr": ("taupe", "mole", "grain de beauté"), "en-zh": ("鼹鼠", "摩尔", "痣")}
TOWERS = ("tower", "Eiffel tower", "miniature Eiffel tower")
SHOWN = 8  # dimensions of a vector in a table


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """The lesson, step by step."""
    translator = inputs.translator
    every = examples(translator, "mole")
    moles = [one for one in every if one.word == "mole"]  # the plural has a row of its own
    yield _moles(translator, every, moles)
    yield _angles("senses", moles)
    yield _transplant(translator, moles)
    yield _parts(moles)
    yield _towers(examples(translator, "tower"))
    yield from phrase_steps(translator, inputs)


@dataclass(frozen=True)
class Example:
    """A sentence with a word of several meanings, read by the model."""

    translator: Translator
    text: str
    word: str
    expected: str | None  # None for a language pair the package has no translation for
    group: str  # which meaning: "taupe", or "Eiffel tower"
    seen: bool  # it is in the embedded corpus's training data

    @cached_property
    def reading(self) -> Reading:
        """The sentence as the encoder reads it."""
        return Reading(self.translator, self.text)

    @property
    def output(self) -> str:
        """The model's translation."""
        return self.reading.run.text


def examples(translator: Translator, word: str) -> list[Example]:
    """Sentences of the corpus and new ones with "mole(s)" or "tower", each with its meaning."""
    pair = pair_name(translator)
    known = pair if pair in SENSES else "en-fr"
    found = []
    for sentences in ("known", "unseen"):
        for text, target in chosen_sentences(known, sentences):
            form = next((one for one in WORD.findall(text) if one in (word, f"{word}s")), None)
            if form is not None:
                group = _sense(known, target) if word == "mole" else _tower(text)
                expected = target if known == pair else None
                seen = sentences == "known"
                found.append(Example(translator, text, form, expected, group, seen))
    return found


def _sense(pair: str, target: str) -> str:
    return next(sense for sense in SENSES[pair] if sense in target.lower())


def _tower(text: str) -> str:
    return max((kind for kind in TOWERS if kind in text), key=len)


def _listed(section: Section, chosen: Sequence[Example]) -> LocalizedText:
    """One line per sentence: translation, whether it was in the training data."""
    labels = {True: section.label("seen"), False: section.label("unseen")}
    return LocalizedText(
        {
            language: "".join(
                f"\n  {one.text} → {one.output}   ({labels[one.seen].in_language(language)})"
                for one in chosen
            )
            for language in section.parts
        }
    )


def _moles(translator: Translator, every: Sequence[Example], moles: Sequence[Example]) -> Step:
    pair = pair_name(translator)
    tokens = torch.stack([one.reading.stations("mole")[0] for one in moles])
    same = bool((tokens == tokens[0]).all())
    new = [one for one in every if not one.seen]
    right = sum(one.group in one.output.lower() for one in new)
    names = TEXT.section("names")
    section = TEXT.section(
        "moles",
        lines=_listed(names, every),
        senses=", ".join(SENSES.get(pair, ())),
        right=right,
        count=len(new),
    )
    section.claim("same", same)
    if pair in SENSES:
        section.claim("senses", right == len(new))
    shown = moles[-1]
    section.matrix(
        "row",
        tokens[:, :SHOWN],
        [f"“{one.text}”" for one in moles],
        [f"d{number}" for number in range(SHOWN)],
        digits=3,
    )
    return section.step(
        "E4",
        trace=shown.reading.run.trace,
        show=f"embedding.tokens[0,{shown.reading.place('mole')},0]",
    )


def grouped_angles(chosen: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Mean angle between sentences at each stage: of the same meaning, of different meanings."""
    stations = [one.reading.stations(one.word) for one in chosen]
    rows: dict[bool, list[list[float]]] = {True: [], False: []}
    for a, b in combinations(range(len(chosen)), 2):
        degrees = [angle(x, y) for x, y in zip(stations[a], stations[b], strict=True)]
        rows[chosen[a].group == chosen[b].group].append(degrees)
    same, different = (torch.tensor(rows[kind]).mean(0) for kind in (True, False))
    return same, different


def _angles(key: str, chosen: Sequence[Example]) -> Step:
    same, different = grouped_angles(chosen)
    names = TEXT.section("names")
    layers = TEXT.numbered("layer", "name", len(same) - 3)
    stages = [*names.labels("table", "position"), *layers, names.label("memory")]
    most = stages[int(different[1:].diff().argmax()) + 2]  # of the layers, not of the position
    section = TEXT.section(
        key,
        most=most,
        start=float(different[1]),
        same=float(same[-1]),
        different=float(different[-1]),
    )
    places = list(range(len(stages)))
    reading = chosen[0].reading
    section.matrix(
        "degrees",
        torch.stack([same, different]),
        section.labels("same", "different"),
        stages,
        digits=1,
    )
    section.picture(
        "degrees",
        "curves",
        section.series("same", places, same.tolist()),
        section.series("different", places, different.tolist()),
    )
    section.claim("wider", float(different[-1]) > float(different[1]))
    section.claim("apart", float(different[-1]) > float(same[-1]))
    return section.step(
        "E4",
        trace=reading.run.trace,
        show=f"{reading.run.memory}[0,{reading.place(chosen[0].word)},0]",
    )


def transplanted(translator: Translator, into: Example, source: Example) -> str:
    """The translation with one memory vector replaced by that of the word in another sentence."""
    model, special = translator.model, translator.special
    most = 2 * into.reading.run.source_ids.shape[1] + 8
    with torch.no_grad():
        memory = model.encode(into.reading.run.source_ids)
        other = model.encode(source.reading.run.source_ids)
        memory[0, into.reading.place(into.word)] = other[0, source.reading.place(source.word)]
        ids = [special.start]
        while len(ids) < most and (len(ids) == 1 or ids[-1] != special.end):
            logits = model.project(model.decode(torch.tensor([ids]), memory))[0, -1]
            logits[list(special.forbidden)] = -torch.inf
            ids.append(int(logits.argmax()))
    return translator.target_tokenizer.decode(ids)


def _transplant(translator: Translator, moles: Sequence[Example]) -> Step:
    """Does the vector carry the sense? Put it into another sentence and see."""
    chosen = list({one.group: one for one in moles}.values())  # unseen ones where there are any
    lines, found, followed, kept, count = [], [], 0, 0, 0
    for into in chosen:
        for source in chosen:
            if source.group == into.group:
                continue
            output = transplanted(translator, into, source)
            followed += source.group in output.lower()
            kept += into.group in output.lower()
            count += 1
            found.append([float(one.group in output.lower()) for one in chosen])
            lines.append(f"  {into.text} + {source.group} → {output}")
    same = all(transplanted(translator, one, one) == one.output for one in chosen)
    section = TEXT.section(
        "transplant", lines="\n" + "\n".join(lines), followed=followed, kept=kept, count=count
    )
    senses = [one.group for one in chosen]
    rows = [f"{a} ← {b}" for a in senses for b in senses if a != b]
    section.matrix("written", found, rows, senses, digits=0)
    section.claim("own", same)
    return section.step("E4")


def _parts(moles: Sequence[Example]) -> Step:
    """ΔE of "mole" split by head and by word, in every layer."""
    reading = next((one for one in moles if not one.seen), moles[-1]).reading
    updates = reading.updates("mole")
    first = updates[0].shares.sum(0)
    heads = TEXT.numbered("head", "name", len(updates[0].parts))
    place = reading.place("mole")
    error = max(update.error for update in updates)
    added = max(
        float((update.before + update.change - update.after).abs().max()) for update in updates
    )
    section = TEXT.section(
        "parts",
        sentence=reading.run.sentence,
        strongest=reading.words[int(first.argmax())],
        share=float(first.max()),
        error=error,
        added=added,
    )
    section.claim("sum", error < 1e-4)
    section.claim("residual", added < 1e-4)
    for layer, update in enumerate(updates):
        section.matrix(
            "share",
            torch.cat([update.shares, update.shares.sum(0, True)]),
            [*heads, "Σ"],
            reading.words,
            digits=2,
            named=TEXT.section("layer", number=layer + 1),
        )
    return section.step(
        "E4",
        "E9",
        trace=reading.run.trace,
        show=f"encoder.layers.0.self_attention_add_norm.added[0,{place},0]",
    )


def _towers(towers: Sequence[Example]) -> Step:
    """Tower, Eiffel tower, miniature Eiffel tower: what each word before it adds."""
    one_each = {one.group: one for one in towers}  # the last, an unseen one where there is one
    chosen = [one_each[kind] for kind in TOWERS if kind in one_each]
    names = TEXT.section("names")
    updates = [one.reading.update("tower", 0) for one in chosen]
    shares = [update.shares.sum(0) for update in updates]
    totals = {
        one.group: sum(
            float(share[one.reading.number(word)])
            for word in ("miniature", "Eiffel")
            if word in one.reading.words
        )
        for one, share in zip(chosen, shares, strict=True)
    }
    new = [one for one in towers if not one.seen]
    right = sum(one.output == one.expected for one in new)
    same, different = grouped_angles(towers)
    section = TEXT.section(
        "towers",
        lines=_listed(names, towers),
        eiffel=totals.get("Eiffel tower", 0.0),
        both=totals.get("miniature Eiffel tower", 0.0),
        same=float(same[-1]),
        different=float(different[-1]),
        right=right,
        count=len(new),
    )
    for one, share in zip(chosen, shares, strict=True):
        sentence = TEXT.section("sentence", sentence=one.text)
        section.matrix("share", share, (), one.reading.words, digits=2, named=sentence)
    section.claim("wider", float(different[-1]) > float(different[1]))
    if all(one.expected is not None for one in new):
        section.claim("right", right == len(new))
    shown = chosen[-1].reading
    return section.step(
        "E4",
        trace=shown.run.trace,
        show=f"encoder.layers.0.self_attention.softmax[0,0,{shown.place('tower')},0]",
    )


LESSON = Lesson("context", steps, trained=True)
