"""Two masked heads with identity weights: a toy example on the model's own attention."""

from collections.abc import Iterator
from functools import cache

import torch

from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.lesson import Step
from cutaway.lessons.recorded import ATTENTION, dimensions, numbers, recorded_decoder
from cutaway.lessons.section import Sections

TEXT = Sections("masked-attention")
ROWS = ("1", "2", "3")


@cache
def toy() -> Trace:
    """One decoder layer, two heads of width 3; every projection of every head the identity."""
    twice = torch.cat([torch.eye(3)] * 2, dim=1)
    weights = dict.fromkeys(("W_Q", "W_K", "W_V"), twice)
    mean = twice.T / 2  # of both heads
    return recorded_decoder(
        figures.given("two_heads", "X"), {**weights, "W_O": mean}, ROWS, heads=2
    )


def two_heads() -> Iterator[Step]:
    """Scores and masks of the toy, then weights, concatenation and the last linear."""
    trace = toy()
    yield _scores(trace)
    yield _joined(trace)


def _scores(trace: Trace) -> Step:
    x = figures.given("two_heads", "X")
    printed = {
        name: figures.printed("two_heads", name) for name in ("A1", "A2", "A1_masked", "A2_masked")
    }
    scores = trace[f"{ATTENTION}.scores"].tensor[0]  # (heads, queries, keys)
    masked = trace[f"{ATTENTION}.masked"].tensor[0]
    section = TEXT.section("two-heads", first=scores[0, 0, 0])
    section.matrix("x", x, ROWS, dimensions(3))
    section.matrix("head1", scores[0], ROWS, ROWS, printed=printed["A1"])
    section.matrix("head2", scores[1], ROWS, ROWS, printed=printed["A2"])
    section.matrix("masked1", masked[0], ROWS, ROWS, printed=printed["A1_masked"])
    section.matrix("masked2", masked[1], ROWS, ROWS, printed=printed["A2_masked"])
    section.claim("product", all(torch.equal(head, x @ x.T) for head in scores))
    section.claim("printed", torch.equal(printed["A1"], x.T) and torch.equal(printed["A2"], x))
    section.claim("past", (printed["A2_masked"].tril(-1) == 0).all())
    return section.step("A21", "E8", trace=trace, show=f"{ATTENTION}.masked[0,0,0,1]")


def _joined(trace: Trace) -> Step:
    x = figures.given("two_heads", "X")
    weights = trace[f"{ATTENTION}.weights"].tensor[0, 0]
    joined, output = (
        numbers(trace, f"{ATTENTION}.concatenated"),
        numbers(trace, f"{ATTENTION}.output"),
    )
    other = (weights - weights.diag().diag()).max()
    section = TEXT.section(
        "two-heads-joined", other=other, joined=joined.shape[1], width=output.shape[1]
    )
    section.matrix("weights", weights, ROWS, ROWS)
    section.matrix("joined", joined, ROWS, dimensions(6))
    section.matrix("output", output, ROWS, dimensions(3))
    section.claim("returns", (joined - torch.cat([x, x], 1)).abs().max() < 1e-9)
    section.claim("later", (weights.triu(1) == 0).all())
    return section.step("A21", "A13", trace=trace, show=f"{ATTENTION}.concatenated[0,1,4]")
