"""The batches of an update computed at the same time, each by a thread of its own."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

from cutaway.model.attention import is_explicit

Item = TypeVar("Item")
Result = TypeVar("Result")


class SideBySide:
    """Losses and gradients of several batches, in threads that meet once per update.

    Threads that share each operation wait for each other some thousand times per update. Two that
    take a batch each made training at `tiny` 1.4 times as fast on two cores (docs/benchmarks.md).
    Gradients are added in the order of the batches, and each batch is computed by the same number
    of threads whether alone or beside others: the bits do not depend on who finishes first.
    """

    def __init__(self, batches: int) -> None:
        threads = torch.get_num_threads()
        self.each = max(1, threads // batches)  # threads that share the operations of one batch
        self.workers = min(threads, batches)
        self._pool = ThreadPoolExecutor(
            self.workers, "batch", initializer=torch.set_num_threads, initargs=(self.each,)
        )

    def gradients(
        self, losses: Sequence[Callable[[], Tensor]], parameters: Sequence[nn.Parameter]
    ) -> list[Tensor]:
        """The value of each loss; the sum of their gradients is then in `grad`."""

        def one(loss: Callable[[], Tensor]) -> tuple[Tensor, Sequence[Tensor | None]]:
            value = loss()
            return value.detach(), torch.autograd.grad(value, parameters, allow_unused=True)

        values: list[Tensor] = []
        with threads_of_operations(self.each):
            for value, gradients in self._pool.map(one, losses):
                values.append(value)
                _add(parameters, gradients)
        return values


def _add(parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor | None]) -> None:
    """Add gradients to those the parameters have, as `backward` does."""
    sums, added = [], []
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if gradient is None:
            continue
        if parameter.grad is None:
            parameter.grad = gradient
        else:
            sums.append(parameter.grad)
            added.append(gradient)
    if sums:
        torch._foreach_add_(sums, added)


def each_in_a_thread(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """`map` of work without gradients: as many items at once as torch has threads, one for each."""
    workers = min(torch.get_num_threads(), len(items))
    if workers < 2 or is_watched():
        yield from map(work, items)
        return
    with (
        threads_of_operations(1),
        ThreadPoolExecutor(
            workers, "item", initializer=torch.set_num_threads, initargs=(1,)
        ) as pool,
    ):
        yield from pool.map(work, items)


def is_watched() -> bool:
    """Whether a recorder or counter looks at this thread's operations, or `explicit` holds here.

    Neither reaches another thread.
    """
    return _get_current_dispatch_mode() is not None or is_explicit()


@contextmanager
def threads_of_operations(number: int) -> Iterator[None]:
    """Within this block an operation of this thread is shared by so many threads.

    MKL has one number for the whole process: a worker's own is not enough.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
