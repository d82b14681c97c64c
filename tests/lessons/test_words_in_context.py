"""Words as directions and words in context, on the models of the package."""

import pytest
import torch

from cutaway import glass
from cutaway.corpus.embedded import chosen_sentences, embedded
from cutaway.data import PAIRS, demo_model
from cutaway.lessons import LessonInputs, find
from cutaway.lessons.context import examples, grouped_angles, transplanted
from cutaway.lessons.encoder_reading import Reading, words_of
from cutaway.lessons.fine_tuning import taught_it
from cutaway.lessons.lesson import LocalizedText
from cutaway.lessons.words_as_directions import NUMBERS, Words, in_order
from tests.lessons.bundled import (
    claims,
    inputs,
    matrix,
    step_of,
)

# ── words as directions ──────────────────────────────────────────────────────────────────────


def test_dot_products_of_words_are_those_of_their_rows() -> None:
    """Aligned above zero, opposed below, at right angles close to it; from the table."""
    words = Words(inputs("en-fr").translator)
    step = step_of("words-as-directions", "alignment")
    cats = words("cats")
    for key in ("positive", "zero", "negative"):
        table = matrix(step, key)
        for column, name in enumerate(table.columns):
            assert isinstance(name, str)
            dot = sum(float(a) * float(b) for a, b in zip(words(name), cats, strict=True))
            assert table.table()[0][column] == pytest.approx(dot, abs=1e-5)
    positive, zero, negative = (
        matrix(step, key).table()[1] for key in ("positive", "zero", "negative")
    )
    assert min(positive) > 0.2 > max(map(abs, zero))
    assert max(negative) < -0.1 < -max(map(abs, zero))


@pytest.mark.parametrize("degrees", [0.0, 30.0, 90.0, 120.0, 180.0])
def test_the_sign_of_the_dot_product_is_that_of_the_angle(degrees: float) -> None:
    chosen = LessonInputs(demo_model("en-fr"), {"angle": degrees})
    plane = next(iter(find("words-as-directions").steps(chosen)))
    dot = plane.matrices[0].table()[-1][-1]
    expected = 0.0 if degrees == 90 else (1.0 if degrees < 90 else -1.0)
    assert (dot > 0) - (dot < 0) == expected
    assert plane.trace is not None
    assert plane.trace.prove().complete


def test_plural_nouns_lie_along_cats_minus_cat() -> None:
    words = Words(inputs("en-fr").translator)
    plural = words("cats") - words("cat")
    others = [pair for pair in words.pairs() if pair[0] != "cat"]
    assert len(others) > 30
    above = [float(plural @ words(two)) > float(plural @ words(one)) for one, two in others]
    assert sum(above) / len(above) >= 0.8


@pytest.mark.parametrize("pair", PAIRS)
def test_the_order_of_number_words_is_reported_as_measured(pair: str) -> None:
    """Held or not: the claim says what the table says, and the table is the model's."""
    words = Words(inputs(pair).translator)
    cats = words("cats") - words("cat")
    mean = torch.stack([words(two) - words(one) for one, two in words.pairs()]).mean(0)
    step = step_of("words-as-directions", "numbers", pair)
    found = claims((step,))
    for row, (key, direction) in enumerate((("cats", cats), ("mean", mean))):
        along = torch.stack([direction @ words(number) for number in NUMBERS])
        assert step.matrices[0].table()[row] == pytest.approx(along.tolist(), abs=1e-5)
        assert found["numbers", key] == in_order(along)


def test_a_colder_softmax_is_harder() -> None:
    def largest(temperature: float) -> float:
        chosen = LessonInputs(demo_model("en-fr"), {"temperature": temperature})
        *_, last = find("words-as-directions").steps(chosen)
        assert all(claim.holds for claim in last.claims)
        return max(last.matrices[1].table()[-1][:-1])

    assert largest(0.1) > largest(6.0)


# ── context ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pair", PAIRS)
def test_sentences_are_labelled_by_whether_they_are_in_training(pair: str) -> None:
    training = {source for source, _ in embedded(pair, "train")}
    for word in ("mole", "tower"):
        found = examples(inputs(pair).translator, word)
        assert {one.seen for one in found} == {True, False}
        assert len({one.group for one in found if not one.seen}) == 3
        for one in found:
            assert (one.text in training) == one.seen


