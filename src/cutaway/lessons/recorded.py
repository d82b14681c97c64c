"""Matrices of a lesson read out of a recorded run, by address."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from cutaway.glass import Trace
from cutaway.lessons.lesson import Matrix, Name, Numbers, Said

INHERITED = Said(
    "The step itself is done right. The printed numbers differ because the table before them did.",
    "这一步本身没有算错；印出的数不同，是因为它用的上一张表就不同。",
)


def numbers(trace: Trace, address: str) -> Tensor:
    """The tensor of an address, without the batch of one and the head of one in front."""
    tensor = trace[address].tensor
    while tensor.dim() > 2 and tensor.shape[0] == 1:
        tensor = tensor[0]
    return tensor


def matrix(
    trace: Trace,
    address: str,
    name: Name,
    rows: Sequence[Name] = (),
    columns: Sequence[Name] = (),
    *,
    printed: Numbers | None = None,
    note: Said | None = None,
    digits: int = 4,
    tolerance: float = 0.006,
) -> Matrix:
    """A matrix of a lesson with the numbers of an address."""
    values = numbers(trace, address)
    return Matrix(name, values, rows, columns, printed, note, digits, tolerance)


def dimensions(width: int, letter: str = "d") -> list[str]:
    """Names of the columns of a vector: d0, d1, …"""
    return [f"{letter}{number}" for number in range(width)]


def table(values: Sequence[Sequence[float]]) -> Tensor:
    """Rows of plain numbers as a tensor of doubles."""
    return torch.tensor(values, dtype=torch.float64)


def put(module: nn.Module, path: str, values: Tensor) -> None:
    """Set a weight; matrices are written as in the examples, x W, so W is transposed."""
    with torch.no_grad():
        module.get_parameter(path).copy_(values.T if values.dim() == 2 else values)
