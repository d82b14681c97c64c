"""The lessons on a trained model, computed once per bundled model: their claims hold.

On an untrained model the claims about training come out false.
"""

import json
import re
from dataclasses import replace
from io import StringIO

import pytest
import torch
import torch.nn.functional as F
from rich.console import Console

from cutaway import glass
from cutaway.artifact.folder import ModelFolder, read_model_folder, write_model_folder
from cutaway.cli.lesson import walk
from cutaway.config import ModelConfig
from cutaway.corpus.embedded import chosen_sentences
from cutaway.data import PAIRS, demo_model
from cutaway.decode import Translator
from cutaway.lessons import LessonInputs, find, lessons
from cutaway.lessons.fine_tuning import fine_tune
from cutaway.lessons.lesson import LocalizedText
from cutaway.lessons.one_pair import pair_of, trainer_of
from cutaway.lessons.residuals import KINDS, trial
from cutaway.lessons.trained_run import sentence_run
from cutaway.lessons.translate_a_sentence import hidden_effect
from cutaway.model import Transformer, explicit
from tests.lessons.bundled import (
    claims,
    inputs,
    matrix,
    step_of,
    steps_of,
)
from tests.lessons.test_all import HAN, localized, written

TRAINED = ["words-as-directions", "context", "translate-a-sentence", "learning"]
COVERED = {
    "words-as-directions": "E1 E2 E3",
    "context": "C12 E4 E5 E9",
    "translate-a-sentence": (
        "C1 C2 C3 C9 C10 C11 C12 C13 C17 C18 C19 C20 C23 C24 C25 C27 C28 "
        "D1 D2 D3 D4 D5 D6 D7 D8 D9 E6 E7 E10"
    ),
    "learning": "C26 C15",
}
# Claims that a model may break: shown as found. The order of numbers depends on the training run;
# Chinese does not mark the plural, nor do its adjectives agree with their noun.
MAY_FAIL = {
    "en-fr": {("numbers", "cats"), ("numbers", "mean")},
    "en-zh": {
        ("numbers", "cats"),
        ("numbers", "mean"),
        ("alignment", "plurals"),
        ("plural", "most"),
        ("plural", "means"),
        ("adjectives", "creature"),
        ("adjectives", "forest"),
    },
}
# Claims of what training gave the model; an untrained one must fail each of these.
OF_TRAINING = {
    "words-as-directions": {("alignment", "plurals"), ("plural", "most")},
    "context": {("moles", "senses"), ("towers", "right"), ("pronoun", "pronouns")},
    "translate-a-sentence": {("cross", "cat"), ("inference", "end")},
    "learning": {("loss", "trained"), ("fine-tuning", "right")},
}


def test_these_are_all_that_need_a_model() -> None:
    assert set(TRAINED) == {lesson.name for lesson in lessons() if lesson.trained}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", TRAINED)
def test_every_claim_holds(name: str, pair: str) -> None:
    found = claims(steps_of(name, pair))
    assert found
    assert [key for key, holds in found.items() if not holds and key not in MAY_FAIL[pair]] == []


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", TRAINED)
def test_both_languages_codes_shapes_and_json(name: str, pair: str) -> None:
    for step in steps_of(name, pair):
        for text in localized(step):
            assert text.en.strip()
            assert text.in_language("zh").strip()
        assert HAN.search(step.text.in_language("zh"))
        for word in written(step):
            if isinstance(word, LocalizedText):
                assert word.en.strip()
                assert HAN.search(word.in_language("zh")) or word.en == word.in_language("zh")
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


@pytest.mark.parametrize("name", TRAINED)
def test_the_inventory_is_covered(name: str) -> None:
    found = {code for step in steps_of(name) for code in step.codes}
    assert set(COVERED[name].split()) <= found


