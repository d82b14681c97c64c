"""Why residuals, why norms: one deep encoder trained with and without each.

Part of the lesson `translate-a-sentence`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway.config import ModelConfig
from cutaway.lessons.fit import fit
from cutaway.lessons.lesson import Step
from cutaway.lessons.section import Sections
from cutaway.model import Transformer
from cutaway.model.layers import AddNorm

TEXT = Sections("translate-a-sentence")
DEPTH, WIDTH, WORDS = 10, 32, 17  # layers, d_model, vocabulary with the five special tokens
BATCH, LENGTH = 6, 5
UPDATES, RATE, LAST = 30, 3e-3, 5  # the loss at the end is the mean of the last few
KINDS = {  # key of the text → with residual, with norm
    "neither": (False, False),
    "norm": (False, True),
    "residual": (True, False),
    "both": (True, True),
}


class Around(nn.Module):
    """A sublayer with or without its residual connection and its norm (pre-norm order)."""

    def __init__(self, whole: AddNorm, *, residual: bool, norm: bool) -> None:
        super().__init__()
        self.norm = whole.norm if norm else nn.Identity()
        self.residual = residual

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, L, D) → (B, L, D)."""
        update = sublayer(self.norm(states))
        return states + update if self.residual else update


@dataclass(frozen=True)
class Trial:
    """The result of one variant."""

    spread: list[float]  # standard deviation of the states after each layer, before training
    losses: list[float]  # per token, one per update

    @property
    def final(self) -> float:
        """Mean of the last losses."""
        return sum(self.losses[-LAST:]) / LAST


def deep_encoder(*, residual: bool, norm: bool, seed: int) -> Transformer:
    """The product's own encoder, ten layers deep, with parts of every layer taken out."""
    config = ModelConfig.from_dict(
        {
            "vocabulary": WORDS, "family": "encoder", "encoder_layers": DEPTH, "d_model": WIDTH,
            "heads": 2, "d_ff": 2 * WIDTH, "norm": "pre", "dropout": 0.0,
        }
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config)
    assert model.encoder is not None
    for layer in model.encoder.layers:
        for name in ("self_attention_add_norm", "feed_forward_add_norm"):
            setattr(layer, name, Around(getattr(layer, name), residual=residual, norm=norm))
    if not norm:
        model.encoder.norm = None
    return model


@cache
def trial(*, residual: bool, norm: bool, seed: int = 1) -> Trial:
    """Train the encoder to copy random words for a few updates."""
    model = deep_encoder(residual=residual, norm=norm, seed=seed)
    assert model.encoder is not None
    generator = torch.Generator().manual_seed(seed)
    spread: list[float] = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out: spread.append(float(out.detach().std())))
        for layer in model.encoder.layers
    ]

    def loss() -> Tensor:
        ids = torch.randint(5, WORDS, (BATCH, LENGTH), generator=generator)
        logits = model(ids)
        for hook in hooks:
            hook.remove()  # only the first pass is measured
        return F.cross_entropy(logits.flatten(0, 1), ids.flatten())

    return Trial(spread, fit(model.parameters(), loss, updates=UPDATES, rate=RATE))


def residual_step() -> Step:
    """Four encoders, one task, thirty updates."""
    trials = {key: trial(residual=residual, norm=norm) for key, (residual, norm) in KINDS.items()}
    even = math.log(WORDS - 5)  # the words that are asked for
    section = TEXT.section(
        "residuals",
        depth=DEPTH,
        updates=UPDATES,
        even=even,
        **{key: one.final for key, one in trials.items()},
        grown=trials["residual"].spread[-1] / trials["residual"].spread[0],
    )
    names = section.labels(*KINDS)
    section.matrix(
        "losses",
        [[one.losses[0], one.final] for one in trials.values()],
        names,
        section.labels("first", "last"),
        digits=2,
    )
    section.matrix(
        "spread",
        [one.spread for one in trials.values()],
        names,
        [str(layer + 1) for layer in range(DEPTH)],
        digits=2,
    )
    section.picture(
        "losses",
        "curves",
        *(
            section.series(key, range(1, UPDATES + 1), [math.log10(x) for x in one.losses])
            for key, one in trials.items()
        ),
    )
    section.claim("both", trials["both"].final < even / 4)
    section.claim("others", all(trials[key].final > 0.9 * even for key in KINDS if key != "both"))
    return section.step("C20")
