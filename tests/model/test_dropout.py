"""Dropout: the shares, the expectation, and nothing outside training."""

import pytest
import torch

from cutaway import glass
from cutaway.model.attention import explicit
from cutaway.model.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_shares_and_expectation(p: float) -> None:
    torch.manual_seed(1)
    found = Dropout(p)(torch.ones(503, 997))
    assert float((found == 0).float().mean()) == pytest.approx(p, abs=0.003)
    assert float(found.mean()) == pytest.approx(1.0, abs=0.01)
    assert found.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)], rel=1e-4)


def test_neighbours_that_share_a_draw_are_independent() -> None:
    torch.manual_seed(2)
    kept = (Dropout(0.5)(torch.ones(400_000)) != 0).view(-1, 4).double()
    correlation = torch.corrcoef(kept.T)
    assert float((correlation - torch.eye(4)).abs().max()) < 0.01


def test_the_gradient_passes_where_the_value_did() -> None:
    states = torch.randn(7, 13, requires_grad=True)
    found = Dropout(0.4)(states)
    found.sum().backward()
    assert states.grad is not None
    torch.testing.assert_close(states.grad * states.detach(), found.detach())


def test_a_seed_decides_and_evaluation_is_untouched() -> None:
    states = torch.randn(11, 5)
    module = Dropout(0.3)
    first, second = (_drawn(module, states, 9) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, _drawn(module, states, 10))
    assert torch.equal(module.eval()(states), states)


@pytest.mark.parametrize("shape", [(11, 5), (2, 3, 7), (1,)], ids=str)
def test_the_explicit_body_draws_the_same_numbers(shape: tuple[int, ...]) -> None:
    states = torch.randn(shape)
    module = Dropout(0.3)
    fast = _drawn(module, states, 3)
    with explicit():
        assert torch.equal(_drawn(module, states, 3), fast)


def test_recorded_dropout_is_proven_and_ends_at_random_draws() -> None:
    states = torch.randn(11, 5, requires_grad=True)
    module = Dropout(0.3)
    with glass.record(module) as trace:
        kept = module(states)
        kept.sum().backward()
    assert trace.prove().complete
    drawn = [value for value in trace.values if trace.rule(value)[0].source == "random"]
    assert [value.dtype for value in drawn] == ["int16"]


def _drawn(module: Dropout, states: torch.Tensor, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    found: torch.Tensor = module(states)
    return found
