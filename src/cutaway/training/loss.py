"""Label-smoothed cross-entropy: in one piece as the formula reads, and in chunks for speed.

Letters: N positions that count, D d_model, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway.training.products import product, quick, rounds_in_hardware

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
    kind: torch.dtype | None = None,
) -> Tensor:  # scalar: the sum over positions
    """The sum of `smoothed_cross_entropy` of the projected states, never holding all logits.

    With s = ε/V the gradient of the logits is p − s − (1 − ε) · one-hot(gold); the constant s
    reaches the parameters through sums alone, so no pass over the vocabulary is spent on it.
    Operands of the products are rounded to `kind`, or to autocast's type, where that is on.
    """
    if torch.is_grad_enabled():
        kind = kind or product_type(states)
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


class _Gradients:
    """Gradients of table and bias, added up chunk by chunk.

    Under autocast the products are cast here: autocast leaves in-place operations as they are, so
    that `addmm_` would multiply in float32, or fail on mixed types. Sums stay in float32.
    """

    def __init__(
        self, table: Tensor, bias: Tensor | None, smoothing: float, kind: torch.dtype
    ) -> None:
        self.kind = kind
        self.smoothing = smoothing
        self.spread = smoothing / len(table)
        self.weights = table.to(kind)
        self.weights_bias = None if bias is None else bias.to(kind)
        self.table_sum = table.sum(0)  # (D,)
        self.table_mean = self.table_sum.float() / len(table)
        self.bias_mean = 0.0 if bias is None else bias.mean()
        rounded = kind == torch.bfloat16 and rounds_in_hardware()
        self.quick = quick(table) and (kind == table.dtype or rounded)
        shape = reversed(table.shape) if self.quick else table.shape
        self.of_table = table.new_zeros(*shape)  # (V, D); transposed where that is quicker
        self.of_bias = None if bias is None else torch.zeros_like(bias)

    def distribution(self, chunk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (n, V), their softmax (n, V) and the logarithm of its denominator (n,)."""
        if self.quick:
            logits = product(chunk.to(self.kind), self.weights, self.weights_bias).float()
        else:
            logits = F.linear(chunk.to(self.kind), self.weights, self.weights_bias).float()
        probabilities = torch.softmax(logits, dim=-1)
        # The largest p is at least 1/V: its logarithm loses nothing, unlike that of a small p.
        log_sum = logits.amax(-1) - probabilities.amax(-1).log()
        return logits, probabilities, log_sum

    def loss(self, chunk: Tensor, logits: Tensor, log_sum: Tensor, wanted: Tensor) -> Tensor:
        """Summed over the chunk: log Σ exp(logits) − Σ q logits; the mean logit needs no logits."""
        mean_logit = chunk.float() @ self.table_mean + self.bias_mean
        gold_logit = logits.gather(-1, wanted).squeeze(-1)
        losses = log_sum - (1 - self.smoothing) * gold_logit - self.smoothing * mean_logit
        return losses.sum()

    def add(self, chunk: Tensor, gradient: Tensor, wanted: Tensor, share: float = 1.0) -> Tensor:
        """Take in the gradient of the logits but for its gold terms; returns that of the states.

        The gold terms are −share · ((1 − ε) · one-hot(gold) + ε/V); see `close` for the second.
        """
        if share:
            gold = gradient.new_full((len(chunk), 1), share * (self.smoothing - 1.0))
            gradient.scatter_add_(-1, wanted, gold)
        if self.of_bias is not None:
            self.of_bias += gradient.sum(0)
        constant = share * self.spread * self.table_sum
        gradient = gradient.to(self.kind)
        if self.quick:
            self.of_table += product(chunk.to(self.kind).T, gradient.T)
            return product(gradient, self.weights.T) - constant
        if self.kind == self.of_table.dtype:
            self.of_table.addmm_(gradient.T, chunk)
        else:
            self.of_table += gradient.T @ chunk.to(self.kind)
        return gradient @ self.weights - constant

    def close(self, states: Tensor, share: float = 1.0) -> None:
        """Subtract what the constant −share · ε/V at all positions adds to table and bias."""
        constant = share * self.spread * states.sum(0)  # (D,)
        self.of_table -= constant.unsqueeze(-1) if self.quick else constant
        if self.of_bias is not None:
            self.of_bias -= share * self.spread * len(states)

    def table(self) -> Tensor:  # (V, D)
        """The gradient of the table."""
        return self.of_table.T.contiguous() if self.quick else self.of_table


