"""Adam, AdamW and Muon by parameter name, their state as plain tensors, and the moving average."""

from collections.abc import Iterable, Mapping
from inspect import unwrap

import torch
from torch import Tensor, nn

from cutaway.config import TrainConfig
from cutaway.errors import CheckpointError
from cutaway.training.muon import Muon
from cutaway.training.processes import Processes, wide
from cutaway.training.shards import local, shaped_like

STATE = ("exp_avg", "exp_avg_sq")  # Adam's two running means of a parameter's gradient


class Adam(torch.optim.Adam):
    """torch's Adam; the original loads torch's compiler, unused here, at its first step: 1.5 s."""

    add_param_group = unwrap(torch.optim.Adam.add_param_group)
    zero_grad = unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class AdamW(torch.optim.AdamW):
    """torch's AdamW, likewise."""

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class Optimizers(tuple[torch.optim.Optimizer, ...]):
    """Optimizers of different parameters of one model, which step together."""

    __slots__ = ()

    def step(self) -> None:
        """One step of each."""
        for optimizer in self:
            optimizer.step()

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for optimizer in self:
            optimizer.zero_grad()

    def state(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        """What is kept of a parameter between steps; empty before the first."""
        found: dict[str, Tensor] = self._of(parameter).state.get(parameter, {})
        return found

    def restore(self, parameter: nn.Parameter, state: dict[str, Tensor]) -> None:
        """Put back what `state` gave."""
        self._of(parameter).state[parameter] = state

    def kept(self, parameter: nn.Parameter) -> tuple[str, ...]:
        """Names of the running means kept of a parameter."""
        return STATE[:1] if isinstance(self._of(parameter), Muon) else STATE

    def _of(self, parameter: nn.Parameter) -> torch.optim.Optimizer:
        return next(
            optimizer
            for optimizer in self
            for group in optimizer.param_groups
            if any(parameter is other for other in group["params"])
        )


def make_optimizer(
    named: Iterable[tuple[str, nn.Parameter]],
    settings: TrainConfig,
    products: torch.dtype | None = None,
) -> Optimizers:
    """Adam, AdamW, or Muon for the matrices of the layers and AdamW for all else.

    Operands of Muon's products are rounded to `products` if given. Weight decay on matrices only,
    never on norms, biases or single numbers.
    """
    trained = {name: parameter for name, parameter in named if parameter.requires_grad}
    matrices = {
        name: parameter
        for name, parameter in trained.items()
        if settings.optimizer == "muon" and ".layers." in name and parameter.dim() == 2
    }
    parts: list[torch.optim.Optimizer] = []
    if matrices:
        parts.append(
            Muon(
                matrices.values(),
                momentum=settings.momentum,
                weight_decay=settings.weight_decay,
                products=products,
            )
        )
    parameters = [parameter for name, parameter in trained.items() if name not in matrices]
    groups = [
        {
            "params": [p for p in parameters if p.dim() >= 2],
            "weight_decay": settings.weight_decay,
        },
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    kind = Adam if settings.optimizer == "adam" else AdamW
    parts.append(
        kind(
            [group for group in groups if group["params"]],
            lr=0.0,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
            foreach=True,
        )
    )
    return Optimizers(parts)


def set_rate(optimizers: Optimizers, rate: float) -> None:
    """The learning rate of the next step."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def gradient_scale(
    gradients: list[Tensor], asked: float, clip: float, processes: Processes
) -> tuple[Tensor, float]:
    """What summed gradients are multiplied by, and the norm of their mean over the answers.

    scale = 1 / answers · min(1, clip / norm),  norm = √Σ g² / answers

    Squares add up in float64 and the norm is rounded to float32, so that no order of adding shows
    in it, not even that of shards. All of it stays in tensors, so that a recorder sees it.
    """
    device = gradients[0].device
    kind = wide(device)
    answers = torch.full((), asked, dtype=kind, device=device)
    share = processes.gradient_scale / answers
    norms = torch._foreach_norm(gradients, 2, dtype=kind)
    squares = processes.summed(torch.stack(norms).square().sum())
    norm = (squares.sqrt() * share).float()
    if not clip:
        return share, float(norm)
    shortened = (clip / norm).clamp(max=1.0)
    scale = share * shortened
    return scale, float(norm)


def optimizer_tensors(
    optimizers: Optimizers, named: Mapping[str, nn.Parameter]
) -> dict[str, Tensor]:
    """The running means, `exp_avg.<parameter>` and `exp_avg_sq.<parameter>`."""
    return {
        f"{part}.{name}": tensor
        for name, parameter in named.items()
        for part, tensor in optimizers.state(parameter).items()
        if part in STATE
    }


def restore_optimizer(
    optimizers: Optimizers,
    named: Mapping[str, nn.Parameter],
    tensors: Mapping[str, Tensor],
    updates: int,
) -> None:
    """Put back what `optimizer_tensors` gave after so many updates."""
    for optimizer in optimizers:
        optimizer.state.clear()
    if not updates:
        return
    for name, parameter in named.items():
        kept = optimizers.kept(parameter)
        state = {"step": torch.tensor(float(updates))} if kept == STATE else {}
        for part in kept:
            tensor = tensors.get(f"{part}.{name}")
            if tensor is None or tensor.shape != parameter.shape:
                raise CheckpointError(
                    f"the checkpoint's optimizer has no {part} of shape {tuple(parameter.shape)} "
                    f"for {name}; it belongs to another model: choose another --out"
                )
            state[part] = shaped_like(tensor, parameter).clone()
        optimizers.restore(parameter, state)


class MovingAverage:
    """An exponential moving average of the weights, warmed up so that early ones fade fast.

    average ← average + (1 − decay) · (weights − average),  decay = min(ema, (1 + n) / (10 + n))
    """

    def __init__(self, named: Mapping[str, nn.Parameter], decay: float) -> None:
        self.decay = decay
        self.names = list(named)
        self.average = [parameter.detach().clone() for parameter in named.values()]

    def update(self, named: Mapping[str, nn.Parameter], updates: int) -> None:
        """Take in the weights after so many updates."""
        decay = min(self.decay, (1 + updates) / (10 + updates))
        weights = [local(parameter.detach()) for parameter in named.values()]
        torch._foreach_lerp_([local(mean) for mean in self.average], weights, 1 - decay)

    def tensors(self) -> dict[str, Tensor]:
        """The average by parameter name."""
        return dict(zip(self.names, self.average, strict=True))

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `tensors` gave."""
        self.average = [
            shaped_like(tensors[name], old).clone()
            for name, old in zip(self.names, self.average, strict=True)
        ]
