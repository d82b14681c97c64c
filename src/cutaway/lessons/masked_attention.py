"""我 喜欢 学习 编程: masked attention step by step, printed figures next to computed ones."""

import math
from collections.abc import Iterator

import torch

from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.masked_future import example, mask_guarantees
from cutaway.lessons.recorded import ATTENTION, dimensions, numbers
from cutaway.lessons.section import Sections
from cutaway.lessons.two_heads import two_heads
from cutaway.model import causal_mask

TEXT = Sections("masked-attention")
WORDS = figures.FOUR_WORDS
D3 = dimensions(3)
THREE_DIGITS = 5.1e-4  # rounding of a figure printed with three digits
TWO_DIGITS = 0.0051


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """Mask, projections, scores, softmax, output; what the mask guarantees; the two-head toy."""
    trace = example()
    yield _why()
    yield _projections(trace)
    yield _scores(trace)
    yield _scaled(trace)
    yield _weights(trace)
    yield _output(trace)
    yield from mask_guarantees(inputs, trace)
    yield from two_heads()


def _why() -> Step:
    allowed = causal_mask(4, 4)
    hidden = int((~allowed).sum())
    added = torch.zeros(4, 4).masked_fill(~allowed, -math.inf)
    as_columns = ~torch.ones(4, 4, dtype=torch.bool).tril(-1)  # the lower triangle hidden
    section = TEXT.section("why", cells=allowed.numel(), hidden=hidden)
    section.matrix("mask", added, WORDS, WORDS)
    section.claim("six", hidden == 6)
    section.claim("transpose", torch.equal(allowed.T, as_columns))
    return section.step("C21", "E8")


def _projections(trace: Trace) -> Step:
    key, printed = numbers(trace, f"{ATTENTION}.key"), figures.printed("masked", "K")
    apart = (key - printed).abs()
    transposed = figures.given("masked", "X") @ figures.given("masked", "W_K").T
    section = TEXT.section(
        "projections", first=key[0, 0], printed=printed[0, 0], largest=apart.max()
    )
    section.matrix("w_k", figures.given("masked", "W_K"), D3, D3)
    section.matrix("query", numbers(trace, f"{ATTENTION}.query"), WORDS, D3)
    section.matrix("key", key, WORDS, D3, printed=printed, tolerance=TWO_DIGITS)
    section.claim("twelve", (apart > TWO_DIGITS).all())
    section.claim("transpose", (transposed - printed).abs().max() > 0.05)
    return section.step("C22", trace=trace, show=f"{ATTENTION}.key[0,0,0,0]")


def _scores(trace: Trace) -> Step:
    scores, printed = numbers(trace, f"{ATTENTION}.scores"), figures.printed("masked", "QKt")
    again = figures.given("masked", "X") @ figures.printed("masked", "K").T
    section = TEXT.section("scores", second=scores[0, 1])
    section.matrix("scores", scores, WORDS, WORDS, printed=printed, tolerance=THREE_DIGITS)
    section.matrix("again", again, WORDS, WORDS, printed=printed, tolerance=THREE_DIGITS)
    section.claim("printed", ((again - printed).abs() > THREE_DIGITS).all())
    return section.step("C22", trace=trace, show=f"{ATTENTION}.scores[0,0,0,1]")


def _scaled(trace: Trace) -> Step:
    scaled, printed = numbers(trace, f"{ATTENTION}.scaled"), figures.printed("masked", "scaled")
    divided = figures.printed("masked", "QKt") / math.sqrt(3)
    section = TEXT.section("scaled")
    section.matrix("scaled", scaled, WORDS, WORDS, printed=printed, tolerance=THREE_DIGITS)
    section.matrix("masked", numbers(trace, f"{ATTENTION}.masked"), WORDS, WORDS)
    section.claim("division", (divided - printed).abs().max() < 5e-4)
    return section.step("C21", "C22", "E8", trace=trace, show=f"{ATTENTION}.masked[0,0,0,1]")


def _weights(trace: Trace) -> Step:
    weights, printed = numbers(trace, f"{ATTENTION}.weights"), figures.printed("masked", "softmax")
    scaled = figures.printed("masked", "scaled")
    own = torch.softmax(scaled.masked_fill(~causal_mask(4, 4), -math.inf), dim=-1)
    section = TEXT.section("softmax")
    section.matrix("weights", weights, WORDS, WORDS, printed=printed, tolerance=THREE_DIGITS)
    section.matrix("own", own, WORDS, WORDS, printed=printed, tolerance=THREE_DIGITS)
    section.claim("rows", (weights.sum(-1) - 1).abs().max() < 1e-12)
    section.claim("above", (weights.triu(1) == 0).all())
    return section.step("C21", "C22", trace=trace, show=f"{ATTENTION}.weights[0,0,1,0]")


def _output(trace: Trace) -> Step:
    output, printed = numbers(trace, f"{ATTENTION}.output"), figures.printed("masked", "output")
    own = figures.printed("masked", "softmax") @ figures.given("masked", "X")
    other, itself = numbers(trace, f"{ATTENTION}.weights")[1, :2].tolist()
    section = TEXT.section("output", other=other, own=itself)
    section.matrix("output", output, WORDS, D3, printed=printed, tolerance=THREE_DIGITS)
    section.matrix("own", own, WORDS, D3, printed=printed, tolerance=THREE_DIGITS)
    section.claim("copy", torch.equal(output[0], figures.given("masked", "X")[0]))
    return section.step("C22", trace=trace, show=f"{ATTENTION}.output[0,1,0]")


LESSON = Lesson("masked-attention", steps)