class _ProjectedLoss(torch.autograd.Function):
    """Loss and its gradients chunk by chunk, both in the forward pass."""

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
        gradients = _Gradients(table, bias, smoothing, kind)
        states_gradient = torch.zeros_like(states)  # not empty: a recording shows what was there
        total = torch.zeros((), dtype=torch.float32, device=states.device)
        for rows in _chunks(len(states), table):
            chunk = states[rows]  # (n, D)
            wanted = gold[rows].unsqueeze(-1)  # (n, 1)
            logits, probabilities, log_sum = gradients.distribution(chunk)
            total += gradients.loss(chunk, logits, log_sum, wanted)
            states_gradient[rows] = gradients.add(chunk, probabilities, wanted)
        gradients.close(states)
        ctx.save_for_backward(states_gradient, gradients.table(), gradients.of_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (*_scaled(ctx.saved_tensors, gradients[0]), None, None, None)


def _scaled(tensors: Sequence[Tensor | None], scale: Tensor) -> list[Tensor | None]:
    return [None if tensor is None else tensor * scale for tensor in tensors]


def two_pass_loss(
    first: Tensor,  # (N, D)
    second: Tensor,  # (N, D) the same positions under another dropout
    table: Tensor,
    bias: Tensor | None,
    gold: Tensor,  # (N,)
    smoothing: float,
    weight: float,
    kind: torch.dtype | None = None,
) -> Tensor:
    """R-Drop: the mean loss of two passes and how far apart their distributions are, summed.

    ½ (loss₁ + loss₂) + α/4 · (KL(p₁‖p₂) + KL(p₂‖p₁))
    """
    shares = (0.5, 0.5, weight / 4, weight / 4)
    return _paired_loss(first, second, table, bias, gold, smoothing, shares, kind)


def cut_off_loss(
    whole: Tensor,  # (N, D)
    cut: Tensor,  # (N, D) the same positions with some input tokens cut off
    table: Tensor,
    bias: Tensor | None,
    gold: Tensor,  # (N,)
    smoothing: float,
    weight: float,
    kind: torch.dtype | None = None,
) -> Tensor:
    """SimCut: the loss of the whole input, and how far the cut-off one's distribution is from it.

    loss + α · KL(p‖p_cut), summed. Gradients flow through both distributions, which the authors
    found to matter (Gao et al. 2022, "Bi-SimCut").
    """
    return _paired_loss(whole, cut, table, bias, gold, smoothing, (1.0, 0.0, weight, 0.0), kind)


Shares = tuple[float, float, float, float]  # of loss₁, loss₂, KL(p₁‖p₂) and KL(p₂‖p₁)


def _paired_loss(
    first: Tensor,
    second: Tensor,
    table: Tensor,
    bias: Tensor | None,
    gold: Tensor,
    smoothing: float,
    shares: Shares,
    kind: torch.dtype | None,
) -> Tensor:
    """a · loss₁ + b · loss₂ + u · KL(p₁‖p₂) + v · KL(p₂‖p₁), summed over positions."""
    kind = kind or product_type(first)
    with torch.autocast(first.device.type, enabled=False):
        loss: Tensor = _PairedLoss.apply(  # type: ignore[no-untyped-call]
            first, second, table, bias, gold, smoothing, shares, kind
        )
    return loss


class _PairedLoss(torch.autograd.Function):
    """`_ProjectedLoss` for two passes and the distance of their distributions.

    With d = log p − log q, the gradients of the logits are, but for the gold tokens' terms,
    p (a + v + u (d − KL(p‖q))) − v q  and  q (b + u − v (d + KL(q‖p))) − u p.
    """

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor,
        table: Tensor,
        bias: Tensor | None,
        gold: Tensor,
        smoothing: float,
        shares: Shares,
        kind: torch.dtype,
    ) -> Tensor:
        a, b, u, v = shares
        gradients = _Gradients(table, bias, smoothing, kind)
        first_gradient, second_gradient = torch.zeros_like(first), torch.zeros_like(second)
        total = torch.zeros((), dtype=torch.float32, device=first.device)
        for rows in _chunks(len(first), table):
            one, other = first[rows], second[rows]  # (n, D)
            wanted = gold[rows].unsqueeze(-1)  # (n, 1)
            logits, p, log_sum = gradients.distribution(one)
            other_logits, q, other_log_sum = gradients.distribution(other)
            if a:
                total += a * gradients.loss(one, logits, log_sum, wanted)
            if b:
                total += b * gradients.loss(other, other_logits, other_log_sum, wanted)
            apart = logits.sub_(other_logits)
            apart -= (log_sum - other_log_sum).unsqueeze(-1)  # log p − log q, (n, V)
            p_gradient, distance = _towards(p, q, apart, a, u, v)
            q_gradient, other_distance = _towards(q, p, apart.neg_(), b, v, u)
            total += u * distance + v * other_distance
            first_gradient[rows] = gradients.add(one, p_gradient, wanted, a)
            second_gradient[rows] = gradients.add(other, q_gradient, wanted, b)
        gradients.close(first, a)
        gradients.close(second, b)
        ctx.save_for_backward(first_gradient, second_gradient, gradients.table(), gradients.of_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (*_scaled(ctx.saved_tensors, gradients[0]), None, None, None, None)


def _towards(
    p: Tensor,  # (n, V)
    q: Tensor,  # (n, V)
    apart: Tensor,  # (n, V) log p − log q
    own: float,
    forth: float,
    back: float,
) -> tuple[Tensor, Tensor]:
    """Gradient of p's logits, p (own + back + forth · (d − KL(p‖q))) − back · q; KL(p‖q) summed."""
    if not forth:
        return torch.add(p * (own + back), q, alpha=-back), p.new_zeros(())
    weighted = p * apart
    distances = weighted.sum(-1, keepdim=True)  # KL(p‖q), (n, 1)
    gradient = weighted.mul_(forth).addcmul_(p, own + back - forth * distances)
    if back:
        gradient.sub_(q, alpha=back)
    return gradient, distances.sum()
