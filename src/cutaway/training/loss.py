"""Label-smoothed cross-entropy: in one piece as the formula reads, and in chunks for speed.

Letters: N positions that count, D d_model, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

# Logits made at once: on a processor 8 MB, which stay in its cache; elsewhere 256 MB, for which a
# batch of 4,096 tokens and 16,000 pieces is one chunk: a GPU loses by many small kernels.
CHUNK_CELLS = {"cpu": 2**21}
CHUNK_CELLS_ELSEWHERE = 2**26


def smoothed_cross_entropy(
    logits: Tensor,  # (N, V)
    gold: Tensor,  # (N,) ids
    smoothing: float,
) -> Tensor:  # (N,)
    """How surprised the model is by the smoothed gold distribution, at each position.

    loss = −Σ_v q_v log p_v,  q = (1 − ε) · one-hot(gold) + ε / V
    """
    log_probabilities = torch.log_softmax(logits, dim=-1)
    gold_term = log_probabilities.gather(-1, gold.unsqueeze(-1)).squeeze(-1)
    spread_term = log_probabilities.mean(-1)
    loss = -(1 - smoothing) * gold_term - smoothing * spread_term
    return loss


def projected_loss(
    states: Tensor,  # (N, D)
    table: Tensor,  # (V, D) output weights
    bias: Tensor | None,  # (V,)
    gold: Tensor,  # (N,)
    smoothing: float,
) -> Tensor:  # scalar: the sum over positions
    """The sum of `smoothed_cross_entropy` of the projected states, never holding all logits.

    With s = ε/V the gradient of the logits is p − s − (1 − ε) · one-hot(gold); the constant s
    reaches the parameters through sums alone, so no pass over the vocabulary is spent on it.
    """
    if torch.is_grad_enabled():
        kind = product_type(states)
        with torch.autocast(states.device.type, enabled=False):
            loss: Tensor = _ProjectedLoss.apply(states, table, bias, gold, smoothing, kind)  # type: ignore[no-untyped-call]
        return loss
    total = states.new_zeros((), dtype=torch.float32)
    for rows in _chunks(len(states), table):
        logits = F.linear(states[rows], table, bias).float()
        total = total + smoothed_cross_entropy(logits, gold[rows], smoothing).sum()
    return total


def _chunks(positions: int, table: Tensor) -> list[slice]:
    cells = CHUNK_CELLS.get(table.device.type, CHUNK_CELLS_ELSEWHERE)
    size = max(32, cells // len(table))
    return [slice(begin, begin + size) for begin in range(0, positions, size)]


def product_type(like: Tensor) -> torch.dtype:
    """The type of matrix products here: autocast's, where it is on."""
    device = like.device.type
    on = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if on else like.dtype


