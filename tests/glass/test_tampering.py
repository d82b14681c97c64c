"""A recorded number changed, or a rule: the proof must fail, wherever it is."""

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway import glass
from cutaway.glass.evaluator import evaluate
from cutaway.glass.expr import Op, op
from cutaway.glass.prove import Proof, judge, prove_value
from cutaway.glass.values import Value
from tests.glass.cases import CASES, Source
from tests.glass.test_rules import run

DTYPES = [torch.float32, torch.float64]
dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])


def change(value: Value, place: int, by: float | None = None) -> None:
    """Write another number over one recorded cell, by default one 3 % off."""
    assert value.buffer is not None
    value.buffer.freeze()
    where = np.unravel_index(place, value.shape)
    cell = value.tensor()[where]
    if cell.dtype == torch.bool:
        cell.logical_not_()
    elif by is not None:
        cell.add_(by)
    elif not cell.is_floating_point():
        cell.add_(1 << 20 if cell.dtype == torch.int64 else 1)  # no place of any row
    elif not cell.isfinite():
        cell.fill_(1.0)
    else:
        cell.add_(max(abs(float(cell)), 1.0) / 32)


def fails(trace: glass.Trace, value: Value) -> bool:
    """Whether a value, or another one in the same memory, no longer follows from its rule."""
    proof = Proof()
    for other in trace:
        if other.buffer is value.buffer:
            prove_value(trace, other, proof)
    return bool(proof.failures)


def changeable(trace: glass.Trace) -> Iterator[Value]:
    """Computed values that hold memory of their own, the first of each operation and rank."""
    met = set()
    for value in trace:
        rule, _ = trace.rule(value)
        kind = (value.op, value.output, len(value.shape), value.dtype)
        if value.origin == "call" and rule.expr is not None and value.cells and kind not in met:
            met.add(kind)
            yield value


@dtypes
@pytest.mark.parametrize("name", CASES)
def test_a_changed_cell_of_any_operation_is_caught(name: str, dtype: torch.dtype) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = run(name, Source(5, ("plain", "transposed"), (3, 5, 7), dtype=dtype))
    assert trace.prove().complete
    generator = np.random.default_rng(1)
    for value in list(changeable(trace)):
        assert value.buffer is not None
        value.buffer.freeze()
        kept = value.buffer.read().clone()
        for place in {0, value.cells - 1, int(generator.integers(value.cells))}:
            change(value, place)
            assert fails(trace, value), (value.address, value.op, place)
            value.buffer.read().copy_(kept)
    assert trace.prove().complete


MASKS = {"minus infinity": -torch.inf, "−100": -100.0, "−1e4": -1e4, "smallest": None}


def masked(kind: str, dtype: torch.dtype) -> Tensor:
    """Rows of numbers with one masked place, and a row that is masked as a whole."""
    hidden = MASKS[kind]
    hidden = torch.finfo(dtype).min if hidden is None else hidden
    rows = torch.tensor([[1.0, 2.0, 3.0, 0.5], [0.1, -0.2, 0.3, 0.9]], dtype=dtype)
    mask = torch.tensor([[0.0, 0.0, 0.0, hidden], [hidden] * 4], dtype=dtype)
    return rows + mask


@dtypes
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("operation", ["log_softmax", "softmax", "logsumexp", "amax", "max"])
def test_a_mask_does_not_hide_its_row(operation: str, kind: str, dtype: torch.dtype) -> None:
    x = masked(kind, dtype)
    with glass.record() as trace:
        if operation in ("amax", "logsumexp"):
            getattr(x, operation)(-1)
        elif operation == "max":
            x.max(-1)
        else:
            getattr(x, operation)(-1)
    value = next(value for value in trace if value.origin == "call" and value.output == 0)
    assert trace.prove().complete
    assert value.buffer is not None
    value.buffer.freeze()
    kept = value.buffer.read().clone()
    for place in range(value.cells):
        for by in (100.0, 0.02, -0.02):
            change(value, place, by)
            if torch.equal(torch.nan_to_num(value.buffer.read()), torch.nan_to_num(kept)):
                continue  # NaN, −∞ or the smallest number: adding to it changes nothing
            assert not trace.prove().complete, (place, by)
            value.buffer.read().copy_(kept)