@pytest.mark.parametrize("name", TRAINED)
def test_recorded_steps_open_at_a_cell_and_are_proven(name: str) -> None:
    proven = set()
    for step in steps_of(name):
        if step.trace is None:
            assert not step.show
            continue
        assert step.trace.cell(step.show).address == step.show
        explained = step.trace.explain(step.show)
        assert explained.recomputed == pytest.approx(explained.value, rel=1e-4, abs=1e-5)
        if id(step.trace) not in proven:
            assert step.trace.prove().complete
            proven.add(id(step.trace))
    assert proven


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", TRAINED)
def test_the_answer_to_a_question_is_not_above_it(name: str, language: str) -> None:
    """What a step says before its question has none of the numbers that its answer gives."""
    for step in steps_of(name):
        if step.question is None:
            continue
        answer = step.question.answer.in_language(language)
        given = set(re.findall(r"\d+\.\d+|\d+ ?%|\d+°", answer))
        above = step.text.in_language(language) + step.question.ask.in_language(language)
        assert not [number for number in given if number in above], step.key


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", TRAINED)
def test_a_terminal_shows_every_step(name: str, language: str) -> None:
    console = Console(width=160, record=True, file=StringIO())
    walk(console, name, list(steps_of(name)), language, ask=False)
    shown = "".join(console.export_text().split())
    for step in steps_of(name):
        assert "".join(step.title.in_language(language).split()) in shown
        if step.question is not None:
            assert "".join(step.question.answer.in_language(language).split()) in shown


# ── what cannot hold does not ────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> LessonInputs:
    """A model folder like the carried one, its weights as initialised."""
    folder = read_model_folder(demo_model("en-fr"))
    torch.manual_seed(5)
    fresh = replace(folder, model=Transformer(folder.model.config).eval(), metrics={})
    path = tmp_path_factory.mktemp("models") / "untrained"
    write_model_folder(path, fresh)
    return LessonInputs(path)


@pytest.mark.parametrize("name", TRAINED)
def test_what_is_claimed_of_training_is_false_without_it(
    name: str, untrained: LessonInputs
) -> None:
    found = claims(tuple(find(name).steps(untrained)))
    assert set(found) >= OF_TRAINING[name]
    assert [key for key in OF_TRAINING[name] if found[key]] == []


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize(
    "changes",
    [
        {"norm": "post", "positions": "learned", "heads": 2, "head_width": 7, "bias": False},
        {"encoder_layers": 1, "decoder_layers": 3, "activation": "gelu", "tied": "none"},
    ],
)
def test_lessons_work_on_a_model_of_another_shape(name: str, changes: dict[str, object]) -> None:
    """A reader's own model: other norm order, depth, heads; no language pair that is known."""
    folder = read_model_folder(demo_model("en-fr"))
    small = {"d_model": 22, "heads": 2, "d_ff": 13, "dropout": 0.1}
    config = ModelConfig.from_dict({**folder.model.config.to_dict(), **small, **changes})
    torch.manual_seed(7)
    own = ModelFolder(model=Transformer(config).eval(), tokenizer=folder.tokenizer)
    steps = tuple(find(name).steps(LessonInputs(translator=Translator(own))))
    assert steps
    for step in steps:
        json.dumps(step.to_dict("key"), allow_nan=False)


# ── a sentence ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pair", "output", "aligned", "steps"),
    [
        (
            "en-fr",
            "Le chat est sur le tapis.",
            {"chat": "cat", "tapis": "mat"},
            ["Le", "chat", "est"],
        ),
        ("en-zh", "猫在垫子上。", {"猫": "cat"}, ["▁", "猫"]),
    ],
)
def test_the_cat_is_on_the_mat(
    pair: str, output: str, aligned: dict[str, str], steps: list[str]
) -> None:
    found = steps_of("translate-a-sentence", pair)
    assert output in found[0].text.en
    attention = matrix(step_of("translate-a-sentence", "cross", pair), "weights")
    rows, columns = list(attention.rows), list(attention.columns)
    for target, source in aligned.items():
        row = attention.table()[rows.index(target)]
        assert columns[row.index(max(row))] == source
    inference = step_of("translate-a-sentence", "inference", pair)
    assert inference.question is not None
    lines = re.findall(r"<start> .*→ ([^ ]+) ", inference.question.answer.en)
    assert lines[: len(steps)] == steps


