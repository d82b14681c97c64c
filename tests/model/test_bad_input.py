"""Input a model cannot take: one line with the value, what was expected, and what to do."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from cutaway.config import ModelConfig
from cutaway.errors import ConfigError, CutawayError, InputError
from cutaway.model import Transformer, attention, explicit
from tests.model.samples import batch, build, small

BOTH = build(small())
GPT = build(small(family="decoder"))
BERT = build(small(family="encoder"))


def refused(
    action: Callable[[], object], kind: type[CutawayError], value: str, expected: str, remedy: str
) -> None:
    """One line that holds all three, of the package's own type and of a plain ValueError."""
    with pytest.raises(kind) as caught:
        action()
    message = str(caught.value)
    assert isinstance(caught.value, CutawayError)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in message
    for part in (value, expected, remedy):
        assert part in message, f"{part!r} is not in: {message}"


@pytest.mark.parametrize(
    ("changes", "value", "expected", "remedy"),
    [
        ({"heads": 5, "head_width": None}, "heads is 5", "expected a divisor", "head_width"),
        ({"heads": 0}, "heads is 0", "at least 1", "give a larger number"),
        ({"heads": 2.0}, "heads is 2.0", "expected int", "give a value of that type"),
        ({"head_width": 0}, "head_width is 0", "at least 1", "give a larger number"),
        ({"d_model": 21}, "d_model is 21", "sine-cosine pairs", "choose an even width"),
        ({"activation": "swish"}, "'swish'", "'relu', 'gelu'", "set activation"),
        ({"activation": "gleu"}, "'gleu'", "'relu', 'gelu'", "did you mean 'gelu'?"),
        ({"norm": "last"}, "'last'", "'post', 'pre'", "set norm to one of these"),
        ({"family": "decodr"}, "'decodr'", "'decoder'", "did you mean 'decoder'?"),
        ({"attention": "sparse"}, "'sparse'", "'strided'", "set attention"),
        ({"dropout": 1.0}, "dropout is 1.0", "0 ≤ dropout < 1", "set dropout"),
        ({"dropout": -0.1}, "dropout is -0.1", "0 ≤ dropout < 1", "set dropout"),
        ({"dropout": float("nan")}, "dropout is nan", "0 ≤ dropout < 1", "set dropout"),
        ({"norm_epsilon": 0.0}, "norm_epsilon is 0.0", "above 0", "1e-5"),
        ({"vocabulary": 0}, "vocabulary is 0", "at least 1", "give a larger number"),
        ({"vocabulary": "31"}, "'31'", "expected int", "give a value of that type"),
        ({"encoder_layers": -1}, "encoder_layers is -1", "at least 0", "give a larger number"),
        ({"bias": 1}, "bias is 1", "expected bool", "give a value of that type"),
        ({"pad": 31}, "pad is 31", "0 to 30", "padding id"),
        ({"pad": -1}, "pad is -1", "0 to 30", "padding id"),
        (
            {"pad": 9, "target_vocabulary": 7, "tied": "none"},
            "pad is 9",
            "0 to 6",
            "padding id",
        ),
        ({"target_vocabulary": 7}, "tied is 'all'", "vocabularies of their own", "use tied"),
        (
            {"target_vocabulary": 7, "family": "decoder"},
            "target_vocabulary is 7",
            "one side only",
            "leave it out",
        ),
        ({"classes": 3}, "classes is 3", "needs family 'encoder'", "classifier"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit(
    changes: dict[str, Any], value: str, expected: str, remedy: str
) -> None:
    settings = {**small().to_dict(), **changes}
    refused(lambda: ModelConfig.from_dict(settings), ConfigError, value, expected, remedy)
    refused(lambda: ModelConfig(**settings), ConfigError, value, expected, remedy)


def call(model: Transformer, *ids: torch.Tensor, **masks: torch.Tensor) -> Callable[[], object]:
    return lambda: model(*ids, **masks)


GOOD = batch((7, 4))


@pytest.mark.parametrize("number", [31, 1000, -1, -31])
def test_ids_outside_the_vocabulary(number: int) -> None:
    ids = GOOD.clone()
    ids[1, 2] = number
    low, high = int(ids.min()), int(ids.max())
    says = f"from {low} to {high}", "expected 0 to 30", "tokenizer"
    refused(call(GPT, ids), InputError, *says)
    refused(call(BERT, ids), InputError, *says)
    refused(call(BOTH, ids, GOOD), InputError, *says)
    refused(call(BOTH, GOOD, ids), InputError, *says)


def test_each_side_has_its_own_vocabulary() -> None:
    model = build(small(target_vocabulary=29, tied="none"))
    source, target = torch.tensor([[30]]), torch.tensor([[29]])
    model(source, torch.tensor([[28]]))
    refused(call(model, source, target), InputError, "to 29", "expected 0 to 28", "tokenizer")


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_a_length_beyond_the_maximum(positions: str) -> None:
    model = build(small(family="decoder", positions=positions))
    longest = torch.ones(1, 41, dtype=torch.int64)
    model(longest)
    longer = torch.ones(1, 42, dtype=torch.int64)
    says = "42 tokens", "at most 41", "shorten or split it"
    refused(call(model, longer), InputError, *says)
    state = model.start()
    model.decode(longest, state=state)
    refused(lambda: model.decode(longest[:, :1], state=state), InputError, *says)


def test_a_length_beyond_the_maximum_on_either_side() -> None:
    longer = torch.ones(1, 42, dtype=torch.int64)
    for ids in ((longer, longer[:, :3]), (longer[:, :3], longer)):
        refused(call(BOTH, *ids), InputError, "42 tokens", "at most 41", "shorten or split it")


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (0, 0)])
def test_empty_sequences(shape: tuple[int, int]) -> None:
    ids = torch.zeros(shape, dtype=torch.int64)
    says = f"shape {shape}", "at least one token", "leave empty sequences out"
    refused(call(GPT, ids), InputError, *says)
    refused(call(BOTH, ids, GOOD), InputError, "source", *says[1:])
    refused(call(BOTH, GOOD, ids), InputError, "target", *says[1:])


@pytest.mark.parametrize(
    "ids",
    [GOOD.float(), GOOD.bool(), GOOD[0], GOOD[None], torch.tensor(3)],
    ids=["float", "bool", "one row", "three axes", "a number"],
)
def test_ids_of_a_wrong_type_or_shape(ids: torch.Tensor) -> None:
    value = f"shape {tuple(ids.shape)} and type {ids.dtype}"
    says = value, "expected integers of shape (batch, length)", "one row of token ids per sentence"
    refused(call(BERT, ids), InputError, *says)
    refused(call(BOTH, GOOD, ids), InputError, *says)


def test_int32_ids_are_welcome() -> None:
    assert torch.equal(BERT(GOOD.int()), BERT(GOOD))


@pytest.mark.parametrize(
    "mask",
    [
        torch.ones(2, 1, 7),
        torch.zeros(2, 1, 7, dtype=torch.int64),
        torch.zeros(2, 7, 7, dtype=torch.float64),
    ],
    ids=["float", "int", "additive"],
)
def test_masks_that_are_not_boolean(mask: torch.Tensor) -> None:
    says = f"type {mask.dtype}", "torch.bool with True = may attend", "compare or convert it"
    refused(call(BERT, GOOD, source_mask=mask), InputError, "source_mask", *says[1:])
    refused(call(GPT, GOOD, source_mask=mask), InputError, *says)
    refused(call(BOTH, GOOD, GOOD, target_mask=mask), InputError, "target_mask", *says[1:])
    memory = BOTH.encode(GOOD)
    refused(lambda: BOTH.decode(GOOD, memory, mask), InputError, "memory_mask", *says[1:])


@pytest.mark.parametrize("shape", [(2, 7), (2, 1, 6), (3, 1, 7), (2, 5, 7), (2, 1, 1, 7), (7,)])
def test_masks_of_a_wrong_shape(shape: tuple[int, ...]) -> None:
    mask = torch.ones(shape, dtype=torch.bool)
    says = f"shape {shape}", "expected (2 or 1, 7 or 1, 7)", "reshape or unsqueeze it"
    refused(call(BERT, GOOD, source_mask=mask), InputError, *says)
    refused(call(GPT, GOOD, source_mask=mask), InputError, *says)
    refused(call(BOTH, GOOD, GOOD, source_mask=mask), InputError, *says)
    refused(call(BOTH, GOOD, GOOD, target_mask=mask), InputError, *says)


@pytest.mark.parametrize("shape", [(2, 1, 7), (1, 1, 7), (2, 7, 7), (1, 7, 7)])
def test_masks_of_a_right_shape(shape: tuple[int, ...]) -> None:
    mask = torch.ones(shape, dtype=torch.bool)
    assert BERT(GOOD, source_mask=mask).shape == (2, 7, 31)
    assert GPT(GOOD, source_mask=mask).shape == (2, 7, 31)


@pytest.mark.parametrize("body", [False, True])
def test_masks_of_the_free_function(body: bool) -> None:
    query, key = torch.zeros(2, 3, 5, 7), torch.zeros(2, 3, 11, 7)

    def run(mask: torch.Tensor) -> Callable[[], object]:
        def inside() -> object:
            if not body:
                return attention(query, key, key, mask)
            with explicit():
                return attention(query, key, key, mask)

        return inside

    wrong = torch.ones(2, 5, 11, dtype=torch.bool)
    refused(
        run(wrong), InputError, "shape (2, 5, 11)", "expected (2, 3, 5, 11)", "reshape or unsqueeze"
    )
    additive = torch.zeros(2, 1, 5, 11)
    refused(run(additive), InputError, "torch.float32", "torch.bool", "compare or convert it")


def test_a_fine_source_mask_needs_encode_and_decode() -> None:
    mask = torch.ones(2, 7, 7, dtype=torch.bool)
    refused(
        call(BOTH, GOOD, GOOD, source_mask=mask),
        InputError,
        "(2, 7, 7)",
        "(batch, 1, source length)",
        "call encode and decode",
    )


def test_a_fine_target_mask_does_not_go_with_a_state() -> None:
    mask = torch.ones(2, 7, 7, dtype=torch.bool)
    refused(
        lambda: GPT.decode(GOOD, target_mask=mask, state=GPT.start()),
        InputError,
        "(2, 7, 7)",
        "(batch, 1, new tokens)",
        "decode without a state",
    )


@pytest.mark.parametrize("shape", [(3, 7, 22), (2, 7, 21), (7, 22), (2, 7)])
def test_memory_that_is_not_the_encoders_output(shape: tuple[int, ...]) -> None:
    memory = torch.zeros(shape, dtype=torch.float64)
    says = f"shape {shape}", "expected (2, source length, 22)", "what encode returned"
    refused(lambda: BOTH.decode(GOOD, memory), InputError, *says)


def test_a_source_and_a_target_of_different_batches() -> None:
    refused(
        call(BOTH, batch((7, 4, 5)), GOOD),
        InputError,
        "(3, 7, 22)",
        "expected (2, source length, 22)",
        "the same sentences",
    )


def test_the_wrong_family() -> None:
    memory = torch.zeros(2, 7, 22, dtype=torch.float64)
    says = "memory of shape (2, 7, 22)", "expects none", "leave it out"
    refused(lambda: GPT.decode(GOOD, memory), InputError, *says)
    refused(
        call(GPT, GOOD, GOOD), InputError, "target is given", "one sequence", "leave target out"
    )
    refused(
        call(BERT, GOOD, GOOD), InputError, "target is given", "one sequence", "leave target out"
    )
    refused(
        call(BOTH, GOOD), InputError, "target is missing", "encoder-decoder", "(source, target)"
    )
    refused(lambda: BOTH.decode(GOOD), InputError, "memory is missing", "encoder's output", "give")
    refused(lambda: GPT.encode(GOOD), InputError, "family 'decoder'", "no encoder", "use decode")
    refused(lambda: BERT.decode(GOOD), InputError, "family 'encoder'", "no decoder", "use encode")
    refused(lambda: BERT.classify(GOOD), InputError, "no classifier", "classes", "set classes")


def test_refused_ids_leave_the_state_as_it_was() -> None:
    state = GPT.start()
    expected = GPT.decode(GOOD)
    GPT.decode(GOOD[:, :3], state=state)
    with pytest.raises(InputError):
        GPT.decode(torch.tensor([[5], [31]]), state=state)
    torch.testing.assert_close(GPT.decode(GOOD[:, 3:], state=state), expected[:, 3:])
