"""The other worked examples: figures to the digits, and what the learner's choices do."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway.lessons import LessonInputs, find
from cutaway.lessons.amplitude import scaled, small_model
from cutaway.lessons.by_hand_model import trained
from cutaway.lessons.position_laws import rotation
from cutaway.lessons.recommender import explained, learned
from cutaway.lessons.self_attention_model import SENTENCE, SelfAttention, looped, vectors
from cutaway.model import sinusoidal
from cutaway.model.positions import Positions
from tests.lessons.helpers import matrices, steps_of
from tests.model.golden import to_the_digits

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden.json").read_text(encoding="utf-8")
)
FOUR, TOY = GOLDEN["masked_attention"]["right"], GOLDEN["two_head_toy"]["right"]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("projections/key", FOUR["K"]),
        ("scores/scores", FOUR["QKt"]),
        ("scaled/scaled", FOUR["scaled"]),
        ("scaled/masked", FOUR["masked"]),
        ("softmax/weights", FOUR["softmax"]),
        ("output/output", FOUR["output"]),
        ("two-heads/head1", TOY["scores_QKt"]),
        ("two-heads/head2", TOY["scores_QKt"]),
        ("two-heads-joined/weights", TOY["weights_scaled"]),
        ("two-heads-joined/joined", TOY["concat_scaled"]),
    ],
)
def test_masked_attention_to_the_digits(name: str, right: object) -> None:
    to_the_digits(matrices("masked-attention")[name].table(), right, noise=1e-16)


def test_without_a_mask_to_the_digits() -> None:
    free = matrices("masked-attention")["future/free"]
    to_the_digits(free.table(), FOUR["output_unmasked"])


def test_turning_the_last_word_moves_no_earlier_row_with_the_mask_and_every_row_without() -> None:
    def outputs(last: float) -> tuple[torch.Tensor, torch.Tensor]:
        steps = find("masked-attention").steps(LessonInputs(choices={"last": last}))
        step = next(step for step in steps if step.controls)
        with_mask, without = (torch.tensor(matrix.table()) for matrix in step.matrices)
        assert all(claim.holds for claim in step.claims)
        return with_mask, without

    (masked, free), (masked_too, free_too) = outputs(-2.0), outputs(2.5)
    assert torch.equal(masked[:3], masked_too[:3])
    assert not torch.equal(masked[3], masked_too[3])
    assert ((free - free_too).abs().amax(1) > 1e-3).all()


def test_words_in_another_order_have_the_same_outputs() -> None:
    turned = list(reversed(SENTENCE))
    steps = find("self-attention").steps(LessonInputs(choices={"order": turned}))
    step = next(step for step in steps if step.controls)
    assert step.controls[0].value == turned
    assert all(claim.holds for claim in step.claims)
    before = SelfAttention()(vectors(SENTENCE))[0]
    after = torch.tensor(step.matrices[0].table(), dtype=torch.float64)
    torch.testing.assert_close(after, before.flip(0), rtol=0, atol=1e-12)


def test_an_order_of_other_words_is_not_taken() -> None:
    steps = find("self-attention").steps(LessonInputs(choices={"order": ["rm", "-rf"]}))
    step = next(step for step in steps if step.controls)
    assert sorted(step.controls[0].value) == sorted(SENTENCE)


def test_loop_and_products_agree_on_any_numbers() -> None:
    x = torch.randn(2, 7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(looped(x), SelfAttention()(x), rtol=0, atol=1e-12)


def test_features_learned_from_likes_find_what_was_hidden() -> None:
    assert learned().seen == 1.0
    assert learned().unseen > 0.85
    assert min(explained()) > 0.9


def test_positions_to_the_digits() -> None:
    found = matrices("positions")
    to_the_digits(found["formula/table"].table(), GOLDEN["positions"]["d4_positions_0_to_2"])
    assert found["formula/second"].slips() == {(0, 1), (0, 3)}
    crossings = GOLDEN["positions"]["properties"]["zero_crossings_0_99_d20_cols_4_5_6_7"]
    assert found["curves/crossings"].table() == [crossings]


@pytest.mark.parametrize("shift", [-7, -1, 0, 5, 20])
def test_a_shift_is_one_rotation_for_all_positions(shift: int) -> None:
    table = sinusoidal(80, 16)
    moved = table[10:50] @ rotation(shift, 16).T
    torch.testing.assert_close(moved, table[10 + shift : 50 + shift], rtol=0, atol=1e-12)
    steps = find("positions").steps(LessonInputs(choices={"shift": float(shift)}))
    step = next(step for step in steps if step.controls and step.controls[0].name == "shift")
    assert all(claim.holds for claim in step.claims)


@pytest.mark.parametrize(("asked", "shown"), [(-50.0, -7.0), (50.0, 20.0)])
def test_a_shift_beyond_the_slider_is_its_end(asked: float, shown: float) -> None:
    steps = find("positions").steps(LessonInputs(choices={"shift": asked}))
    step = next(step for step in steps if step.key == "rotation")
    assert step.controls[0].value == shown


def test_the_hands_of_the_clock_follow_the_position() -> None:
    def hands(position: float) -> list[tuple[float, ...]]:
        steps = find("positions").steps(LessonInputs(choices={"clock": position}))
        step = next(step for step in steps if step.key == "clocks")
        _, *series = step.pictures[0].series
        return [(one.x[-1], one.y[-1]) for one in series]

    assert hands(0.0) == [(0.0, 1.0)] * 8
    expected = sinusoidal(18, 16)[17].view(8, 2)
    torch.testing.assert_close(torch.tensor(hands(17.0), dtype=torch.float64), expected)


def test_an_amplitude_changes_what_is_said_and_is_taken_back() -> None:
    model = trained().model
    modules = [module for module in model.modules() if isinstance(module, Positions)]
    before = [module.table.clone() for module in modules if module.table is not None]
    assert len(before) == 2
    assert small_model(1.0) == 0
    assert small_model(0.0) > 0
    with pytest.raises(RuntimeError, match="on the way"), scaled(model, 0.0):
        raise RuntimeError("on the way")
    for module, table in zip(modules, before, strict=True):
        assert module.table is not None
        assert torch.equal(module.table, table)


def test_without_a_folder_the_last_step_uses_the_bundled_model() -> None:
    last = steps_of("positions")[-1]
    assert "Le chimiste" in last.text.en
    assert last.claims
    assert all(claim.holds for claim in last.claims)
