"""Operations to record, on tensors of random shape and layout; every rule is met by one of them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

LAYOUTS = ("plain", "transposed", "sliced", "strided", "repeated")


@dataclass
class Source:
    """Makes tensors: sizes are distinct primes, layouts whatever was drawn."""

    seed: int
    layouts: tuple[str, ...]
    sizes: tuple[int, ...]
    made: int = 0
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.seed)

    def tensor(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Tensor:
        """Numbers that lie in memory as the next layout says."""
        layout = self.layouts[self.made % len(self.layouts)]
        self.made += 1

        def draw(*sizes: int) -> Tensor:
            return (
                torch.rand(*sizes, generator=self.generator, dtype=self.dtype) * (high - low) + low
            )

        if layout == "transposed" and len(shape) > 1:
            made = draw(*shape[:-2], shape[-1], shape[-2]).transpose(-2, -1)
        elif layout == "sliced" and shape:
            made = draw(*shape[:-1], shape[-1] + 2)[..., 1:-1]
        elif layout == "strided" and shape:
            made = draw(*shape[:-1], 2 * shape[-1])[..., ::2]
        elif layout == "repeated" and len(shape) > 1:
            made = draw(1, *shape[1:]).expand(*shape)
        else:
            made = draw(*shape)
        return made.detach().requires_grad_()

    def whole(self, *shape: int, below: int) -> Tensor:
        """Integers from 0 below a limit."""
        return torch.randint(0, below, shape, generator=self.generator)

    def truth(self, *shape: int) -> Tensor:
        """Booleans."""
        return torch.rand(*shape, generator=self.generator) > 0.5


Case = Callable[[Source], Tensor]


def weighed(part: Tensor) -> Tensor:
    """A sum whose gradient differs from cell to cell, so that no wrong cell goes unnoticed."""
    return (part * uneven(part)).sum()


def uneven(part: Tensor) -> Tensor:
    """Weights of a shape that no straight line, no period and no symmetry goes through."""
    places = torch.arange(part.numel(), dtype=torch.float64)
    weights = 0.3 + torch.cos(places * 1.7) + 0.5 * torch.cos(places * places * 0.9)
    return weights.to(part.dtype).reshape(part.shape)


def unary(s: Source) -> Tensor:
    x = s.tensor(*s.sizes[:2])
    up = s.tensor(*s.sizes[:2], low=0.2, high=3.0)
    rough = (x * 3).round() + x.floor() + x.ceil() + x.trunc() + x.sign() + x.sgn() + x.abs()
    smooth = x.neg().exp() + x.expm1() + x.sin() + x.cos() + x.tanh() + x.sigmoid() + x.erf()
    small = (x / 2).tan() + x.square() + torch.exp2(x)
    logs = up.log() + up.log1p() + up.log2() + up.log10() + up.sqrt() + up.rsqrt()
    return rough.detach() + smooth + small + logs + up.reciprocal()


def binary(s: Source) -> Tensor:
    a, b, _ = s.sizes
    x, y = s.tensor(a, b), s.tensor(b, low=0.5, high=2.0)
    z = s.tensor(a, 1)
    mixed = x + y - 2 * z + torch.sub(x, y, alpha=3) + torch.add(x, z, alpha=0.5)
    more = x * y / z.exp() + torch.maximum(x, y) + torch.minimum(x, z) + y**x + x**2 + y**1.5
    rounded = torch.remainder(x, y) + torch.fmod(x, y) + torch.floor_divide(x.detach(), 0.3)
    rounded = rounded + torch.div(x.detach(), y.detach(), rounding_mode="trunc")
    rounded = rounded + torch.div(x.detach(), y.detach(), rounding_mode="floor")
    return mixed + more + rounded.detach() + (1 - x) + torch.atan2(x, y) + torch.rsub(x, y)


def comparing(s: Source) -> Tensor:
    x, y = s.tensor(*s.sizes[:2]), s.tensor(s.sizes[1])
    bits = (x > y) & (x < 1) | ~(x >= y) ^ (x <= 0)
    marks = (x == x) & (x != y) & torch.logical_or(x, y) & torch.logical_xor(x > 0, y > 0)
    finite = torch.isfinite(x) & ~torch.isnan(x) & ~torch.isinf(x) & torch.logical_not(x - x)
    ends = torch.isposinf(x) | torch.isneginf(x)
    whole = s.whole(*s.sizes[:2], below=50)
    numbers = (whole & 7) + (whole | 3) + (whole ^ 5) + ~whole
    found = torch.isin(whole, torch.tensor([3, 5, 7]))
    kept = (bits & marks & finite & ~ends).to(s.dtype) + numbers + found + marks.logical_and(bits)
    return kept + torch.where(bits, x, y) + torch.where(x > 0, x, 0.25)


def choosing(s: Source) -> Tensor:
    x, y = s.tensor(*s.sizes[:2]), s.tensor(*s.sizes[:2])
    mask = s.truth(s.sizes[1])
    low = x.clamp(-1, 1) + x.clamp_min(0.1) + x.clamp_max(0.2) + F.hardtanh(x, -0.7, 0.9)
    low = low + x.clamp(y.detach() - 1, y.detach() + 1)
    mixed = torch.lerp(x, y, 0.3) + torch.addcmul(x, y, y, value=0.2)
    mixed = mixed + torch.addcdiv(x, y, y.exp(), value=-0.5)
    return low + mixed + x.masked_fill(mask, 7.0) + x.to(torch.float16).to(s.dtype)


def activations(s: Source) -> Tensor:
    x = s.tensor(*s.sizes[:2])
    first = F.relu(x) + F.gelu(x) + F.gelu(x, approximate="tanh") + F.silu(x) + F.elu(x, 0.7)
    more = F.leaky_relu(x, 0.1) + F.softplus(x, 2.0, 1.5) + F.logsigmoid(x)
    return first + more + F.threshold(x, 0.1, -0.2) + F.hardswish(x).detach()


def reductions(s: Source) -> Tensor:
    x = s.tensor(*s.sizes)
    one = x.sum(1) + x.mean((0, 1)) + x.prod(1) + x.amax(1) + x.amin(1, keepdim=True)[:, 0]
    spread = x.var(1) + x.std(1, correction=0) + torch.var_mean(x, 1)[1] + x.logsumexp(1)
    best = x.max(1).values + x.min(1).values + x.max() + x.min() + x.norm(dim=1) + x.norm(1)
    places = x.max(2).indices.sum() + x.argmax(1) + x.argmin() + x.argmax() + x.argmin(1)
    places = places + x.count_nonzero() + (x > 0).any(1) + (x > -3).all(1) + (x > 0).all()
    total: Tensor = one + spread + best + places + torch.linalg.vector_norm(x, 3, 1)
    return total


def running(s: Source) -> Tensor:
    x = s.tensor(*s.sizes)
    top = x.topk(2, dim=1)
    order = x.sort(dim=0, descending=True)
    sums = x.cumsum(2) + x.cumprod(1)
    placed = (x.detach() > 0).nonzero().sum() + top.indices.sum() + order.indices.sum()
    return (
        weighed(sums)
        + weighed(top.values)
        + weighed(order.values[1])
        + placed
        + weighed(x.tril())
        + weighed(x.triu(1))
    )


def products(s: Source) -> Tensor:
    a, b, c = s.sizes
    x, y, z = s.tensor(a, b), s.tensor(b, c), s.tensor(3, a, b)
    bias, vector = s.tensor(c), s.tensor(b)
    w = s.tensor(c, b)
    flat = x @ y + torch.addmm(bias, x, y, beta=0.5, alpha=2.0) + F.linear(x, w, bias)
    batch = torch.baddbmm(s.tensor(3, a, c), z, y.expand(3, b, c)) + torch.bmm(z, y.expand(3, b, c))
    vectors = x @ vector + torch.addmv(s.tensor(a), x, vector) + torch.mv(x, vector)
    return flat + batch + vectors[:, None] + vector.dot(vector) + torch.einsum("nab,bc->ac", z, y)


def rows(s: Source) -> Tensor:
    x = s.tensor(*s.sizes)
    c = s.sizes[2]
    normed = F.layer_norm(x, (c,), s.tensor(c), s.tensor(c)) + F.layer_norm(x, s.sizes[1:])
    rms = F.rms_norm(x, (c,), s.tensor(c), 1e-4)
    grouped = F.group_norm(s.tensor(2, 6, 5), 3, s.tensor(6), s.tensor(6))
    return x.softmax(1) + x.log_softmax(2) + normed + rms + weighed(grouped)


def masked_rows(s: Source) -> Tensor:
    x = s.tensor(3, 5).masked_fill(torch.eye(3, 5) > 0, -torch.inf)
    hidden = torch.full((1, 5), -torch.inf, dtype=s.dtype)
    return torch._safe_softmax(torch.cat([x, hidden]), -1)


def batches(s: Source) -> Tensor:
    x = s.tensor(5, 3, 2)
    mean, spread = s.tensor(3).detach(), s.tensor(3, low=0.5).detach()
    trained = F.batch_norm(x, mean, spread, s.tensor(3), s.tensor(3), True)
    used = F.batch_norm(x, mean, spread, s.tensor(3), s.tensor(3), False)
    return trained + used


def lookups(s: Source) -> Tensor:
    a, b, c = s.sizes
    table, x = s.tensor(a, b), s.tensor(a, b, c)
    ids = s.whole(2, 3, below=a)
    found = F.embedding(ids, table, padding_idx=1)
    picked = weighed(x.gather(1, s.whole(a, 2, c, below=b))) + weighed(
        x.index_select(2, s.whole(4, below=c))
    )
    sliced = weighed(
        x[s.whole(3, below=a), :, s.whole(3, below=c) - torch.tensor([c, 0, c])]
    ) + weighed(x[:, s.truth(b)])
    chosen = weighed(x.masked_select(x.detach() > 0)) + weighed(x[x.detach() > 0.3])
    return found + picked + sliced + chosen


def scatters(s: Source) -> Tensor:
    a, b, _ = s.sizes
    x = s.tensor(a, b)
    ids = s.whole(a, 2, below=b)
    put = x.scatter(1, s.whole(a, 1, below=b), s.tensor(a, 1)) + x.scatter_add(
        1, ids, s.tensor(a, 2)
    )
    put = put + x.scatter(1, s.whole(a, 1, below=b), 2.5)
    put = put + x.index_add(0, s.whole(3, below=a), s.tensor(3, b), alpha=0.5)
    put = put + x.index_put((s.whole(4, below=a),), s.tensor(4, b), accumulate=True)
    put = put + x.index_put((torch.tensor([1, 0]), torch.tensor([0, 1])), s.tensor(2))
    put = put + x.index_put((s.truth(a, b),), torch.tensor(3.0, dtype=s.dtype))
    put = put + x.index_fill(1, torch.tensor([0, -1, 1]), 4.5)
    return put + torch.slice_scatter(x, s.tensor(a, 1), 1, 1, 2)


def joins(s: Source) -> Tensor:
    a, b, c = s.sizes
    x, y = s.tensor(a, b), s.tensor(a, c)
    joined = torch.cat([x, y, x + 1], dim=1)
    piled = torch.stack([x, x * 2, x - 1], dim=1)
    moved = joined.flip(1) + joined.roll(2, 1) + joined.roll(3) + F.pad(x, (0, c + b))
    windows = weighed(x.unfold(1, 2, 1)) + weighed(x[0]) + weighed(x[:, 1:]) + weighed(x[:, ::2])
    return (
        moved
        + weighed(piled)
        + windows
        + weighed(x.repeat(2, 3))
        + weighed(x.repeat_interleave(2, 0))
    )


def losses(s: Source) -> Tensor:
    rows, classes = s.sizes[0], s.sizes[2]
    x, y = s.tensor(rows, classes), s.whole(rows, below=classes)
    weight = s.tensor(classes, low=0.1, high=1.0).detach()
    near, p = s.tensor(rows, classes), s.tensor(rows, classes, low=0.1, high=0.9)
    nll = F.cross_entropy(x, y) + F.cross_entropy(x, y, weight, label_smoothing=0.1)
    nll = nll + F.cross_entropy(x, y, ignore_index=int(y[0]), reduction="sum")
    each = F.cross_entropy(x, y, ignore_index=int(y[1]), reduction="none")
    nll = nll + weighed(each) + F.cross_entropy(x, y, ignore_index=int(y[0]))
    far = F.mse_loss(x, near) + F.l1_loss(x.detach(), near.detach()) + F.huber_loss(x, near)
    far = far + F.smooth_l1_loss(x, near, beta=0.4) + F.mse_loss(x, near, reduction="sum")
    two = F.binary_cross_entropy(p.detach(), (p > 0.5).to(s.dtype))
    two = two + F.binary_cross_entropy_with_logits(x, (near > 0).to(s.dtype))
    return nll + far + two


def windows(s: Source) -> Tensor:
    x = s.tensor(2, 4, 7, 11)
    kernel = s.tensor(6, 2, 3, 2)
    grouped = F.conv2d(x, kernel, s.tensor(6), stride=3, padding=2, groups=2)
    dilated = F.conv2d(x, s.tensor(3, 4, 2, 2), dilation=2)
    line = F.conv1d(s.tensor(2, 3, 11), s.tensor(5, 3, 4), padding=2)
    back = F.conv_transpose2d(x, s.tensor(4, 3, 2, 3), stride=3).detach()
    best = F.max_pool2d(x, 3, stride=2, padding=1)
    mean = F.avg_pool2d(x, 2, padding=1) + F.avg_pool2d(x, 2, padding=1, count_include_pad=False)
    fitted = F.adaptive_avg_pool2d(x, (3, 4))
    return sum(
        (
            weighed(part) * (1 + place)
            for place, part in enumerate([grouped, dilated, line, back, best, mean, fitted])
        ),
        torch.zeros((), dtype=s.dtype),
    )


def constants(s: Source) -> Tensor:
    a, b, _ = s.sizes
    x = s.tensor(a, b)
    flat = torch.zeros(a, b) + torch.ones(a, b) + torch.full((a, b), 2.5) + torch.zeros_like(x)
    flat = flat + torch.ones_like(x) + torch.full_like(x, -1.5) + x.new_zeros(a, b)
    flat = flat + x.new_ones(a, b) + x.new_full((a, b), 0.5) + torch.eye(a, b)
    steps = torch.arange(b) + torch.arange(1, 1 + 2 * b, 2) + torch.linspace(0, 1, b)
    corners = torch.tril_indices(3, 3).sum() + torch.triu_indices(3, 4, 1).sum()
    place = torch.empty(a, b, dtype=s.dtype).fill_(3.0).zero_() + torch.tensor(1.5)
    return x * flat + steps + corners + place + torch.scalar_tensor(2.0)


def draws(s: Source) -> Tensor:
    x = s.tensor(*s.sizes[:2])
    noise = torch.rand(*s.sizes[:2]) + torch.randn(s.sizes[1]) + torch.randn_like(x)
    noise = noise + torch.empty_like(x).uniform_()
    noise = noise + torch.bernoulli(torch.full_like(x, 0.5)) + torch.randperm(s.sizes[1])
    chosen = torch.multinomial(x.detach().exp(), 1) + torch.randint(0, 5, (1,))
    kept, _ = torch.native_dropout(x, 0.3, True)
    return F.dropout(x, 0.4) + kept + noise + chosen + torch.empty_like(x).exponential_()


def in_place(s: Source) -> Tensor:
    x = s.tensor(5, 6).clone(memory_format=torch.contiguous_format)
    z = (x * 2).detach_()
    y = x[:, 1:]
    y += 1
    x[0] = 3.0
    x[:, ::2] *= 2
    x.view(-1)[3:8] = 7.0
    x.t()[2].add_(0.5)
    x[1:3, 2:4] = x[3:5, 0:2].detach()
    z = x * 1.5 + z
    z.mul_(0.5).sub_(1).clamp_(-2, 2)
    z[s.truth(5)] = -1.0
    return y.sum() + z


def edges(s: Source) -> Tensor:
    """Where conditions turn: limits passed on both sides, zeros among numbers, ends of windows."""
    a, b, c = s.sizes
    x, y = s.tensor(a, b, low=-9.0, high=9.0), s.tensor(a, b, low=-9.0, high=9.0)
    z = s.tensor(a, b, c).detach()
    holes = torch.where(z > 0.5, z, 0.0)
    asked = holes.count_nonzero() + (z > -3).all() + (z > z.min()).all() + (holes != 0).any()
    asked = asked + (holes != 0).any(1).sum() + holes.argmin() + (-z).argmin() + z[::1].argmax()
    bits = (z > 0) & (z.flip(0) < 1) | (z.roll(1) > 1.5) ^ (z.roll(2, 1) > 0)
    bits = bits.logical_and(z > -1).logical_or(z.flip(1) > 0) & ~(z.flip(2) > 1)
    kept = torch.where(bits, z, z.flip(0)) + bits + z.masked_fill(bits, 0.3)
    soft = F.hardswish(x.detach()) + F.softplus(x, 0.7, 2.0) + F.hardtanh(x, -3.0, 5.0)
    soft = soft + F.threshold(x, 1.0, 0.5) + F.elu(x, 0.7) + x.clamp(-4.0, 6.0)
    sure = torch.tensor([0.0, 1e-30, 1.0, 0.3], dtype=s.dtype)
    wrong = F.binary_cross_entropy(sure, 1 - sure.round()) + F.huber_loss(x, y, delta=1.7)
    wrong = wrong + F.smooth_l1_loss(x, y, beta=0.6) + F.huber_loss(x, y, reduction="sum")
    only = torch.zeros(a, b, c)
    only[-1, -1, -1] = 1
    asked = asked + only.any() + (1 - only).all() + only.max() + (-only).min() + only.argmax()
    strange = z.clone()
    strange[0, 0, :2] = torch.tensor([torch.inf, -torch.inf])
    strange[1, 1, :2] = torch.tensor([torch.nan, 0.0])
    marks = torch.isinf(strange).to(s.dtype) + 2 * torch.isnan(strange) + 4 * strange.isposinf()
    marks = marks + 8 * strange.isneginf() + 16 * strange.isfinite() + strange.logical_not()
    deep = s.tensor(a, b, c)
    given = z.relu() + z.clone() + z.index_add(2, s.whole(4, below=c), s.tensor(a, b, 4).detach())
    given = given + z.scatter_add(1, s.whole(a, 2, c, below=b), s.tensor(a, 2, c).detach())
    given = given + z.masked_scatter(z > 0, s.tensor(a, b, c).detach())
    given = given + z.scatter(2, s.whole(a, b, 2, below=c), s.tensor(a, b, 2).detach())
    places = s.whole(7, below=c) - torch.tensor([0, c, 0, c, 0, c, 0])
    given = given + z.index_put((s.whole(7, below=a), s.whole(7, below=b), places), s.tensor(7))
    empty = torch.zeros(0, dtype=torch.int64)
    given = given + z.index_put((empty,), z[:0]) + weighed(deep.relu()) + weighed(deep.clone())
    rows = s.tensor(a, b, c).masked_fill(s.truth(a, b, c), -torch.inf)
    hidden = torch.cat([rows.detach(), torch.full((a, 1, c), -torch.inf, dtype=s.dtype)], 1)
    rows = torch._safe_softmax(hidden, -1).sum() + hidden.logsumexp(-1).clamp_min(-9).sum()
    vectors = s.tensor(b).dot(s.tensor(b)) + torch.bmm(s.tensor(3, a, b), s.tensor(3, b, c)).sum()
    vectors = vectors + torch.baddbmm(s.tensor(3, a, c), s.tensor(3, a, b), s.tensor(3, b, c)).sum()
    places = s.whole(7, below=b) - torch.tensor([0, b, 0, b, 0, b, 0])
    mixed = weighed(x[:, places]) + x.index_put((s.whole(7, below=a), places), s.tensor(7))
    several = x.detach().index_put((s.whole(9, below=a),), s.tensor(9, b).detach())
    moved = several + x.detach().scatter(0, s.whole(4, b, below=a), s.tensor(4, b).detach())
    moved = moved + x.detach().scatter(1, s.whole(a, 3, below=b), 2.5)
    joined = weighed(torch.cat([x, y, x * 2, y * 3], 1)) + weighed(torch.stack([x, y, x * y]))
    slices = weighed(x[:, 1:]) + weighed(y.unfold(1, 2, 1)) + weighed(x[::2]) + weighed(x[1:, :-1])
    wide = torch.cat([x, y], 1)
    slices = slices + weighed(wide[:, 1:-2]) + weighed(wide[:, 1:-2:3])
    plane = s.tensor(2, 3, 10, 13)
    pools = [
        F.avg_pool2d(plane, 3, 2, 1, ceil_mode=True),
        F.max_pool2d(plane, 3, 2, 1),
        F.avg_pool2d(plane, (2, 3), (3, 2), count_include_pad=False, padding=1),
        F.conv_transpose2d(plane, s.tensor(3, 2, 4, 3), stride=2, padding=2).detach(),
        F.conv_transpose2d(plane, s.tensor(3, 2, 4, 5), stride=2).detach(),
        F.conv2d(plane, s.tensor(2, 3, 4, 5), stride=2),
        F.conv2d(plane, s.tensor(2, 3, 4, 3), stride=2, padding=2),
    ]
    total = sum(
        (weighed(part) for part in pools), wrong + rows + vectors + weighed(kept + marks + given)
    )
    return soft + mixed + moved + total + joined + slices + asked


CASES: dict[str, Case] = {
    case.__name__: case
    for case in (
        unary, binary, comparing, choosing, activations, reductions, running, products, rows,
        masked_rows, batches, lookups, scatters, joins, losses, windows, constants, draws, in_place,
        edges,
    )
}  # fmt: skip
