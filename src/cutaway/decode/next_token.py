"""The choice of the next token: which are allowed, and reproducible sampling among them."""

import hashlib
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from cutaway.config import DecodeOptions
from cutaway.decode.tasks import Ids, Special

# Two log-probabilities closer than this may change places when the same sentence is computed in
# another batch: sums of float32 depend on their order. Measured spread: see docs/decisions.md.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
COARSE = 1e-2  # half precision


def tolerance(dtype: torch.dtype) -> float:
    """How far apart two log-probabilities must be for their order to be certain."""
    return TOLERANCE.get(dtype, COARSE)


def sum_tolerance(margin: float, total: float) -> float:
    """How far apart two sums of log-probabilities must be, given that of single ones.

    Rounding grows with what is added up: for float32 the margin is 1e-4, and 1e-6 · |sum| from a
    sum of −100 on.
    """
    return margin * max(1.0, abs(total) / 100)


def uniform(seed: int, sentence: Sequence[int], sample: int, step: int) -> float:
    """A pseudo-random number in [0, 1), a pure function of the arguments."""
    text = f"{seed}/{sample}/{step}/{','.join(map(str, sentence))}"
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def repeated(ids: Sequence[int], size: int) -> set[int]:
    """The tokens that would complete an n-gram which is already there."""
    if len(ids) < size:
        return set()
    last = tuple(ids[len(ids) - size + 1 :])
    return {
        ids[place + size - 1]
        for place in range(len(ids) - size + 1)
        if tuple(ids[place : place + size - 1]) == last
    }


def allowed(
    log_p: Tensor,  # (R, V)
    outputs: Sequence[Ids],  # the output of each row so far
    step: int,
    options: DecodeOptions,
    special: Special,
) -> Tensor:
    """The log-probabilities with −∞ where a token may not come next; written over the old ones."""
    open_ = log_p.index_fill_(1, _never(special, log_p.device), -math.inf)
    if step < options.min_length:
        open_[:, special.end] = -math.inf
    if options.no_repeat:
        for row, ids in enumerate(outputs):
            open_[row, list(repeated(ids, options.no_repeat))] = -math.inf
    return open_


def _never(special: Special, device: torch.device) -> Tensor:
    """The forbidden ids as a tensor."""
    return torch.tensor(special.forbidden, dtype=torch.long, device=device)


def best_of(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest values of each row and their places, best first: (R, V) → (R, count) twice."""
    top, places = values.topk(count, dim=1)
    return top, places


def draw(
    log_probabilities: Tensor,  # (V,) −∞ where not allowed
    options: DecodeOptions,
    chance: float,
    margin: float,
) -> tuple[int, bool]:
    """The token at which the cumulative probability passes `chance`; whether it was close.

    P(t) ∝ exp(log P(t) / temperature) among the tokens that top_k and top_p leave
    """
    scaled = log_probabilities.cpu().double() / options.temperature  # MPS has no float64
    scaled = scaled - scaled.logsumexp(0)
    ranked, order = scaled.sort(descending=True, stable=True)
    count = int((ranked > -torch.inf).sum())
    near = False
    if options.top_k and options.top_k < count:
        count = options.top_k
        near = bool(ranked[count - 1] - ranked[count] < margin)
    if options.top_p < 1.0:
        before = ranked.exp().cumsum(0) - ranked.exp()  # probability of the more probable ones
        inside = int((before[:count] < options.top_p).sum())
        near = near or bool(((before[1:count] - options.top_p).abs() < margin).any())
        count = max(inside, 1)
    kept, places = order[
        :count
    ].sort()  # by id, so that two nearly equal probabilities can swap ranks without effect
    probabilities = ranked[:count][places].exp()
    running = probabilities.cumsum(0) / probabilities.sum()
    place = min(int((running <= chance).sum()), count - 1)
    near = near or bool(((running[:-1] - chance).abs() < margin).any())
    return int(kept[place]), near
