"""Index maps of strided layouts: the cell under a cell, solved as sums, quotients, remainders."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cutaway.glass.evaluator import evaluate
from cutaway.glass.expr import add, at, mul, op
from cutaway.glass.storage import layout
from cutaway.glass.views import remap


@st.composite
def chains(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """A tensor and a view of it made by a chain of random view operations."""
    shape = draw(st.permutations([2, 3, 4, 5]).map(lambda sizes: sizes[:3]))
    base = torch.arange(float(np.prod(shape))).reshape(shape)
    if draw(st.booleans()):
        base = base.transpose(0, 2)
    view = base
    for _ in range(draw(st.integers(1, 4))):
        rank = view.dim()
        kind = draw(
            st.sampled_from(
                ["permute", "slice", "step", "select", "unsqueeze", "merge", "split", "expand"]
            )
        )
        axis = draw(st.integers(0, max(rank - 1, 0)))
        if kind == "permute" and rank:
            view = view.permute(*draw(st.permutations(range(rank))))
        elif kind == "slice" and rank and view.shape[axis] > 1:
            view = view.narrow(axis, 1, view.shape[axis] - 1)
        elif kind == "step" and rank:
            view = view[(slice(None),) * axis + (slice(None, None, 2),)]
        elif kind == "select" and rank > 1:
            view = view.select(axis, view.shape[axis] - 1)
        elif kind == "unsqueeze" and rank < 5:
            view = view.unsqueeze(axis)
        elif kind == "expand" and rank < 5:
            view = view.unsqueeze(axis).expand(*view.shape[:axis], 2, *view.shape[axis:])
        elif kind == "merge" and view.is_contiguous() and rank > 1:
            view = view.view(view.shape[0] * view.shape[1], *view.shape[2:])
        elif kind == "split" and rank and view.shape[axis] % 2 == 0:
            half = view.shape[axis] // 2
            view = view.unflatten(axis, (2, half))  # type: ignore[no-untyped-call]
    return base, view


@settings(max_examples=150, deadline=None, derandomize=True)
@given(chains())
def test_the_cell_under_a_cell(pair: tuple[Tensor, Tensor]) -> None:
    base, view = pair
    where = remap(layout(view), layout(base))
    assert where is not None
    found = evaluate(at(0, *where), [base.numpy()], tuple(view.shape))
    np.testing.assert_array_equal(found, view.numpy())


def test_overlapping_windows_cannot_be_solved_but_look_through() -> None:
    base = torch.arange(7.0)
    windows = base.unfold(0, 3, 1)
    assert remap(layout(windows), layout(windows.clone())) is not None
    assert remap(layout(base), layout(windows)) is None
    where = remap(layout(windows), layout(base))
    assert where == (add("i0", "i1"),)


def test_common_maps_are_short() -> None:
    x = torch.zeros(6, 4)
    assert remap(layout(x.t()), layout(x)) == ("i1", "i0")
    assert remap(layout(x.view(24)), layout(x)) == (op("idiv", "i0", 4), op("mod", "i0", 4))
    assert remap(layout(x.view(2, 3, 4)), layout(x)) == (add(mul("i0", 3), "i1"), "i2")
    merged = torch.zeros(2, 5, 16)
    assert remap(layout(merged.view(10, 16)), layout(merged)) == (
        op("idiv", "i0", 5), op("mod", "i0", 5), "i1",
    )  # fmt: skip
