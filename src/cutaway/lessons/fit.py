"""A few updates of Adam on a small loss: the training loop of examples that need no more."""

from collections.abc import Callable, Iterable

from torch import Tensor

from cutaway.training.optimizer import Adam


def fit(
    parameters: Iterable[Tensor],
    loss: Callable[[], Tensor],
    *,
    updates: int,
    rate: float,
    betas: tuple[float, float] = (0.9, 0.999),
) -> list[float]:
    """Minimise a loss; returns its value before each update."""
    optimizer = Adam(parameters, lr=rate, betas=betas)
    losses = []
    for _ in range(updates):
        value = loss()
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(value.detach()))
    return losses