def test_layer_and_head_can_be_chosen() -> None:
    chosen = LessonInputs(demo_model("en-fr"), {"layer": 2, "head": 3})
    steps = list(find("translate-a-sentence").steps(chosen))
    one_head = next(step for step in steps if "E7" in step.codes)
    assert one_head.show.startswith("encoder.layers.1.self_attention.softmax[0,2,")
    assert all(claim.holds for claim in one_head.claims)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_deep_stack_learns_with_residuals_and_norms_alone(seed: int) -> None:
    """On the product's own layers: only with both does the loss fall."""
    even = float(torch.tensor(12.0).log())
    final = {key: trial(residual=a, norm=b, seed=seed).final for key, (a, b) in KINDS.items()}
    assert final["both"] < even / 4
    assert min(final["neither"], final["norm"], final["residual"]) > 0.9 * even
    spread = trial(residual=True, norm=False, seed=seed).spread
    assert spread[-1] > 10 * spread[0]


def test_hiding_a_source_token_is_masking_its_scores() -> None:
    """The effect shown is that of −∞ in the column of every cross-attention."""
    translator = inputs("en-fr").translator
    run = sentence_run(translator, "The cat is on the mat.")
    effect = hidden_effect(translator, run)
    hidden = run.source.index("cat")

    def hide(scores: torch.Tensor) -> torch.Tensor:
        changed = scores.clone()
        changed[..., hidden] = -torch.inf
        return changed

    layers = range(translator.model.config.decoder_layers)
    change = {f"decoder.layers.{layer}.cross_attention.scores": hide for layer in layers}

    def surprise(logits: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(logits[0], run.gold_ids[0], reduction="none")

    with torch.no_grad():
        plain = surprise(translator.model(run.source_ids, run.target_ids))
        with glass.patch(translator.model, change):
            patched = surprise(translator.model(run.source_ids, run.target_ids))
    assert effect[:, hidden].tolist() == pytest.approx((patched - plain).tolist(), abs=1e-3)
    chat = run.wanted.index("chat")
    assert float(effect[chat, hidden]) == float(effect[chat].max()) > 1


# ── learning ─────────────────────────────────────────────────────────────────────────────────


def test_the_step_shown_is_an_update_of_the_trainer() -> None:
    """The recorded update leaves the weights that the trainer's own first update leaves."""
    translator = inputs("en-fr").translator
    pair = pair_of(translator)
    trainer = trainer_of(translator, pair)
    batches, cursor, _ = next(trainer.work())
    with explicit():  # as recorded: Adam's first step would turn rounding into a whole step
        trainer.update(batches, cursor)
    trace = step_of("learning", "loss").trace
    assert trace is not None
    for name, parameter in trainer.named.items():
        recorded = trace[f"{name}.after"].tensor
        assert torch.allclose(recorded, parameter, atol=1e-5), name


def test_fine_tuning_teaches_a_copy_and_leaves_the_model_alone() -> None:
    """The loss on the new sentences falls, unseen ones come out right, the original stays."""
    translator = inputs("en-fr").translator
    before = {name: tensor.clone() for name, tensor in translator.model.state_dict().items()}
    copied = Transformer(translator.model.config).eval()
    copied.load_state_dict(before)
    losses = fine_tune(translator, copied, chosen_sentences("en-fr", "robot"))
    assert losses[-1] < losses[0] / 20
    tuned = Translator(replace(translator.folder, model=copied))
    sources, targets = zip(*chosen_sentences("en-fr", "robot-unseen"), strict=True)
    assert [one.text for one in tuned.translate(sources, beam=1)] == list(targets)
    assert all(
        torch.equal(before[name], now) for name, now in translator.model.state_dict().items()
    )


def test_the_loss_through_the_run_is_that_of_the_snapshots() -> None:
    table = matrix(step_of("learning", "snapshots"), "run").table()
    assert table[0][2] > 40
    assert table[-1][2] < 0.5
    assert len(table) == 3  # the carried model keeps three snapshots


def test_without_snapshots_learning_says_so() -> None:
    bare = LessonInputs(translator=inputs("en-fr").translator)
    steps = list(find("learning").steps(bare))
    assert any("--keep" in step.text.en for step in steps)
    assert all(claim.holds for step in steps for claim in step.claims)
