"""Dropout with a cheap random source is dropout: the right share, the right scale, no pattern."""

import pytest
import torch
from torch import Tensor

from cutaway.model import explicit
from cutaway.model.dropout import Dropout, keep_mask


def drawn(p: float, *shape: int, seed: int = 1) -> Tensor:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        dropped: Tensor = Dropout(p)(torch.ones(shape))
    return dropped


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_the_right_share_is_dropped_and_the_rest_scaled(p: float) -> None:
    """Over 250,000 cells the share is within five standard errors; the mean stays one."""
    values = drawn(p, 503, 499)
    kept = values != 0
    share = 1 - kept.double().mean().item()
    assert abs(share - p) < 5 * (p * (1 - p) / values.numel()) ** 0.5
    scales = values[kept]
    assert scales.min() == scales.max() == pytest.approx(1 / (1 - p), rel=1e-4)
    assert abs(values.double().mean().item() - 1) < 0.02


def test_cells_that_share_a_draw_are_independent() -> None:
    """Correlation of each cell with its next three neighbours, over 250,000 cells."""
    cells = (drawn(0.5, 250_007) != 0).double() - 0.5
    for distance in (1, 2, 3, 4):
        correlation = (cells[distance:] * cells[:-distance]).mean().item() * 4
        assert abs(correlation) < 0.01


def test_a_seed_decides_and_another_differs() -> None:
    assert torch.equal(drawn(0.3, 7, 11), drawn(0.3, 7, 11))
    assert not torch.equal(drawn(0.3, 7, 11), drawn(0.3, 7, 11, seed=2))


@pytest.mark.parametrize("shape", [(1,), (3,), (5, 7), (2, 3, 5)])
def test_any_number_of_cells(shape: tuple[int, ...]) -> None:
    assert keep_mask(torch.ones(shape), 0.5).shape == shape


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.999999999])
def test_the_edges_of_the_range_are_finite(p: float) -> None:
    assert torch.isfinite(drawn(p, 101)).all()


def test_nothing_happens_in_use_or_at_zero() -> None:
    states = torch.randn(3, 5)
    assert Dropout(0.5).eval()(states) is states
    assert Dropout(0.0)(states) is states


def test_the_gradient_passes_where_the_value_did() -> None:
    states = torch.ones(31, 37, requires_grad=True)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        dropped = Dropout(0.4)(states)
    (gradient,) = torch.autograd.grad(dropped.sum(), states)
    assert torch.equal(gradient, dropped.detach())


def test_the_explicit_body_is_torchs_own() -> None:
    """So that a recorded run shows one well-known operation."""
    states = torch.ones(7, 11)
    with torch.random.fork_rng(), explicit():
        torch.manual_seed(1)
        ours = Dropout(0.3)(states)
        torch.manual_seed(1)
        theirs = torch.nn.functional.dropout(states, 0.3)
    assert torch.equal(ours, theirs)