class _ProjectedLoss(torch.autograd.Function):
    """Loss and its gradients chunk by chunk, both in the forward pass.

    Under autocast the products are cast here: autocast leaves in-place operations as they are, so
    that `addmm_` would multiply in float32, or fail on mixed types. Sums stay in float32.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        table: Tensor,
        bias: Tensor | None,
        gold: Tensor,
        smoothing: float,
        kind: torch.dtype,
    ) -> Tensor:
        vocabulary = len(table)
        spread = smoothing / vocabulary
        weights = table.to(kind)
        weights_bias = None if bias is None else bias.to(kind)
        states_gradient = torch.zeros_like(states)  # not empty: a recording shows what was there
        table_gradient = torch.zeros_like(table)
        bias_gradient = None if bias is None else torch.zeros_like(bias)
        table_sum = table.sum(0)  # (D,)
        bias_mean = 0.0 if bias is None else bias.mean()
        total = torch.zeros((), dtype=torch.float32, device=states.device)
        for rows in _chunks(len(states), table):
            chunk = states[rows]  # (n, D)
            inputs = chunk.to(kind)
            wanted = gold[rows].unsqueeze(-1)  # (n, 1)
            logits = F.linear(inputs, weights, weights_bias).float()  # (n, V)
            gradient = torch.softmax(logits, dim=-1)  # p, (n, V)
            # The largest p is at least 1/V: its logarithm loses nothing, unlike that of a small p.
            log_sum = logits.amax(-1) - gradient.amax(-1).log()
            # −Σ q log p = log Σ exp(logits) − Σ q logits, and the mean logit needs no logits.
            mean_logit = chunk.float() @ (table_sum.float() / vocabulary) + bias_mean
            gold_logit = logits.gather(-1, wanted).squeeze(-1)
            total += (log_sum - (1 - smoothing) * gold_logit - smoothing * mean_logit).sum()
            gradient.scatter_add_(-1, wanted, gradient.new_full((len(chunk), 1), smoothing - 1.0))
            if bias_gradient is not None:
                bias_gradient += gradient.sum(0)
            gradient = gradient.to(kind)
            states_gradient[rows] = gradient @ weights - spread * table_sum
            if kind == table.dtype:
                table_gradient.addmm_(gradient.T, inputs)
            else:
                table_gradient += gradient.T @ inputs
        table_gradient -= spread * states.sum(0)
        if bias_gradient is not None:
            bias_gradient -= spread * len(states)
        ctx.save_for_backward(states_gradient, table_gradient, bias_gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        states_gradient, table_gradient, bias_gradient = ctx.saved_tensors
        scale = gradients[0]
        return (
            states_gradient * scale,
            table_gradient * scale,
            None if bias_gradient is None else bias_gradient * scale,
            None,
            None,
            None,
        )


def two_pass_loss(
    first: Tensor,  # (N, D)
    second: Tensor,  # (N, D) the same positions under another dropout
    table: Tensor,
    bias: Tensor | None,
    gold: Tensor,  # (N,)
    smoothing: float,
    weight: float,
) -> Tensor:
    """R-Drop: the mean loss of two passes and how far apart their distributions are, summed.

    ½ (loss₁ + loss₂) + α/4 · (KL(p₁‖p₂) + KL(p₂‖p₁))
    """

    def of_chunk(one: Tensor, other: Tensor, wanted: Tensor) -> Tensor:
        left = F.linear(one, table, bias).float()
        right = F.linear(other, table, bias).float()
        loss = smoothed_cross_entropy(left, wanted, smoothing)
        loss = loss + smoothed_cross_entropy(right, wanted, smoothing)
        log_p, log_q = torch.log_softmax(left, -1), torch.log_softmax(right, -1)
        apart = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(-1)  # both KLs in one sum
        return (0.5 * loss + 0.25 * weight * apart).sum()

    return _summed(of_chunk, first, second, gold, table)


def cut_off_loss(
    whole: Tensor,  # (N, D)
    cut: Tensor,  # (N, D) the same positions with some input tokens cut off
    table: Tensor,
    bias: Tensor | None,
    gold: Tensor,  # (N,)
    smoothing: float,
    weight: float,
) -> Tensor:
    """SimCut: the loss of the whole input, and how far the cut-off one's distribution is from it.

    loss + α · KL(p‖p_cut), summed. Gradients flow through both distributions, which the authors
    found to matter (Gao et al. 2022, "Bi-SimCut").
    """

    def of_chunk(one: Tensor, other: Tensor, wanted: Tensor) -> Tensor:
        logits = F.linear(one, table, bias).float()
        loss = smoothed_cross_entropy(logits, wanted, smoothing)
        log_p = torch.log_softmax(logits, -1)
        log_cut = torch.log_softmax(F.linear(other, table, bias).float(), -1)
        apart = (log_p.exp() * (log_p - log_cut)).sum(-1)  # (n,)
        return (loss + weight * apart).sum()

    return _summed(of_chunk, whole, cut, gold, table)


def _summed(
    of_chunk: Callable[[Tensor, Tensor, Tensor], Tensor],
    first: Tensor,
    second: Tensor,
    gold: Tensor,
    table: Tensor,
) -> Tensor:
    """The sum of `of_chunk` over chunks of positions; their logits are made again for gradients."""
    total = first.new_zeros((), dtype=torch.float32)
    for rows in _chunks(max(1, len(first)), table):  # an empty one reaches all weights, too
        part = checkpoint(
            of_chunk,
            first[rows],
            second[rows],
            gold[rows],
            use_reentrant=False,
            preserve_rng_state=False,
        )
        total = total + part
    return total
