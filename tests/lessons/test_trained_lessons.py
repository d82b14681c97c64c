"""The lessons on a trained model, told once on the demo model: what they claim is so."""

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.corpus.embedded import SOURCES_SENTENCES
from cutaway.lessons import Room, find, lessons
from cutaway.lessons.context import MOLES, TOWERS
from cutaway.lessons.cost import allowed_pairs
from cutaway.lessons.encoder_reading import Reading
from cutaway.lessons.lesson import Matrix, Said, Step
from cutaway.lessons.translate_blocks import gradient_by_depth
from cutaway.lessons.words_as_directions import IN_ORDER, NUMBERS, Words
from cutaway.train.environment import describe
from tests.lessons.test_all import HAN, spoken, written

TRAINED = ["words-as-directions", "context", "translate-a-sentence", "learning"]
MINE = [*TRAINED, "cost", "families"]
COVERED = {
    "words-as-directions": "E1 E2 E3",
    "context": "E4 E5 E9",
    "translate-a-sentence": (
        "C1 C2 C3 C9 C10 C11 C12 C13 C17 C18 C19 C20 C23 C24 C25 C27 C28 "
        "D1 D2 D3 D4 D5 D6 D7 D8 D9 E6 E7 E10"
    ),
    "learning": "C26 C15",
    "cost": "C2 C16",
    "families": "C14 D8",
}


@cache
def room(folder: Path) -> Room:
    return Room(folder)


@cache
def told(name: str, folder: Path) -> tuple[Step, ...]:
    return tuple(find(name).tell(room(folder)))


def matrix(steps: tuple[Step, ...], name: str) -> Matrix:
    """The first matrix of a name, in English."""
    for step in steps:
        for one in step.matrices:
            if name in (one.name.en if isinstance(one.name, Said) else one.name):
                return one
    raise AssertionError(f"no matrix {name}")


def same_bits() -> bool:
    """Whether a seed gives the same weights here as where the demo's seed was chosen."""
    here = describe(torch.device("cpu"), 1, "none")
    return (here["cpu"], here["instructions"], os.cpu_count()) == ("AMD EPYC", "AVX2", 2)


def test_these_are_all_that_need_a_model() -> None:
    assert set(TRAINED) <= {lesson.name for lesson in lessons() if lesson.trained}


@pytest.mark.parametrize("name", TRAINED)
def test_every_claim_holds(name: str, demo_folder: Path) -> None:
    claims = [claim for step in told(name, demo_folder) for claim in step.claims]
    assert claims
    moved = () if same_bits() else [said for said, _ in IN_ORDER]
    assert [c.said.en for c in claims if not c.holds and c.said.en not in moved] == []


@pytest.mark.parametrize("name", TRAINED)
def test_both_languages_codes_shapes_and_json(name: str, demo_folder: Path) -> None:
    for step in told(name, demo_folder):
        for text in spoken(step):
            assert text.en.strip()
            assert text.zh.strip()
        assert HAN.search(step.text.zh)
        assert not HAN.search(step.text.en)
        for word in written(step):
            if isinstance(word, Said):
                assert word.en.strip()
                assert HAN.search(word.zh) or word.en == word.zh
        assert step.codes
        for one in step.matrices:
            rows = one.table()
            assert not one.rows or len(one.rows) == len(rows)
            assert not one.columns or len(one.columns) == len(rows[0])
        for picture in step.pictures:
            for series in picture.series:
                assert len(series.x) == len(series.y) > 0
                assert not series.labels or len(series.labels) == len(series.x)
        json.dumps(step.to_dict("key"), allow_nan=False)


@pytest.mark.parametrize("name", MINE)
def test_the_inventory_is_covered(name: str, demo_folder: Path) -> None:
    found = {code for step in told(name, demo_folder) for code in step.codes}
    assert set(COVERED[name].split()) <= found


@pytest.mark.parametrize("name", TRAINED)
def test_recorded_steps_open_at_a_cell_and_are_proven(name: str, demo_folder: Path) -> None:
    proven = set()
    for step in told(name, demo_folder):
        if step.trace is None:
            assert not step.show
            continue
        assert step.trace.cell(step.show).address == step.show
        explained = step.trace.explain(step.show)
        assert explained.recomputed == pytest.approx(explained.value, abs=1e-4)
        if id(step.trace) not in proven:
            assert step.trace.prove().complete
            proven.add(id(step.trace))
    assert proven


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", TRAINED)
def test_plain_runs_to_the_end(name: str, language: str, demo_folder: Path) -> None:
    arguments = ["lesson", name, "--plain", "--lang", language, "--model", str(demo_folder)]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    squeezed = "".join(result.output.split())
    for step in told(name, demo_folder):
        assert "".join(step.title.within(language).split()) in squeezed
    assert result.output.count("✗") <= (0 if same_bits() else len(IN_ORDER))


# ── words as directions ──────────────────────────────────────────────────────────────────────


def test_plural_nouns_lie_along_cats_minus_cat(demo_folder: Path) -> None:
    words = Words(room(demo_folder).translator)
    plural = words("cats") - words("cat")
    others = [pair for pair in words.pairs() if pair[0] != "cat"]
    assert len(others) > 30
    above = [float(plural @ words(two)) > float(plural @ words(one)) for one, two in others]
    assert sum(above) / len(above) >= 0.8


def test_one_two_three_four_rise_along_the_plural(demo_folder: Path) -> None:
    """On the demo model with its seed, as it comes out on the kind of machine it was chosen on."""
    words = Words(room(demo_folder).translator)
    cats = words("cats") - words("cat")
    mean = torch.stack([words(two) - words(one) for one, two in words.pairs()]).mean(0)
    for direction in (cats, mean):
        one, two, three, four = (float(direction @ words(number)) for number in NUMBERS)
        if not same_bits():
            pytest.skip(f"another kind of machine, another model: {one}, {two}, {three}, {four}")
        assert one < two < three < four


