"""Decoding step by step, with cached keys and values, equals decoding in full."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cutaway.model import Transformer, explicit
from tests.model.samples import PATTERNS, batch, build, close, small

FAMILIES = ("encoder-decoder", "decoder")


def encoded(model: Transformer, rows: int) -> tuple[Tensor | None, Tensor | None]:
    """Memory and its mask for a padded source of so many rows."""
    if model.encoder is None:
        return None, None
    source = batch(tuple(3 + row % 5 for row in range(rows)), seed=9)
    return model.encode(source), model.padding(source)


def in_full(
    model: Transformer, target: Tensor, memory: Tensor | None, mask: Tensor | None
) -> Tensor:
    return model.project(model.decode(target, memory, mask))


def compare(model: Transformer, target: Tensor, steps: list[int]) -> None:
    """Feed `steps` tokens at a time; after every step all logits equal those of one pass."""
    memory, mask = encoded(model, len(target))
    expected = in_full(model, target, memory, mask)
    state = model.start()
    past = 0
    for step in steps:
        chunk = target[:, past : past + step]
        logits = model.project(model.decode(chunk, memory, mask, state=state))
        past += step
        assert state.length == past
        close(logits, expected[:, past - step : past])
        prefix = in_full(model, target[:, :past], memory, mask)  # nor did the future matter
        close(logits, prefix[:, past - step :])


@torch.no_grad()
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("family", FAMILIES)
def test_one_token_at_a_time(family: str, pattern: str, norm: str) -> None:
    model = build(small(family=family, attention=pattern, norm=norm))
    compare(model, batch((13, 13, 13)), [1] * 13)


@torch.no_grad()
@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    lengths=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    left=st.booleans(),
    family=st.sampled_from(FAMILIES),
    pattern=st.sampled_from(PATTERNS),
    settings_=st.sampled_from([{}, {"position_amplitude": True}, {"positions": "learned"}]),
)
def test_any_steps_and_any_padding(
    steps: list[int],
    lengths: list[int],
    left: bool,
    family: str,
    pattern: str,
    settings_: dict[str, Any],
) -> None:
    """Several tokens a step; contexts padded on either side, rows that are padding at first."""
    length = sum(steps)
    rows = tuple(min(n, length) for n in lengths)
    target = batch((*rows, length), left=left)
    compare(build(small(family=family, attention=pattern, **settings_)), target, steps)


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_taken_anew_go_on_as_if_they_had_been_there_all_along(family: str) -> None:
    """Beam search: after some steps rows are dropped or taken several times."""
    model = build(small(family=family))
    target = batch((9, 7, 9), left=True)
    memory, mask = encoded(model, 3)
    state = model.start()
    model.decode(target[:, :4], memory, mask, state=state)
    rows = torch.tensor([2, 0, 2, 2])
    state.select(rows)
    following = batch((5, 5, 5, 5), seed=12)
    chosen = torch.cat([target[rows, :4], following], dim=1)
    if memory is not None and mask is not None:
        memory, mask = memory[rows], mask[rows]
    expected = model.decode(chosen, memory, mask)
    for step in range(4, 9):
        states = model.decode(chosen[:, step : step + 1], memory, mask, state=state)
        close(states, expected[:, step : step + 1])
    assert state.length == 9


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_cached_and_explicit_together(family: str) -> None:
    with explicit():
        compare(build(small(family=family, attention="local")), batch((6, 9), left=True), [1, 3, 5])


@torch.no_grad()
def test_with_a_state_the_target_mask_says_which_new_tokens_are_real() -> None:
    """Ids that are no padding can be hidden, and stay so in later steps."""
    model = build(small(family="decoder"))
    target = batch((7, 7))
    real = torch.ones(2, 1, 7, dtype=torch.bool)
    real[0, 0, 2] = real[1, 0, 4] = False
    expected = model.decode(target, target_mask=real)
    state = model.start()
    for past, step in ((0, 3), (3, 1), (4, 3)):
        now = slice(past, past + step)
        close(
            model.decode(target[:, now], target_mask=real[:, :, now], state=state),
            expected[:, now],
        )


@torch.no_grad()
def test_the_sources_keys_are_projected_once() -> None:
    """After the first step the memory itself is not read again."""
    model = build(small())
    memory, mask = encoded(model, 2)
    assert memory is not None
    target = batch((5, 5))
    expected = model.decode(target, memory, mask)
    state = model.start()
    model.decode(target[:, :1], memory, mask, state=state)
    spoiled = torch.full_like(memory, torch.nan)
    close(model.decode(target[:, 1:], spoiled, mask, state=state), expected[:, 1:])
