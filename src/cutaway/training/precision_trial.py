"""The child process of `precision.py`: computes in a reduced precision and compares with float32.

    python precision_trial.py bfloat16 cpu

It runs what training runs: matrix products and attention, forward and backward, at sizes for which
libraries choose their tile instructions and at sizes that leave a remainder; then updates of the
model itself. It may die: that is the outcome its parent looks for.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

WRONG = 3  # as system/trial.py expects it
# Largest error allowed, as a share of the largest number. bfloat16 rounds to 0.004; measured: 0.008
# in one operation, 0.05 through a model. A kernel that is wrong is off by about 1.
NEAR, THROUGH_A_MODEL = 0.03, 0.2
# (rows, inputs, outputs): one token of decoding, whole tiles of 16 × 32, remainders, a large one.
PRODUCTS = [(1, 64, 64), (7, 33, 65), (16, 64, 32), (64, 128, 256), (257, 256, 512)]
# (batch, heads, queries, keys, width)
ATTENTIONS = [(2, 2, 5, 7, 16), (2, 4, 64, 64, 64), (1, 2, 129, 65, 32)]


def product(sizes: tuple[int, ...], kind: torch.dtype, device: str) -> list[Tensor]:
    """A linear layer and its gradients."""
    rows, inputs, outputs = sizes
    x = torch.randn(rows, inputs).to(device, kind).requires_grad_()
    weight = (torch.randn(outputs, inputs) / inputs**0.5).to(device, kind).requires_grad_()
    bias = torch.randn(outputs).to(device, kind).requires_grad_()
    y = functional.linear(x, weight, bias)
    return [y, *torch.autograd.grad(y.square().mean(), (x, weight, bias))]


def attention(sizes: tuple[int, ...], kind: torch.dtype, device: str) -> list[Tensor]:
    """Scaled dot-product attention and its gradients."""
    batch, heads, queries, keys, width = sizes
    query = torch.randn(batch, heads, queries, width).to(device, kind).requires_grad_()
    key = torch.randn(batch, heads, keys, width).to(device, kind).requires_grad_()
    value = torch.randn(batch, heads, keys, width).to(device, kind).requires_grad_()
    context = functional.scaled_dot_product_attention(query, key, value)
    return [context, *torch.autograd.grad(context.square().mean(), (query, key, value))]


def update(sizes: tuple[int, ...], kind: torch.dtype, device: str) -> list[Tensor]:
    """Loss and gradients of the model under autocast, as the trainer computes them."""
    from cutaway.config import ModelConfig
    from cutaway.model import Transformer

    rows, source_length, target_length, width = sizes
    config = ModelConfig(
        vocabulary=131, d_model=width, heads=2, d_ff=4 * width, encoder_layers=1,
        decoder_layers=1, dropout=0.0,
    )  # fmt: skip
    model = Transformer(config).to(device)
    source = torch.randint(4, 131, (rows, source_length)).to(device)
    target = torch.randint(4, 131, (rows, target_length)).to(device)
    with torch.autocast(device, kind, enabled=kind != torch.float32):
        logits = model(source, target)
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), target.flatten())
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    # Some gradients are rounding error alone (the keys' bias): compare all of them together.
    return [logits, torch.cat([gradient.flatten() for gradient in gradients])]


def forward(sizes: tuple[int, ...], kind: torch.dtype, device: str) -> list[Tensor]:
    """Logits of a model that was itself converted, as translating computes them."""
    from cutaway.config import ModelConfig
    from cutaway.model import Transformer

    rows, source_length, target_length, width = sizes
    config = ModelConfig(vocabulary=131, d_model=width, heads=2, d_ff=4 * width)
    model = Transformer(config).to(device, kind).eval()
    with torch.no_grad():
        return [
            model(
                torch.randint(4, 131, (rows, source_length)).to(device),
                torch.randint(4, 131, (rows, target_length)).to(device),
            )
        ]


def compare(
    run: Callable[[tuple[int, ...], torch.dtype, str], list[Tensor]],
    sizes: tuple[int, ...],
    kind: torch.dtype,
    device: str,
) -> str:
    """What is wrong with a computation in `kind`; empty: nothing."""
    torch.manual_seed(1)
    expected = run(sizes, torch.float32, device)
    torch.manual_seed(1)
    given = run(sizes, kind, device)
    for number, (one, other) in enumerate(zip(given, expected, strict=True)):
        error = float((one.detach().float() - other.detach()).abs().max())
        share = error / float(other.detach().abs().max())
        if not share < (THROUGH_A_MODEL if run in (update, forward) else NEAR):  # NaN is not
            return f"{run.__name__} {sizes}, tensor {number}: off by {share:.2g} of the largest"
    return ""


def main(kind: str, device: str) -> int:
    """Exit code: 0 where every result is near, WRONG where one is not."""
    dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}[kind]
    work = [
        *((product, sizes) for sizes in PRODUCTS),
        *((attention, sizes) for sizes in ATTENTIONS),
        *((update, sizes) for sizes in [(3, 7, 5, 32), (16, 32, 32, 128)]),
        *((forward, sizes) for sizes in [(1, 7, 1, 32), (16, 32, 32, 128)]),
    ]
    for run, sizes in work:
        if problem := compare(run, sizes, dtype, device):
            sys.stderr.write(f"wrong result: {problem}\n")
            return WRONG
    return 0


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))  # where the parent found cutaway
    sys.exit(main(*sys.argv[1:]))
