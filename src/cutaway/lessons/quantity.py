"""A small task that needs quantities: which is more, three dogs or two birds?

P(a is more than b) = σ(u · (Σ words of a − Σ words of b)), learned together with the words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

NUMBERS = ("one", "two", "three", "four")
STEPS, BATCH, RATE = 300, 64, 0.02


@dataclass(frozen=True)
class Taught:
    """The embeddings afterwards, and how well quantities were told apart."""

    vectors: dict[str, Tensor]
    steps: int
    right_before: float  # share of comparisons answered right
    right: float


def learn_quantity(
    vector: Callable[[str], Tensor], pairs: Sequence[tuple[str, str]], *, seed: int = 1
) -> Taught:
    """Fit a copy of the embeddings to comparisons of counted nouns; the originals stay."""
    words = [*NUMBERS, *dict.fromkeys(word for pair in pairs for word in pair)]
    place = {word: number for number, word in enumerate(words)}
    start = torch.stack([vector(word) for word in words]).float()  # (words, D)
    differences = torch.stack([vector(two) - vector(one) for one, two in pairs])
    table = start.clone().requires_grad_()
    reader = F.normalize(differences.mean(0), dim=0).clone().requires_grad_()
    generator = torch.Generator().manual_seed(seed)
    nothing = len(words)  # a row of zeros, for numbers without a noun
    phrases = torch.tensor(  # (4, 2 · nouns, 2): "three dogs" is [three, dogs]; half have no noun
        [
            [
                *([place[number], place[pair[count > 0]]] for pair in pairs),
                *([place[number], nothing] for _ in pairs),
            ]
            for count, number in enumerate(NUMBERS)
        ]
    )

    def compare(size: int) -> tuple[Tensor, Tensor]:
        """How much more a is than b, as read and as it is: (size,) each."""
        counts = torch.randint(4, (2, size), generator=generator)
        counts[1] = (counts[0] + 1 + counts[1] % 3) % 4  # never equal
        nouns = torch.randint(phrases.shape[1], (2, size), generator=generator)
        vectors = torch.cat([table, table.new_zeros(1, table.shape[1])])
        sums = vectors[phrases[counts, nouns]].sum(2)  # (2, size, D)
        return (sums[0] - sums[1]) @ reader, (counts[0] > counts[1]).float()

    def share_right() -> float:
        with torch.no_grad():
            read, more = compare(2000)
        return float(((read > 0) == more.bool()).float().mean())

    before = share_right()
    optimizer = torch.optim.Adam([table, reader], lr=RATE)
    for _ in range(STEPS):
        read, more = compare(BATCH)
        loss = F.binary_cross_entropy_with_logits(read, more)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    vectors = dict(zip(words, table.detach(), strict=True))
    return Taught(vectors, STEPS, before, share_right())
