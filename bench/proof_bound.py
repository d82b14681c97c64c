"""How close recordings come to the bound of rounding that the proof allows, by operation.

python bench/proof_bound.py

An error of 1 would be at the bound; anything above it would be a false alarm. Set
ATEN_CPU_CAPABILITY=default, avx2 or avx512 and OMP_NUM_THREADS to see other processors' kernels.
"""

import collections
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.glass.prove import Proof, prove_value
from cutaway.model import Transformer

SHOWN = 12


def transformer(dtype: torch.dtype) -> glass.Trace:
    """A training step of the preset tiny."""
    model = Transformer(ModelConfig.preset("tiny", vocabulary=500)).to(dtype).train()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    source, target = torch.randint(4, 500, (4, 23)), torch.randint(4, 500, (4, 19))
    with glass.record(model) as trace:
        logits = model(source, target)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), label_smoothing=0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return trace


def images(dtype: torch.dtype) -> glass.Trace:
    """A training step of a convolutional network."""
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, groups=2), nn.GroupNorm(8, 64), nn.SiLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(256, 10),
    ).to(dtype)  # fmt: skip
    x = torch.randn(8, 3, 32, 32, dtype=dtype) * 3 + 20  # far from zero, as pixels are
    with glass.record(net) as trace:
        F.cross_entropy(net(x), torch.arange(8)).backward()  # type: ignore[no-untyped-call]
    return trace


def extremes(dtype: torch.dtype) -> glass.Trace:
    """Long sums, equal terms, offsets, large logits, masks."""
    x = torch.randn(17, 4099, dtype=dtype, requires_grad=True)
    even = torch.full((13, 4096), 0.1, dtype=dtype)
    weight = torch.randn(4099, 31, dtype=dtype, requires_grad=True)
    table = torch.randn(7, 5, dtype=dtype, requires_grad=True)
    ids = torch.randint(0, 3, (20_011,))
    with glass.record() as trace:
        product = x @ weight
        drift = even @ even.t()
        shifted = F.layer_norm(x + 100, (4099,))
        plain = F.layer_norm(x, (4099,))
        large = (x * 300).softmax(-1) + (x * 300).log_softmax(-1)
        masked = (x + torch.where(x > 0, -1e4, 0.0)).softmax(-1)
        sums = x.sum() + even.sum() + x.cumsum(1).mean() + x.norm() + x.var(1).sum()
        sums = sums + x.logsumexp(1).sum() + F.embedding(ids, table).mean()
        total = product.sum() + shifted.square().mean() + plain.sin().sum() + large.mean()
        (total + masked.square().sum() + sums).backward()
    assert drift.shape == (13, 13)
    return trace


RUNS: dict[str, Callable[[torch.dtype], glass.Trace]] = {
    "transformer": transformer,
    "images": images,
    "extremes": extremes,
}


def main() -> None:
    """Print the largest error of each operation, in units of its bound."""
    warnings.simplefilter("ignore")
    print(torch.backends.cpu.get_cpu_capability(), torch.get_num_threads(), "threads")
    for name, run in RUNS.items():
        for dtype in (torch.float64, torch.float32):
            worst: dict[str, float] = collections.defaultdict(float)
            for seed in range(3):
                torch.manual_seed(seed)
                trace = run(dtype)
                for value in trace:
                    proof = Proof()
                    prove_value(trace, value, proof)
                    for failure in proof.failures:
                        print("  beyond the bound:", failure)
                    worst[value.op] = max(worst[value.op], proof.max_error)
            top = sorted(worst.items(), key=lambda item: -item[1])[:SHOWN]
            shown = ", ".join(f"{op.split('.')[1]} {error:.2f}" for op, error in top if error)
            print(f"{name} {str(dtype).removeprefix('torch.')}: {shown}")


if __name__ == "__main__":
    main()
