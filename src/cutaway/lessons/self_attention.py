"""Self-attention with no parameters of its own: a weighted average, its weights, its symmetry."""

import math
import random
import time
from collections.abc import Iterator, Sequence

import torch

from cutaway.glass import Trace
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.recorded import dimensions, numbers, table
from cutaway.lessons.section import Sections
from cutaway.lessons.self_attention_model import (
    SEED,
    SENTENCE,
    VOCABULARY,
    WIDTH,
    SelfAttention,
    learned,
    looped,
    recorded,
    vectors,
)
from cutaway.model import attention, explicit, sinusoidal

TEXT = Sections("self-attention")
ROWS = ("the₁", "cat", "walks", "on", "the₂", "street")
THE, CAT, WALKS = 0, 1, 2


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """The name, the average, its weights; learned vectors; order; loop against matrix products."""
    yield _name()
    trace = recorded(SENTENCE)
    yield _vectors(trace)
    yield _related(trace)
    yield _softmax(trace)
    yield _average(trace)
    yield _derived(trace)
    yield _order(inputs)
    yield _loop()


def _name() -> Step:
    x = table([[1.0, 2.0, 3.0, 4.0, 5.0]])
    w = table([[0.0, 0.0, 0.0, 0.5, 0.5]])
    # equal scores, and a mask that keeps the last two: softmax gives these weights
    query, key = x.new_zeros(1, 1, 1, 2), x.new_zeros(1, 1, 5, 2)
    with torch.no_grad():
        ours = attention(query, key, x[None, :, :, None], w[None, None] > 0)
    result = float(w[0] @ x[0])
    section = TEXT.section("name", result=result)
    section.matrix("x", x)
    section.matrix("w", w)
    section.matrix("sum", [[result]])
    section.claim("sum", result == 4.5)
    section.claim("model", float(ours) == 4.5)
    return section.step("B1")


def _vectors(trace: Trace) -> Step:
    x = numbers(trace, "x")
    section = TEXT.section("vectors", sentences=learned().sentences, right=learned().right)
    section.matrix("v", x, ROWS, dimensions(WIDTH))
    section.claim("subject", learned().right == 1.0)
    section.claim("same", torch.equal(x[0], x[4]))
    return section.step("B9", trace=trace, show="x[0,1,0]")


def _related(trace: Trace) -> Step:
    raw = numbers(trace, "raw_weights")
    cat_walks, the_walks, the_cat = raw[CAT, WALKS], raw[THE, WALKS], raw[THE, CAT]
    section = TEXT.section("related", cat_walks=cat_walks, the_walks=the_walks)
    section.matrix("raw", raw, ROWS, ROWS, digits=2)
    section.claim("large", cat_walks > 3 * max(the_walks.abs(), the_cat))
    return section.step("B3", "B10", trace=trace, show="raw_weights[0,1,2]")


def _softmax(trace: Trace) -> Step:
    weights = numbers(trace, "weights")
    section = TEXT.section("softmax")
    section.matrix("weights", weights, ROWS, ROWS)
    section.claim("rows", (weights.sum(1) - 1).abs().max() < 1e-12)
    section.claim("walks", int(weights[WALKS].argmax()) == CAT)
    return section.step("B4", "B10", trace=trace, show="weights[0,2,1]")


def _average(trace: Trace) -> Step:
    x, y, weights = (numbers(trace, name) for name in ("x", "y", "weights"))
    term_by_term = torch.zeros(WIDTH, dtype=torch.float64)
    for word in range(len(SENTENCE)):
        term_by_term += float(weights[WALKS, word]) * x[word]
    section = TEXT.section("average", share=weights[WALKS, CAT])
    section.matrix("y", y, ROWS, dimensions(WIDTH))
    section.claim("walks", (term_by_term - y[WALKS]).abs().max() < 1e-12)
    return section.step("B2", "B9", trace=trace, show="y[0,2,0]")


def _derived(trace: Trace) -> Step:
    count = sum(parameter.numel() for parameter in SelfAttention().parameters())
    weights = numbers(trace, "weights")
    other = numbers(recorded(("the", "dog", *SENTENCE[2:])), "weights")
    with_dog = ("the₁", "dog", *ROWS[2:])
    section = TEXT.section("derived", count=count)
    section.matrix("cat", weights, ROWS, ROWS)
    section.matrix("dog", other, with_dog, with_dog)
    section.claim("none", count == 0)
    section.claim("rows", torch.equal(weights[0], weights[4]))
    section.claim("word", (weights - other).abs().max() > 1e-3)
    return section.step("B5", "B11", trace=trace, show="weights[0,0,0]")


def _order(inputs: LessonInputs) -> Step:
    start = ["street", "walks", "the", "on", "cat", "the"]
    words = list(inputs.choice("order", start))
    if sorted(words) != sorted(SENTENCE):  # not an order of these words
        words = start
    places = _places(words)
    trace = recorded(words)
    before, after = numbers(recorded(SENTENCE), "y")[places], numbers(trace, "y")
    positions = sinusoidal(6, WIDTH)
    with torch.no_grad():
        placed = SelfAttention()(vectors(SENTENCE) + positions)[0][places]
        moved = SelfAttention()(vectors(words) + positions)[0]
    reordered = places != list(range(6))
    section = TEXT.section("order")
    section.matrix("y", after, words, dimensions(WIDTH))
    section.matrix("difference", after - before, words, dimensions(WIDTH))
    section.control("order", "order", words)
    section.claim("equivariant", (after - before).abs().max() < 1e-12)
    section.claim("positions", not reordered or bool((moved - placed).abs().max() > 1e-3))
    return section.step("B12", trace=trace, show="y[0,0,0]")


def _places(words: Sequence[str]) -> list[int]:
    """Where each word stood in the sentence; of equal words, the first is taken first."""
    left = list(enumerate(SENTENCE))
    places = []
    for word in words:
        found = next(item for item in left if item[1] == word)
        left.remove(found)
        places.append(found[0])
    return places


def _loop() -> Step:
    dice = random.Random(SEED)
    lengths = (6, 12, 24, 48)
    loop_times, product_times, gaps = [], [], []
    attend = SelfAttention()
    for length in lengths:
        words = [[dice.choice(VOCABULARY) for _ in range(length)] for _ in range(2)]
        x = torch.cat([vectors(row) for row in words])  # (2, length, WIDTH)
        begin = time.perf_counter()
        one = looped(x)
        loop_times.append((time.perf_counter() - begin) * 1e3)
        begin = time.perf_counter()
        with torch.no_grad():
            other = attend(x)
        product_times.append((time.perf_counter() - begin) * 1e3)
        gaps.append(float((one - other).abs().max()))
    with torch.no_grad(), explicit():  # times √k, which attention divides by
        model = attention((x * math.sqrt(WIDTH))[:, None], x[:, None], x[:, None])[:, 0]
    section = TEXT.section(
        "loop",
        length=lengths[-1],
        loop=loop_times[-1],
        products=product_times[-1],
        faster=loop_times[-1] / product_times[-1],
    )
    names = [f"t={length}" for length in lengths]
    rows = section.labels("loop", "products")
    section.matrix("times", [loop_times, product_times], rows, names, digits=2)
    section.matrix("gaps", [gaps], columns=names)
    section.picture(
        "times",
        "curves",
        section.series("loop", lengths, loop_times),
        section.series("products", lengths, product_times),
    )
    section.claim("agree", max(gaps) < 1e-12)
    section.claim("model", (model - other).abs().max() < 1e-12)
    return section.step("B13", "B14", measured=True)


LESSON = Lesson("self-attention", steps)