@pytest.mark.parametrize(
    "text", [chosen_sentences("en-fr", "unseen")[0][0], chosen_sentences("en-fr", "known")[11][0]]
)
def test_the_parts_of_a_change_add_up(text: str) -> None:
    """ΔE is the sum of its parts, and E′ = E + ΔE, with E read before and E′ after the sublayer."""
    reading = Reading(inputs("en-fr").translator, text)
    assert " ".join(reading.words[:-1]).replace(" .", ".") == text
    for number in range(len(reading.words)):
        for update in reading.updates(number):
            assert update.error < 1e-4
            bias = float(update.bias @ update.change / (update.change @ update.change))
            assert float(update.shares.sum()) + bias == pytest.approx(1, abs=1e-4)
            assert torch.allclose(update.before + update.change, update.after, atol=1e-4)


def test_tokens_are_matched_to_words_by_their_letters() -> None:
    pieces = ["▁The", "▁", "m", "ole", "▁sleep", "s", ".", "<end>"]
    words, belongs = words_of("The mole sleeps.", pieces)
    assert words == ["The", "mole", "sleeps", ".", "<end>"]
    assert belongs == [0, 1, 1, 1, 2, 2, 3, 4]
    unknown = ["▁The", "<0xE2>", "<end>"]  # letters replaced: every token for itself
    assert words_of("The ‣", unknown) == (["The", "<0xE2>", "<end>"], [0, 1, 2])


@pytest.mark.parametrize("pair", PAIRS)
def test_each_unseen_sense_gets_its_translation(pair: str) -> None:
    for word in ("mole", "tower"):
        for one in examples(inputs(pair).translator, word):
            if not one.seen:
                assert one.group in one.output.lower() or word == "tower"
                assert one.expected is not None


def test_angles_are_compared_within_and_between_meanings() -> None:
    moles = [one for one in examples(inputs("en-fr").translator, "mole") if one.word == "mole"]
    same, different = grouped_angles(moles)
    assert float(same[0]) == float(different[0]) == pytest.approx(0, abs=1e-3)
    degrees = matrix(step_of("context", "senses"), "degrees").table()
    assert degrees == [pytest.approx(same.tolist()), pytest.approx(different.tolist())]


def test_a_transplanted_vector_is_the_only_change() -> None:
    translator = inputs("en-fr").translator
    first, *_, last = [one for one in examples(translator, "mole") if one.word == "mole"]
    assert transplanted(translator, first, first) == first.output
    run = first.reading.run
    place = first.reading.place("mole")
    other = last.reading.run.trace["encoder.memory"].tensor[0, last.reading.place("mole")]

    def put(memory: torch.Tensor) -> torch.Tensor:
        changed = memory.clone()
        changed[0, place] = other
        return changed

    with torch.no_grad(), glass.patch(translator.model, {"encoder.memory": put}):
        changed = translator.model(run.source_ids, run.target_ids)
    again = transplanted(translator, first, last)
    logits = run.trace["output.logits"].tensor
    assert (again == first.output) == bool((changed.argmax(-1) == logits.argmax(-1)).all())


def test_another_noun_turns_its_own_adjectives_most() -> None:
    turned = matrix(step_of("context", "swaps"), "turned")
    row = turned.table()[list(turned.rows).index("creature → duck")]
    noun = dict(zip(turned.columns, row, strict=True))
    assert max(noun["fluffy"], noun["blue"]) > noun["verdant"]


def test_it_is_translated_by_the_noun_it_stands_for() -> None:
    """The same sentence with nouns of either gender; the copy alone learned the word."""
    translator = inputs("en-fr").translator
    before = [parameter.clone() for parameter in translator.model.parameters()]
    tuned = taught_it(translator)
    assert {one.noun for one in tuned.taught}.isdisjoint(one.noun for one in tuned.unseen)
    assert {one.pronoun for one in tuned.unseen} == {"il", "elle"}
    assert all(tuned.pronoun_right(one) for one in tuned.unseen)
    assert all(map(torch.equal, before, translator.model.parameters()))


def test_every_head_of_it_has_a_colour_of_its_own() -> None:
    """One series per head: the page gives each its colour. Each row of weights sums to 1."""
    step = step_of("context", "pronoun")
    heads = inputs("en-fr").translator.model.config.heads
    (picture,) = step.pictures
    assert (
        len({series.name.en for series in picture.series if isinstance(series.name, LocalizedText)})
        == heads
    )
    for series in picture.series:
        assert sum(series.y) == pytest.approx(1, abs=1e-4)
        assert "it" in series.labels


def test_a_sentence_of_the_learners_own() -> None:
    known = inputs("en-fr").translator  # of which a copy has learned "it" already
    asked = {"sentence": "The old king sleeps in the old castle."}
    steps = list(find("context").steps(LessonInputs(choices=asked, translator=known)))
    control = next(control for step in steps for control in step.controls)
    assert control.value == "The old king sleeps in the old castle."
