"""Adam and AdamW by parameter name, their state as plain tensors, and the moving average."""

from collections.abc import Iterable, Mapping
from inspect import unwrap

import torch
from torch import Tensor, nn

from cutaway.config import TrainConfig
from cutaway.errors import CheckpointError
from cutaway.training.processes import Processes, wide

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


def make_optimizer(
    named: Iterable[tuple[str, nn.Parameter]], settings: TrainConfig
) -> torch.optim.Optimizer:
    """Adam or AdamW; weight decay on matrices only, never on norms, biases or single numbers."""
    parameters = [parameter for _, parameter in named if parameter.requires_grad]
    groups = [
        {
            "params": [p for p in parameters if p.dim() >= 2],
            "weight_decay": settings.weight_decay,
        },
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    kind = AdamW if settings.optimizer == "adamw" else Adam
    return kind(
        [group for group in groups if group["params"]],
        lr=0.0,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        foreach=True,
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The learning rate of the next step."""
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
    optimizer: torch.optim.Optimizer, named: Mapping[str, nn.Parameter]
) -> dict[str, Tensor]:
    """Adam's running means, `exp_avg.<parameter>` and `exp_avg_sq.<parameter>`."""
    return {
        f"{part}.{name}": optimizer.state[parameter][part]
        for name, parameter in named.items()
        if parameter in optimizer.state
        for part in STATE
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer,
    named: Mapping[str, nn.Parameter],
    tensors: Mapping[str, Tensor],
    updates: int,
) -> None:
    """Put back what `optimizer_tensors` gave after so many updates."""
    optimizer.state.clear()
    if not updates:
        return
    for name, parameter in named.items():
        state: dict[str, Tensor] = {"step": torch.tensor(float(updates))}
        for part in STATE:
            tensor = tensors.get(f"{part}.{name}")
            if tensor is None or tensor.shape != parameter.shape:
                raise CheckpointError(
                    f"the checkpoint's optimizer has no {part} of shape {tuple(parameter.shape)} "
                    f"for {name}; it belongs to another model: choose another --out"
                )
            state[part] = shaped_like(tensor, parameter)
        optimizer.state[parameter] = state


def shaped_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A full tensor on the parameter's device, cut into the parameter's shards if it has any."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    tensor = tensor.to(parameter.device, parameter.dtype)
    if isinstance(parameter, DTensor):
        return distribute_tensor(
            tensor, parameter.device_mesh, parameter.placements, src_data_rank=None
        )
    return tensor.clone()


def local(tensor: Tensor) -> Tensor:
    """The part of a tensor that this process holds: all of it, unless sharded."""
    to_local = getattr(tensor, "to_local", None)
    return tensor if to_local is None else to_local()


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
            shaped_like(tensors[name], old)
            for name, old in zip(self.names, self.average, strict=True)
        ]
