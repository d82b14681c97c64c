"""Sums of products of two operands, by matrix multiplication in double precision.

Σ_k a[…k…]·b[…k…] has up to millions of terms per block of cells; a matrix product never holds
them all.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cutaway.glass.expr import At, Fold, Op, Ranges

if TYPE_CHECKING:
    from cutaway.glass.evaluator import Evaluator


Factors = tuple[At, At]


def as_product(expr: Fold) -> Factors | None:
    """The two factors of a Σ a·b whose factors are plain cells of operands."""
    match expr:
        case Fold(
            kind="sum", body=Op("mul", (At(default=None) as left, At(default=None) as right))
        ):
            return left, right
    return None


def contract(evaluator: "Evaluator", factors: Factors, ranges: Ranges) -> NDArray[Any] | None:
    """The sum over the ranges as one batched matrix product; None if an index is not linear."""
    with evaluator.bound(ranges):
        left = evaluator.strided(factors[0])
        right = evaluator.strided(factors[1]) if left is not None else None
    if left is None or right is None:
        return None
    outer = evaluator.rank
    left = left.astype(np.float64, copy=False)
    right = right.astype(np.float64, copy=False)
    both, mine, yours, summed = [], [], [], []
    for axis in range(left.ndim):
        wide_left, wide_right = left.shape[axis] > 1, right.shape[axis] > 1
        if axis >= outer:
            summed.append(axis)
        elif wide_left and wide_right:
            both.append(axis)
        elif wide_right:
            yours.append(axis)
        else:
            mine.append(axis)
    sizes = [size for _, size in ranges]
    left = np.broadcast_to(left, (*left.shape[:outer], *sizes))
    right = np.broadcast_to(right, (*right.shape[:outer], *sizes))

    def size(array: NDArray[Any], axes: list[int]) -> int:
        return math.prod(array.shape[axis] for axis in axes)

    terms = math.prod(sizes)
    first = left.transpose(both + mine + summed + yours).reshape(
        size(left, both), size(left, mine), terms
    )
    second = right.transpose(both + summed + yours + mine).reshape(
        size(left, both), terms, size(right, yours)
    )
    product = np.matmul(first, second)  # both, mine, yours
    order = both + mine + yours
    shaped = product.reshape(
        [left.shape[axis] for axis in both + mine] + [right.shape[axis] for axis in yours]
    )
    result: NDArray[Any] = shaped.transpose([order.index(axis) for axis in range(outer)])
    return result
