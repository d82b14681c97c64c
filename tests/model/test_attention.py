"""Attention's bodies agree: fused with explicit, block by block with a dense mask."""

import threading
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cutaway.config import ModelConfig
from cutaway.model import (
    MultiHeadAttention,
    Transformer,
    attention,
    causal_mask,
    explicit,
    local_attention,
)
from cutaway.model.attention import is_explicit
from cutaway.model.masks import reach
from tests.model.probe import watching
from tests.model.samples import FAMILIES, PATTERNS, batch, build, close, inputs, small

PRECISIONS = [(torch.float32, 1e-6), (torch.float64, 1e-12)]
precisions = pytest.mark.parametrize(("dtype", "within"), PRECISIONS, ids=["float32", "float64"])


def heads(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()


def operands(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Query (2, 3, 5, 7), key (2, 3, 11, 7), value (2, 3, 11, 13)."""
    return (
        heads(2, 3, 5, 7, dtype=dtype, seed=1),
        heads(2, 3, 11, 7, dtype=dtype, seed=2),
        heads(2, 3, 11, 13, dtype=dtype, seed=3),
    )


def masks() -> dict[str, Tensor | None]:
    generator = torch.Generator().manual_seed(4)
    random = torch.rand(2, 1, 5, 11, generator=generator) < 0.6
    random[1, 0, 3] = False  # a query that may attend nothing
    return {
        "none": None,
        "random": random,
        "per head": torch.rand(1, 3, 5, 11, generator=generator) < 0.5,
        "padding": (torch.arange(11) < torch.tensor([[4], [9]]))[:, None, None],
        "causal": causal_mask(5, 11)[None, None],
        "nothing": torch.zeros(1, 1, 1, 11, dtype=torch.bool),
    }


@precisions
@pytest.mark.parametrize("name", list(masks()))
def test_fused_equals_explicit(name: str, dtype: torch.dtype, within: float) -> None:
    """Values and the gradients of query, key and value."""
    given_operands, mask = operands(dtype), masks()[name]
    weights = heads(2, 3, 5, 13, dtype=dtype, seed=5).detach()
    fused = attention(*given_operands, mask)
    with explicit():
        steps = attention(*given_operands, mask)
    close(fused, steps, within)
    gradients = torch.autograd.grad((fused * weights).sum(), given_operands)
    expected = torch.autograd.grad((steps * weights).sum(), given_operands)
    for one, other in zip(gradients, expected, strict=True):
        assert torch.isfinite(one).all()
        close(one, other, within)


@pytest.mark.parametrize("name", ["random", "nothing"])
def test_a_query_that_may_attend_nothing_gets_zeros(name: str) -> None:
    mask = masks()[name]
    assert mask is not None
    empty = ~mask.any(-1).expand(2, 3, 5)
    assert empty.any()
    for body in (nullcontext, explicit):
        query, key, value = operands()
        with body():
            context = attention(query, key, value, mask)
        assert (context[empty] == 0).all()
        (gradient,) = torch.autograd.grad(context.sum(), query)
        assert (gradient[empty] == 0).all()


def gradients_of(model: Transformer, logits: Tensor) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(6)
    weights = torch.randn(logits.shape, generator=generator, dtype=torch.float64).to(logits)
    parameters = dict(model.named_parameters())
    gradients = torch.autograd.grad((logits * weights).mean(), list(parameters.values()))
    return dict(zip(parameters, gradients, strict=True))


@precisions
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_fused_equals_explicit(
    family: str, pattern: str, dtype: torch.dtype, within: float
) -> None:
    """Logits, and the gradient of every parameter."""
    model = build(small(family=family, attention=pattern), dtype=dtype)
    given_ids = inputs(model.config)
    fused = model(*given_ids)
    fused_gradients = gradients_of(model, fused)
    with explicit():
        steps = model(*given_ids)
        expected = gradients_of(model, steps)
    scale = max(1.0, steps.abs().max().item())  # float32 carries seven digits, not decimals
    close(fused, steps, within * scale)
    for name, gradient in fused_gradients.items():
        close(gradient, expected[name], within)


@settings(max_examples=40, deadline=None)
@given(
    length=st.integers(1, 23),
    window=st.integers(1, 9),
    causal=st.booleans(),
    padded=st.booleans(),
    seed=st.integers(0, 99),
)
def test_local_attention_equals_a_dense_mask(
    length: int, window: int, causal: bool, padded: bool, seed: int
) -> None:
    """Keys at most `window` away, and none later if causal; values and gradients."""
    shape = (2, 3, length, 5)
    query, key, value = (heads(*shape, seed=seed + n) for n in range(3))
    config = ModelConfig(vocabulary=2, attention="local", window=window)
    dense = reach(config, length, length, causal=causal, device=query.device)
    assert dense is not None
    brute = [
        [abs(q - k) <= window and (k <= q or not causal) for k in range(length)]
        for q in range(length)
    ]
    assert dense.tolist() == brute
    real = None
    mask = dense[None, None]
    if padded:
        real = torch.arange(length) < torch.tensor([[(length + 1) // 2], [length]])
        real = real[:, None, None]  # (B, 1, 1, L)
        mask = mask & real
    blocks = local_attention(query, key, value, real, window=window, causal=causal)
    expected = attention(query, key, value, mask)
    close(blocks, expected)
    ours = torch.autograd.grad(blocks.sin().sum(), (query, key, value))
    theirs = torch.autograd.grad(expected.sin().sum(), (query, key, value))
    for one, other in zip(ours, theirs, strict=True):
        close(one, other)


@pytest.mark.parametrize("family", ["encoder", "decoder"])
def test_the_local_pattern_takes_a_mask_finer_than_padding(family: str) -> None:
    """Then it keeps to window and mask in one dense matrix."""
    model = build(small(family=family, attention="local"))
    ids = batch((7, 7))
    generator = torch.Generator().manual_seed(8)
    mask = torch.rand(2, 7, 7, generator=generator) < 0.7
    fused = model(ids, source_mask=mask)
    with explicit():
        close(fused, model(ids, source_mask=mask))
    assert not torch.allclose(fused, model(ids))


@settings(max_examples=30, deadline=None)
@given(
    length=st.integers(1, 19),
    window=st.integers(1, 5),
    stride=st.integers(1, 7),
    causal=st.booleans(),
)
def test_the_strided_pattern_is_the_window_and_every_stride_th_key(
    length: int, window: int, stride: int, causal: bool
) -> None:
    config = ModelConfig(vocabulary=2, attention="strided", window=window, stride=stride)
    mask = reach(config, length, length, causal=causal, device=torch.device("cpu"))
    assert mask is not None
    brute = [
        [
            (abs(q - k) <= window or (q - k) % stride == 0) and (k <= q or not causal)
            for k in range(length)
        ]
        for q in range(length)
    ]
    assert mask.tolist() == brute


def test_the_causal_mask_stands_at_the_end_of_the_keys() -> None:
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


def test_explicit_belongs_to_its_thread_and_ends_with_its_block() -> None:
    elsewhere: list[bool] = []
    assert not is_explicit()
    with explicit():
        with explicit():
            assert is_explicit()
        assert is_explicit()
        thread = threading.Thread(target=lambda: elsewhere.append(is_explicit()))
        thread.start()
        thread.join()
    assert elsewhere == [False]
    assert not is_explicit()
    with pytest.raises(RuntimeError, match="stop"), explicit():
        raise RuntimeError("stop")
    assert not is_explicit()


@pytest.mark.parametrize("body", [False, True])
def test_dropout_acts_on_weights_in_training_only(body: bool) -> None:
    """With p = 0.5 each weight of ¼ becomes 0 or ½: contexts are multiples of ½."""
    config = ModelConfig(
        vocabulary=2, d_model=2, heads=1, attention_dropout=0.5, bias=False, positions="none"
    )
    module = MultiHeadAttention(config)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            torch.nn.init.zeros_(parameter) if name[2] in "QK" else torch.nn.init.eye_(parameter)

    def run() -> Tensor:
        states = torch.ones(1, 4, 2)
        with torch.no_grad(), explicit() if body else nullcontext():
            output: Tensor = module(states, states, None)
        return output

    with torch.random.fork_rng():
        torch.manual_seed(1)
        dropped = torch.cat([run() for _ in range(50)])
    close(dropped * 2, (dropped * 2).round(), 1e-6)
    assert dropped.min() == 0.0
    assert dropped.max() == 2.0
    assert abs(dropped.mean().item() - 1.0) < 0.1
    module.eval()
    close(run(), torch.ones(1, 4, 2), 1e-6)


def test_head_width_is_free_of_the_models_width() -> None:
    config: dict[str, Any] = {"vocabulary": 2, "d_model": 10, "heads": 3, "head_width": 7}
    module = MultiHeadAttention(ModelConfig(**config))
    assert module.W_Q.weight.shape == (21, 10)
    assert module.W_O.weight.shape == (10, 21)
    assert module(torch.zeros(2, 5, 10), torch.zeros(2, 11, 10), None).shape == (2, 5, 10)


@torch.no_grad()
@pytest.mark.parametrize("masked", [False, True])
def test_the_weights_alone_are_those_of_the_explicit_body(masked: bool) -> None:
    module = MultiHeadAttention(small()).double()
    states, memory = heads(2, 5, 22), heads(2, 11, 22, seed=1)
    mask = masks()["random"]
    assert mask is not None
    given_mask = mask[:, 0] if masked else None
    with explicit(), watching(module) as seen:
        module(states, memory, given_mask)
    close(module.weights(states, memory, given_mask), torch.from_numpy(seen["weights"]))