@dtypes
def test_every_probability_of_eager_attention_with_a_finite_mask_can_be_disproved(
    dtype: torch.dtype,
) -> None:
    """The mask that Hugging Face's eager attention adds: the smallest number of the type."""
    torch.manual_seed(2)
    query, key, value = (torch.randn(2, 3, 7, 4, dtype=dtype) for _ in range(3))
    allowed = torch.ones(7, 7).tril().bool() & (torch.arange(7) < 5)
    allowed = allowed.expand(2, 1, 7, 7).clone()
    allowed[1, 0, 2] = False  # a query that may attend to nothing
    with glass.record() as trace:
        mask = torch.zeros(2, 1, 7, 7, dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min)
        weights = query @ key.transpose(-2, -1) * 4**-0.5 + mask
        probabilities = F.softmax(weights, dim=-1)
        output = probabilities @ value
    assert trace.prove().complete
    assert output.shape == value.shape
    found = next(value for value in trace if value.op == "aten._softmax.default")
    rule, args = trace.rule(found)
    operands = [trace.values[place].array() for place in args]
    held = found.array().astype(np.float64)
    again = evaluate(rule.arithmetic, operands, found.shape).astype(np.float64)
    for by in (100.0, 1e-3, -1e-3):
        wrong, _ = judge(rule, found.op, operands, held + by, again, found.dtype)
        assert wrong.all()


@dtypes
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_half_a_step_of_fused_adam_is_seen(
    kind: type[torch.optim.Adam], dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    net = nn.Linear(5, 3).to(dtype)
    optimizer = kind(net.parameters(), lr=1e-3, fused=True)
    with glass.record(net) as trace:
        net(torch.rand(2, 5, dtype=dtype)).square().sum().backward()
        optimizer.step()
    assert trace.prove().complete
    change(trace.value("weight.after"), 4, 5e-4)
    proof = trace.prove("weight.after")
    assert [failure.address for failure in proof.failures] == ["weight.after[0,4]"]


@dtypes
@pytest.mark.parametrize("width", [16, 64, 512])
def test_a_missing_epsilon_is_seen(width: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(11, width, dtype=dtype)
    with glass.record() as trace:
        F.layer_norm(x, (width,), eps=1e-5)
    assert trace.prove().complete
    spread = next(value for value in trace if value.output == 2)
    rule, args = trace.rule(spread)
    assert isinstance(rule.expr, Op)
    (inside,) = rule.expr.args
    assert isinstance(inside, Op)
    variance, epsilon = inside.args
    assert (rule.expr.head, epsilon) == ("rsqrt", 1e-5)
    operands = [trace.values[place].array() for place in args]
    without = replace(rule, expr=op("rsqrt", variance))
    again = evaluate(without.arithmetic, operands, spread.shape).astype(np.float64)
    held = spread.array().astype(np.float64)
    wrong, _ = judge(without, spread.op, operands, held, again, spread.dtype)
    assert wrong.any()


def test_a_place_outside_its_row_is_no_tie() -> None:
    with glass.record() as trace:
        torch.tensor([[1.0, 2.0, 3.0]]).max(1)
    value = next(value for value in trace if value.output == 1 and value.origin == "call")
    change(value, 0, 5)
    assert not trace.prove().complete


def test_the_headline_tells_arithmetic_from_copies_and_constants() -> None:
    with glass.record() as trace:
        x = torch.arange(6.0)
        y = x.reshape(2, 3).clone()
        z = y * 2
    proof = trace.prove()
    assert z.shape == (2, 3)
    assert (proof.constants, proof.copies, proof.arithmetic) == (6, 12, 6)
    assert proof.proven == proof.cells == 24
    shown = repr(proof)
    assert "6 arithmetic, 12 views and copies, 6 constants" in shown
    assert "0 unexplained" in shown


def test_the_largest_error_is_a_share_of_the_bound() -> None:
    torch.manual_seed(0)
    with glass.record() as trace:
        product = torch.rand(7, 31) @ torch.rand(31, 5)
    proof = trace.prove()
    assert 0 < proof.max_error < 1
    assert proof.worst.startswith("product[")
    change(trace.value("product"), 3, 1.0)
    (failure,) = trace.prove().failures
    assert failure.error > 1
    assert product.shape == (7, 5)


def test_a_pattern_that_matches_nothing_is_an_error() -> None:
    with glass.record() as trace:
        torch.rand(3) + 1
    with pytest.raises(glass.TraceError, match="no address matches 'no.such"):
        trace.prove("no.such.*")
