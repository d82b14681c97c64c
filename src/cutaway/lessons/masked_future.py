"""What the mask of `masked-attention` guarantees: a changed last word, a row without keys."""

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Step
from cutaway.lessons.recorded import ATTENTION, dimensions, numbers, recorded_decoder
from cutaway.lessons.section import Sections
from cutaway.model import attention, explicit

TEXT = Sections("masked-attention")
WORDS = figures.FOUR_WORDS
D3 = dimensions(3)


def four_words(x: Tensor) -> Trace:
    """A decoder of one layer and one head with the example's weights, recorded on four words."""
    given = {name: figures.given("masked", name) for name in ("W_Q", "W_K", "W_V")}
    return recorded_decoder(x, {**given, "W_O": torch.eye(3)}, WORDS)


@cache
def example() -> Trace:
    """The run with the example's own numbers."""
    return four_words(figures.given("masked", "X"))


def mask_guarantees(inputs: LessonInputs, trace: Trace) -> Iterator[Step]:
    """A later word is changed; a query may attend to no key."""
    yield _future(inputs)
    yield _no_key(trace)


def _future(inputs: LessonInputs) -> Step:
    usual = figures.given("masked", "X")
    first = inputs.choice("last", float(usual[3, 0]))
    chosen, other = usual.clone(), usual.clone()
    chosen[3, 0] = first
    other[3] = 5.0
    changed = four_words(chosen)
    before = numbers(four_words(other), f"{ATTENTION}.output")
    after = numbers(changed, f"{ATTENTION}.output")
    section = TEXT.section("future")
    section.matrix("masked", after, WORDS, D3)
    section.matrix("free", _unmasked(chosen), WORDS, D3)
    section.control("last", "slider", first, (-3.0, 3.0, 0.1))
    section.claim("masked", torch.equal(before[:3], after[:3]))
    section.claim("free", (_unmasked(usual)[0] - _unmasked(other)[0]).abs().max() > 0.1)
    return section.step("C21", "C22", trace=changed, show=f"{ATTENTION}.output[0,2,0]")


def _unmasked(words: Tensor) -> Tensor:
    key = words @ figures.given("masked", "W_K")
    with torch.no_grad(), explicit():
        return attention(words[None, None], key[None, None], words[None, None])[0, 0]


def _no_key(trace: Trace) -> Step:
    scaled = numbers(trace, f"{ATTENTION}.scaled")[:1]
    nobody = torch.zeros(1, 4, dtype=torch.bool)
    value = figures.given("masked", "X")
    rough = torch.softmax(scaled.masked_fill(~nobody, -1e9), dim=-1) @ value
    query, key = value[:1], value
    with torch.no_grad(), explicit():
        zeros = attention(query[None, None], key[None, None], value[None, None], nobody[None, None])
    section = TEXT.section("nobody")
    section.matrix("rough", rough, columns=D3)
    section.matrix("zeros", zeros[0, 0], columns=D3)
    section.claim("average", (rough[0] - value.mean(0)).abs().max() < 1e-12)
    section.claim("zeros", (zeros == 0).all())
    return section.step("C21", "E8")
