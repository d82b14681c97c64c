"""Score a given output: every token's log-probability, and the next most probable tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from cutaway.decode.cross_attention import CrossAttentionWeights
from cutaway.decode.engine import TOKENS
from cutaway.decode.search import by_budget
from cutaway.decode.stepper import pad
from cutaway.decode.tasks import Special, Task
from cutaway.errors import InputError
from cutaway.model import Transformer
from cutaway.training.precision import require


@dataclass(frozen=True)
class Forced:
    """The scores of a given output, token by token."""

    log_probabilities: tuple[float, ...]
    rivals: tuple[tuple[tuple[int, float], ...], ...]  # of each place: (id, log P), best first
    attention: tuple[tuple[float, ...], ...] | None  # target × source, mean of heads and layers

    @property
    def log_probability(self) -> float:
        """log P(target | source) = Σ_t log P(y_t | y_<t, source)."""
        return sum(self.log_probabilities)


@torch.inference_mode()
def force(
    model: Transformer,
    tasks: Sequence[Task],  # each prefix is the output to score, with its <end>
    special: Special,
    *,
    rivals: int = 0,  # how many other tokens to name at each place
    attention: bool = False,
    tokens: int = TOKENS,
) -> list[Forced]:
    """Score outputs that are given instead of searched, in one pass of the decoder."""
    require(model)
    device = next(model.parameters()).device
    found: dict[Task, Forced] = {}
    for batch in by_budget(list(dict.fromkeys(tasks)), tokens):
        if not all(task.prefix for task in batch):
            raise InputError("an empty output has no tokens to score; give at least one")
        target = pad([[special.start, *task.prefix] for task in batch], model.config.pad, device)
        sources = [task.source for task in batch if task.source is not None]
        source = pad(sources, model.config.pad, device) if sources else None
        inputs = target[:, :-1]
        cross_attention = CrossAttentionWeights(model)
        if attention and source is not None:
            with cross_attention:
                logits = model(source, inputs)
        else:
            logits = model(inputs) if source is None else model(source, inputs)
        log_p = torch.log_softmax(logits, dim=-1)  # (B, T, V)
        chosen = log_p.gather(2, target[:, 1:, None])[..., 0]  # (B, T)
        best = log_p.topk(min(rivals + 1, log_p.shape[2]), dim=-1) if rivals else None
        looks = cross_attention.mean() if cross_attention.layers else None  # (B, T, S)
        for row, task in enumerate(batch):
            length = len(task.prefix)
            others: list[tuple[tuple[int, float], ...]] = [()] * length
            if best is not None:
                others = [
                    tuple(
                        (token, value)
                        for token, value in zip(ids, values, strict=True)
                        if token != task.prefix[place]
                    )[:rivals]
                    for place, (ids, values) in enumerate(
                        zip(
                            best.indices[row, :length].tolist(),
                            best.values[row, :length].tolist(),
                            strict=True,
                        )
                    )
                ]
            found[task] = Forced(
                log_probabilities=tuple(chosen[row, :length].tolist()),
                rivals=tuple(others),
                attention=None
                if looks is None or task.source is None
                else tuple(
                    tuple(look) for look in looks[row, :length, : len(task.source)].tolist()
                ),
            )
    return [found[task] for task in tasks]
