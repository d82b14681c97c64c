"""Muon: steps of matrices made orthogonal, so that no direction of a matrix lags behind.

Jordan et al. 2024, "Muon: an optimizer for hidden layers"; the factor that gives its steps the size
of Adam's is that of Liu et al. 2025, "Muon is scalable for LLM training".
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from cutaway.training.shards import shaped_like, whole

# An odd polynomial a x + b x³ + c x⁵ that pushes singular values in (0, 1] towards 1, steep at 0.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ROUNDS = 5
ADAM_SIZE = 0.2  # root mean square of a cell of Adam's step, in learning rates


class Muon(torch.optim.Optimizer):
    """Momentum whose direction is replaced by the nearest orthogonal matrix.

    m ← β m + (1 − β) g,  u = (1 − β) g + β m,  W ← W − rate · 0.2 √max(rows, columns) · U Vᵀ
    where u = U Σ Vᵀ. Equal shapes are computed as one stack, their products rounded to the type
    `products` if given: torch's own Muon takes one matrix at a time, in bfloat16, which is slow on
    processors without it.
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        *,
        momentum: float,
        weight_decay: float,
        products: torch.dtype | None = None,
    ) -> None:
        defaults = {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay}
        self.products = products
        super().__init__(list(matrices), defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step with the gradients there are."""
        for group in self.param_groups:
            trained = [matrix for matrix in group["params"] if matrix.grad is not None]
            for matrix in trained:
                state = self.state[matrix]
                if not state:
                    state["exp_avg"] = torch.zeros_like(matrix)
            gradients = [matrix.grad for matrix in trained]
            means = [self.state[matrix]["exp_avg"] for matrix in trained]
            decay, rate = group["momentum"], group["lr"]
            torch._foreach_lerp_(means, gradients, 1 - decay)
            directions = torch._foreach_lerp(gradients, means, decay)
            if group["weight_decay"]:
                torch._foreach_mul_(trained, 1 - rate * group["weight_decay"])
            for shape in dict.fromkeys(matrix.shape for matrix in trained):
                places = [i for i, matrix in enumerate(trained) if matrix.shape == shape]
                stack = torch.stack([whole(directions[i]) for i in places])  # (n, rows, columns)
                steps = orthogonal(stack, self.products)
                factor = rate * ADAM_SIZE * max(shape) ** 0.5
                torch._foreach_sub_(
                    [trained[i] for i in places],
                    [shaped_like(step, trained[i]) for step, i in zip(steps, places, strict=True)],
                    alpha=factor,
                )


def orthogonal(  # (n, rows, columns) → (n, rows, columns)
    stack: Tensor, products: torch.dtype | None = None
) -> Tensor:
    """U Vᵀ of each matrix U Σ Vᵀ, about: singular values end between 0.7 and 1.2.

    X ← a X + (b X Xᵀ + c (X Xᵀ)²) X, five times, from X of Frobenius norm 1.
    """
    tall = stack.shape[-2] > stack.shape[-1]
    states = stack.mT if tall else stack
    states = states / states.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    states = states.to(products or stack.dtype)
    a, b, c = COEFFICIENTS
    for _ in range(ROUNDS):
        squares = states @ states.mT
        factors = torch.baddbmm(squares, squares, squares, beta=b, alpha=c)
        states = torch.baddbmm(states, factors, states, beta=a)
    found: Tensor = states.mT if tall else states
    return found.to(stack.dtype)
