"""The chunked loss is the formula's, in value and gradient."""

import itertools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway.training import loss as loss_module
from cutaway.training.loss import (
    cut_off_loss,
    projected_loss,
    smoothed_cross_entropy,
    two_pass_loss,
)

N, D, V = 67, 5, 131


def tensors(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(3)
    states = torch.randn(N, D, generator=generator, dtype=dtype).requires_grad_()
    table = torch.randn(V, D, generator=generator, dtype=dtype).requires_grad_()
    bias = torch.randn(V, generator=generator, dtype=dtype).requires_grad_()
    gold = torch.randint(V, (N,), generator=generator)
    return states, table, bias, gold


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_smoothed_cross_entropy_is_torchs(smoothing: float) -> None:
    states, table, bias, gold = tensors()
    logits = F.linear(states, table, bias)
    ours = smoothed_cross_entropy(logits, gold, smoothing)
    theirs = F.cross_entropy(logits, gold, label_smoothing=smoothing, reduction="none")
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("smoothing", "with_bias"), list(itertools.product([0.0, 0.1], [True, False]))
)
def test_chunks_give_the_whole(
    monkeypatch: pytest.MonkeyPatch, smoothing: float, with_bias: bool
) -> None:
    monkeypatch.setattr(loss_module, "CHUNK_CELLS", {"cpu": 32 * V})  # 67 rows in three chunks
    states, table, bias, gold = tensors()
    bias_given = bias if with_bias else None
    wanted = [states, table, *([bias] if with_bias else [])]
    whole = smoothed_cross_entropy(F.linear(states, table, bias_given), gold, smoothing).sum()
    expected = torch.autograd.grad(3 * whole, wanted)
    chunked = projected_loss(states, table, bias_given, gold, smoothing)
    found = torch.autograd.grad(3 * chunked, wanted)
    torch.testing.assert_close(chunked.double(), whole, rtol=1e-6, atol=0)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    with torch.no_grad():
        plain = projected_loss(states, table, bias_given, gold, smoothing)
    torch.testing.assert_close(plain.double(), whole, rtol=1e-6, atol=0)


def test_products_of_another_type_keep_sums_and_gradients_in_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As under autocast: float64 stands for bfloat16, which not every processor can multiply in."""

    def loss_and_gradients() -> list[torch.Tensor]:
        states, table, bias, gold = tensors(torch.float32)
        loss = projected_loss(states, table, bias, gold, 0.1)
        return [loss, *torch.autograd.grad(loss, [states, table, bias])]

    expected = loss_and_gradients()
    monkeypatch.setattr(loss_module, "product_type", lambda like: torch.float64)
    for one, other in zip(loss_and_gradients(), expected, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other)


def test_chunks_are_larger_where_kernels_are_dear_to_start() -> None:
    table = torch.empty(16_001, 3, device="meta")
    assert len(loss_module._chunks(4096, table)) == 1
    assert len(loss_module._chunks(4096, torch.empty(16_001, 3))) == 32


def test_a_certain_wrong_answer_has_a_finite_loss() -> None:
    """p of the gold token underflows to 0, its loss must not become infinite."""
    states = torch.tensor([[300.0]], requires_grad=True)
    table = torch.tensor([[1.0], [-1.0], [0.0]])
    found = projected_loss(states, table, None, torch.tensor([1]), 0.0)
    assert float(found.detach()) == pytest.approx(600.0)


def test_two_passes_that_agree_cost_what_one_does() -> None:
    states, table, bias, gold = tensors(torch.float32)
    one = projected_loss(states, table, bias, gold, 0.1)
    two = two_pass_loss(states, states, table, bias, gold, 0.1, weight=5.0)
    torch.testing.assert_close(one, two)


def test_two_passes_that_differ_pay_for_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """½ (loss₁ + loss₂) + α/4 (KL(p₁‖p₂) + KL(p₂‖p₁)), with gradients, whatever the chunks."""
    monkeypatch.setattr(loss_module, "CHUNK_CELLS", {"cpu": 32 * V})  # 67 rows in three chunks
    states, table, bias, gold = tensors()
    other = (states.detach() * 0.7 + 0.3).requires_grad_()
    logits, other_logits = F.linear(states, table, bias), F.linear(other, table, bias)
    p, q = torch.log_softmax(logits, -1), torch.log_softmax(other_logits, -1)
    plain = smoothed_cross_entropy(torch.cat([logits, other_logits]), gold.repeat(2), 0.1).sum()
    apart = F.kl_div(q, p, log_target=True, reduction="sum") + F.kl_div(
        p, q, log_target=True, reduction="sum"
    )
    expected = plain / 2 + 3 / 4 * apart
    found = two_pass_loss(states, other, table, bias, gold, 0.1, weight=3.0)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)
    wanted = [states, other, table, bias]
    for ours, theirs in zip(
        torch.autograd.grad(found, wanted), torch.autograd.grad(expected, wanted), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_pass_with_tokens_cut_off_pays_for_its_distance_from_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """loss + α KL(p‖p_cut), with gradients through both, whatever the chunks."""
    monkeypatch.setattr(loss_module, "CHUNK_CELLS", {"cpu": 32 * V})  # 67 rows in three chunks
    states, table, bias, gold = tensors()
    cut = (states.detach() * 0.7 + 0.3).requires_grad_()
    logits = F.linear(states, table, bias)
    p, q = torch.log_softmax(logits, -1), torch.log_softmax(F.linear(cut, table, bias), -1)
    plain = smoothed_cross_entropy(logits, gold, 0.1).sum()
    expected = plain + 3 * F.kl_div(q, p, log_target=True, reduction="sum")
    found = cut_off_loss(states, cut, table, bias, gold, 0.1, weight=3.0)
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)
    wanted = [states, cut, table, bias]
    for ours, theirs in zip(
        torch.autograd.grad(found, wanted), torch.autograd.grad(expected, wanted), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("two", [two_pass_loss, cut_off_loss])
def test_two_passes_over_nothing_still_reach_every_weight(two: Callable[..., Tensor]) -> None:
    """A process with an empty batch must give a (zero) gradient for each parameter."""
    states, table, bias, gold = tensors(torch.float32)
    nothing = states[:0]
    loss = two(nothing, nothing, table, bias, gold[:0], 0.1, weight=3.0)
    assert float(loss.detach()) == 0.0
    gradients = torch.autograd.grad(loss, [states, table, bias])
    assert all(float(gradient.abs().sum()) == 0.0 for gradient in gradients)
