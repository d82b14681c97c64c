"""Operations on lists of tensors: recorded, they give what they give unrecorded, and are proven."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cutaway import glass

CALLS: dict[str, Callable[[list[Tensor], list[Tensor]], object]] = {
    "norm": lambda x, y: torch._foreach_norm(x, 2),
    "norm of order 1": lambda x, y: torch._foreach_norm(x, 1),
    "norm in float64": lambda x, y: torch._foreach_norm(x, 2, dtype=torch.float64),
    "add": lambda x, y: torch._foreach_add(x, y, alpha=0.3),
    "add a number": lambda x, y: torch._foreach_add(x, 3.0),
    "add numbers": lambda x, y: torch._foreach_add(x, [3.0, 5.0]),
    "mul": lambda x, y: torch._foreach_mul(x, y),
    "mul by a tensor": lambda x, y: torch._foreach_mul(x, torch.tensor(0.7)),
    "div": lambda x, y: torch._foreach_div(x, y),
    "sub": lambda x, y: torch._foreach_sub(x, y, alpha=2),
    "addcmul": lambda x, y: torch._foreach_addcmul(x, x, y, 0.3),
    "addcdiv by numbers": lambda x, y: torch._foreach_addcdiv(x, x, y, [0.3, 0.7]),
    "sqrt": lambda x, y: torch._foreach_sqrt(y),
    "pow": lambda x, y: torch._foreach_pow(y, 3),
    "lerp": lambda x, y: torch._foreach_lerp(x, y, 0.3),
    "maximum": lambda x, y: torch._foreach_maximum(x, y),
    "clamp by a number": lambda x, y: torch._foreach_clamp_min(x, 0.1),
}


def lists() -> tuple[list[Tensor], list[Tensor]]:
    torch.manual_seed(0)
    first = [torch.randn(7, 11), torch.randn(5)]
    return first, [tensor.abs() + 0.5 for tensor in first]


@pytest.mark.parametrize("name", CALLS)
def test_recording_changes_neither_numbers_nor_types(name: str) -> None:
    plain = CALLS[name](*lists())
    with glass.record() as trace:
        recorded = CALLS[name](*lists())
    assert isinstance(plain, (list, tuple))
    assert isinstance(recorded, (list, tuple))
    for left, right in zip(plain, recorded, strict=True):
        assert left.dtype == right.dtype
        torch.testing.assert_close(left, right)
    assert trace.prove().complete