def test_the_model_knows_which_is_more(demo_folder: Path) -> None:
    translator = room(demo_folder).translator
    for noun in ("dog", "book", "child"):
        many = "children" if noun == "child" else noun + "s"
        counted = [f"one {noun}", *(f"{number} {many}" for number in NUMBERS[1:])]
        ways = [(a, b) for a in range(4) for b in range(4) if a != b]
        texts = [f"The total went from {counted[a]} to {counted[b]}." for a, b in ways]
        outputs = [translation.text for translation in translator.translate(texts, beam=1)]
        right = sum(
            ("monté" if b > a else "descendu") in output
            for (a, b), output in zip(ways, outputs, strict=True)
        )
        assert right >= 11, outputs


def test_a_colder_softmax_is_harder(demo_folder: Path) -> None:
    def largest(temperature: float) -> float:
        chosen = Room(demo_folder, {"temperature": temperature})
        *_, last = find("words-as-directions").tell(chosen)
        assert all(claim.holds for claim in last.claims)
        return max(last.matrices[1].table()[-1])

    assert largest(0.1) > largest(6.0)


# ── context ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", [*MOLES, *TOWERS])
def test_the_parts_of_a_change_add_up(text: str, demo_folder: Path) -> None:
    reading = Reading(room(demo_folder).translator, text)
    assert " ".join(reading.words[:-1]).replace(" .", ".") == text
    for layer in range(reading.model.config.encoder_layers):
        for number in range(len(reading.words)):
            update = reading.update(number, layer)
            assert update.error < 1e-4
            bias = float(update.bias @ update.change / (update.change @ update.change))
            assert float(update.shares.sum()) + bias == pytest.approx(1, abs=1e-4)
            assert torch.allclose(update.before + update.change, update.after)


def test_each_sense_gets_its_translation(demo_folder: Path) -> None:
    expected = dict(SOURCES_SENTENCES["en-fr"])
    for text in (*MOLES, *TOWERS):
        assert Reading(room(demo_folder).translator, text).run.text == expected[text]


def test_another_noun_turns_its_own_adjectives_most(demo_folder: Path) -> None:
    turned = matrix(told("context", demo_folder), "turned by, degrees")
    columns = list(turned.columns)
    noun = dict(
        zip(columns, turned.table()[list(turned.rows).index("creature → duck")], strict=True)
    )
    assert max(noun["fluffy"], noun["blue"]) > max(noun["verdant"], noun["forest"])


def test_a_sentence_of_the_learners_own(demo_folder: Path) -> None:
    chosen = Room(demo_folder, {"sentence": "The old king sleeps in the old castle."})
    steps = list(find("context").tell(chosen))
    control = next(control for step in steps for control in step.controls)
    assert control.value == "The old king sleeps in the old castle."


# ── a sentence, a step of learning ───────────────────────────────────────────────────────────


def test_the_cat_is_on_the_mat(demo_folder: Path) -> None:
    steps = told("translate-a-sentence", demo_folder)
    assert "Le chat est sur le tapis." in steps[0].text.en
    attention = matrix(steps, "weights, layer 2, mean of heads")
    rows, columns = list(attention.rows), list(attention.columns)
    table = attention.table()
    for target, source in (("chat", "cat"), ("tapis", "mat")):
        row = table[rows.index(target)]
        assert columns[row.index(max(row))] == source
    inference = next(step for step in steps if "C27" in step.codes).text.en
    assert re.search(
        r"<start>  → Le .*\n  <start> Le → chat .*\n  <start> Le chat → est", inference
    )


def test_layer_and_head_can_be_chosen(demo_folder: Path) -> None:
    chosen = Room(demo_folder, {"layer": 2, "head": 3})
    steps = list(find("translate-a-sentence").tell(chosen))
    one_head = next(step for step in steps if "E7" in step.codes)
    assert one_head.show.startswith("encoder.layers.1.self_attention.softmax[0,2,")
    assert all(claim.holds for claim in one_head.claims)


def test_a_gradient_needs_residuals_and_norms() -> None:
    plain = gradient_by_depth(residual=False, norm=False)
    both = gradient_by_depth(residual=True, norm=True)
    assert plain[-1] == both[-1] == 1
    assert plain[0] < 0.2 * both[0]


def test_the_loss_through_the_run_is_that_of_the_snapshots(demo_folder: Path) -> None:
    steps = told("learning", demo_folder)
    table = matrix(steps, "through training").table()
    first_loss = sum(matrix(steps, "−log P").table()[1])
    assert table[0][2] == pytest.approx(first_loss, rel=1e-3)
    assert table[-1][2] < 0.1
    assert len(table) == 16


def test_without_snapshots_learning_says_so(demo_folder: Path) -> None:
    bare = Room(translator=room(demo_folder).translator)
    steps = list(find("learning").tell(bare))
    assert any("--keep" in step.text.en for step in steps)
    assert all(claim.holds for step in steps for claim in step.claims)


# ── cost ─────────────────────────────────────────────────────────────────────────────────────


def test_pairs_are_those_of_the_definition() -> None:
    length, window, stride = 211, 5, 64
    near = sum(abs(a - b) <= window for a in range(length) for b in range(length))
    far = sum(
        abs(a - b) <= window or (a - b) % stride == 0 for a in range(length) for b in range(length)
    )
    assert allowed_pairs("full", window, length) == length**2
    assert allowed_pairs("local", window, length) == near
    assert allowed_pairs("strided", window, length) == far
