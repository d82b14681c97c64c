"""The encoder of `by-hand`: one layer on the article's weights, matrix by matrix."""

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from cutaway import glass
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.by_hand_model import (
    article_model,
    configuration,
    encoder_layer,
    recorded_layer,
    seeded,
)
from cutaway.lessons.lesson import Step
from cutaway.lessons.recorded import dimensions, numbers, put
from cutaway.lessons.section import Sections
from cutaway.model import attention, causal_mask, explicit
from cutaway.model.layers import EncoderLayer

TEXT = Sections("by-hand")
WORDS = figures.WORDS
LAYER = "encoder.layers.0"
HEAD = f"{LAYER}.self_attention"
D6, D4 = dimensions(6), dimensions(4, "h")


def encoder(trace: Trace) -> Iterator[Step]:
    """From embeddings to the encoder's output, on the article's weights."""
    yield _embedding(trace)
    yield _positions(trace)
    yield _one(trace, "input", "input", "encoder.states", "X", "[0,0,1]", "A6")
    yield _projections(trace)
    yield _scores(trace)
    yield _scaled(trace)
    yield _mask(trace)
    yield _weights(trace)
    yield _context(trace)
    yield _heads(trace)
    yield _one(trace, "output", "output", f"{HEAD}.output", "mha", "[0,0,0]", "A13")
    added = f"{LAYER}.self_attention_add_norm.added"
    yield _one(trace, "residual", "added", added, "add1", "[0,0,0]", "A14")
    yield _norm(trace)
    yield _feed_forward(trace)
    yield _memory(trace)
    yield _slip()


def given(name: str) -> Tensor:
    """A table the article starts from."""
    return figures.given("by_hand", name)


def printed(name: str) -> Tensor:
    """A table as the article prints it."""
    return figures.printed("by_hand", name)


def _one(trace: Trace, step: str, key: str, address: str, name: str, cell: str, code: str) -> Step:
    """A step with one matrix, whose printed figures differ only because earlier ones do."""
    section = TEXT.section(step)
    (inherited,) = TEXT.names("shared", "inherited")
    values = numbers(trace, address)
    section.matrix(key, values, WORDS, D6, printed=printed(name), note=inherited, digits=3)
    return section.step(code, trace=trace, show=f"{address}{cell}")


def _embedding(trace: Trace) -> Step:
    embedding = numbers(trace, "embedding.tokens")
    section = TEXT.section("embedding")
    section.matrix("embedding", embedding, WORDS, D6)
    section.claim("range", ((embedding >= 0) & (embedding <= 1)).all())
    return section.step("A4", trace=trace, show="embedding.tokens[0,0,0]")


def _positions(trace: Trace) -> Step:
    positions = numbers(trace, "encoder.positions.positions")
    section = TEXT.section("positions")
    section.matrix("positions", positions, WORDS, D6, printed=printed("PE"), tolerance=6e-5)
    section.claim("first", positions[0].tolist() == [0, 1, 0, 1, 0, 1])
    return section.step("A5", trace=trace, show="encoder.positions.positions[1,1]")


def _projections(trace: Trace) -> Step:
    query, key, value = (numbers(trace, f"{HEAD}.{name}") for name in ("query", "key", "value"))
    (inherited,) = TEXT.names("shared", "inherited")
    section = TEXT.section("projections")
    section.matrix("query", query, WORDS, D4, printed=printed("Q"), note=inherited)
    section.matrix("key", key, WORDS, D4, printed=printed("K"), note=inherited)
    section.matrix("value", value, WORDS, D4)
    section.matrix("printed", _value_of_printed(), WORDS, D4, printed=printed("V"))
    section.claim("copy", torch.equal(printed("V"), printed("Q")))
    section.claim("differ", not torch.equal(given("W_Q"), given("W_V")))
    return section.step("A7", trace=trace, show=f"{HEAD}.query[0,0,0,0]")


def _value_of_printed() -> Tensor:
    """V as it follows from the printed X."""
    return printed("X") @ given("W_V")


def stepwise() -> dict[str, Tensor]:
    """Our attention on the printed Q and K: what the article's own tables lead to."""
    query, key, value = printed("Q"), printed("K"), _value_of_printed()
    with torch.no_grad(), explicit(), glass.record() as trace:
        attention(query[None, None], key[None, None], value[None, None])
    return {name: numbers(trace, name) for name in ("scores", "scaled", "weights", "context")}


def _scores(trace: Trace) -> Step:
    scores = numbers(trace, f"{HEAD}.scores")
    (inherited,) = TEXT.names("shared", "inherited")
    section = TEXT.section("scores")
    section.matrix("scores", scores, WORDS, WORDS, printed=printed("QKt"), note=inherited, digits=3)
    section.claim("printed", (stepwise()["scores"] - printed("QKt")).abs().max() < 1e-9)
    return section.step("A8", trace=trace, show=f"{HEAD}.scores[0,0,0,0]")


def _scaled(trace: Trace) -> Step:
    steps, wrong = stepwise(), printed("scaled")
    by_root_6 = steps["scores"] / math.sqrt(6)
    section = TEXT.section("scaled")
    section.matrix("scaled", numbers(trace, f"{HEAD}.scaled"), WORDS, WORDS, digits=3)
    section.matrix("printed", steps["scaled"], WORDS, WORDS, printed=wrong, digits=3)
    section.claim("root", (by_root_6 - wrong).abs().max() < 0.0025)
    return section.step("A9", trace=trace, show=f"{HEAD}.scaled[0,0,0,0]")


def _mask(trace: Trace) -> Step:
    scaled = numbers(trace, f"{HEAD}.scaled")
    allowed = causal_mask(6, 6)
    hidden = int((~allowed).sum())
    masked = scaled.masked_fill(~allowed, -math.inf)
    section = TEXT.section("mask", hidden=hidden)
    section.matrix("masked", masked, WORDS, WORDS, digits=3)
    section.claim("none", torch.equal(numbers(trace, f"{HEAD}.masked"), scaled))
    section.claim("causal", hidden == 15)
    return section.step("A10", trace=trace, show=f"{HEAD}.masked[0,0,0,1]")


def _weights(trace: Trace) -> Step:
    weights, from_printed = numbers(trace, f"{HEAD}.weights"), stepwise()["weights"]
    best, second = numbers(trace, f"{HEAD}.scaled")[0, :2].tolist()
    section = TEXT.section(
        "weights",
        best=best,
        second=second,
        lead=best - second,
        factor=math.exp(best - second),
        weight=weights[0, 0],
    )
    section.matrix("weights", weights, WORDS, WORDS)
    section.matrix("printed", from_printed, WORDS, WORDS, printed=printed("softmax"))
    section.claim("rows", (weights.sum(-1) - 1).abs().max() < 1e-12)
    return section.step("A11", trace=trace, show=f"{HEAD}.weights[0,0,0,0]")


def _context(trace: Trace) -> Step:
    context, wrong = numbers(trace, f"{HEAD}.context"), printed("attention")
    right_v = printed("softmax") @ _value_of_printed()
    copied = printed("softmax") @ printed("V")
    section = TEXT.section("context")
    section.matrix("context", context, WORDS, D4, printed=wrong)
    section.matrix("right_v", right_v, WORDS, D4, printed=wrong)
    section.claim("printed", (copied - wrong).abs().max() < 1e-6)
    return section.step("A12", trace=trace, show=f"{HEAD}.context[0,0,0,0]")


def two_heads(trace: Trace) -> Trace:
    """A layer with the article's head and a second one, on the same X; recorded."""
    config = replace(configuration(), heads=2)
    layer = seeded(lambda: EncoderLayer(config).double().eval())
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        path = f"self_attention.{name}.weight"
        drawn = layer.get_parameter(path).detach().T
        second = drawn[4:] if name == "W_O" else drawn[:, 4:]  # 4 rows, or 4 columns, per head
        put(layer, path, torch.cat([given(name), second], dim=0 if name == "W_O" else 1))
    return recorded_layer(layer, numbers(trace, "encoder.states"))


def _heads(trace: Trace) -> Step:
    run = two_heads(trace)
    place = "self_attention"
    joined, both = numbers(run, f"{place}.concatenated"), numbers(run, f"{place}.output")
    weights, context = (run[f"{place}.{name}"].tensor[0] for name in ("weights", "context"))
    w_o = run[f"{place}.W_O.weight"].tensor.T
    apart = joined[:, :4] @ w_o[:4] + joined[:, 4:] @ w_o[4:]
    section = TEXT.section("heads", joined=joined.shape[1], width=both.shape[1])
    section.matrix("weights1", weights[0], WORDS, WORDS)
    section.matrix("weights2", weights[1], WORDS, WORDS)
    section.matrix("joined", joined, WORDS, dimensions(8, "h"), digits=3)
    section.matrix("both", both, WORDS, D6, digits=3)
    section.claim(
        "own",
        torch.equal(joined, torch.cat([context[0], context[1]], dim=1))
        and torch.allclose(context[0], numbers(trace, f"{HEAD}.context")),
    )
    section.claim("differ", (weights[0] - weights[1]).abs().max() > 0.01)
    section.claim("sum", (both - apart).abs().max() < 1e-12)
    return section.step("A13", trace=run, show=f"{place}.concatenated[0,0,4]")


def _norm(trace: Trace) -> Step:
    added = numbers(trace, f"{LAYER}.self_attention_add_norm.added")
    address = f"{LAYER}.self_attention_add_norm.normed"
    normed = numbers(trace, address)
    moments = torch.stack([added.mean(-1), added.std(-1, correction=0), added.std(-1)])
    printed_add, printed_mean = printed("add1"), printed("mean1")[0]
    missing = printed_add.mean(-1) - printed_mean
    section = TEXT.section("norm", ratio=math.sqrt(6 / 5), least=missing.min(), most=missing.max())
    section.matrix("moments", moments, section.labels("mean", "deviation", "unbiased"), WORDS)
    section.matrix("printed", printed_add.mean(-1), columns=WORDS, printed=printed_mean)
    section.matrix("norm", normed, WORDS, D6, printed=printed("norm1"))
    section.claim(
        "unit",
        bool(normed.mean(-1).abs().max() < 1e-12)
        and bool((normed.std(-1, correction=0) - 1).abs().max() < 1e-5),
    )
    section.claim("small", (missing > 0.09).all())
    section.claim(
        "population",
        (printed_add.std(-1, correction=0) - printed("std1")).abs().max() < 0.0051,
    )
    return section.step("A15", trace=trace, show=f"{address}[0,0,0]")


def _feed_forward(trace: Trace) -> Step:
    layer = f"{LAYER}.feed_forward"
    hidden, relu = numbers(trace, f"{layer}.hidden"), numbers(trace, f"{layer}.activated")
    product, wrong = printed("norm1") @ given("W_1"), printed("XW")
    flipped = int(((product.sign() != wrong.sign()) & (product.abs() > 0.05)).sum())
    section = TEXT.section(
        "feed_forward",
        article=int((printed("ffn_linear") < 0).sum()),
        ours=int((hidden < 0).sum()),
        flipped=flipped,
    )
    section.matrix("hidden", hidden, WORDS, D6)
    section.matrix("relu", relu, WORDS, D6)
    section.matrix("printed", product, WORDS, D6, printed=wrong)
    section.claim(
        "flipped",
        flipped == 20 and bool((product.abs() - wrong.abs()).abs().max() < 0.006),
    )
    section.claim("positive", (relu >= 0).all())
    return section.step("A16", trace=trace, show=f"{layer}.activated[0,0,2]")


def _memory(trace: Trace) -> Step:
    place = f"{LAYER}.feed_forward_add_norm"
    added, memory = numbers(trace, f"{place}.added"), numbers(trace, f"{place}.normed")
    printed_add, printed_std = printed("add2"), printed("std2")[0]
    pooled = torch.stack([printed_add[row : row + 2].flatten().std() for row in range(6)])
    deviations = torch.stack([printed_add.std(-1, correction=0), printed_add.std(-1)])
    (inherited,) = TEXT.names("shared", "inherited")
    section = TEXT.section("memory")
    section.matrix("added", added, WORDS, D6, printed=printed_add, note=inherited)
    section.matrix("memory", memory, WORDS, D6, printed=printed("norm2"))
    section.matrix(
        "deviation",
        deviations,
        section.labels("population", "unbiased"),
        WORDS,
        printed=printed_std.expand(2, -1),
    )
    section.claim("pooled", (pooled - printed_std).abs().max() < 1e-6)
    return section.step("A17", "A25", trace=trace, show=f"{place}.normed[0,0,0]")


def _slip() -> Step:
    right, wrong = (
        recorded_layer(encoder_layer(article_model()), printed("X"), root=root) for root in (4, 6)
    )
    weights = numbers(wrong, "self_attention.weights")
    memory = numbers(wrong, "feed_forward_add_norm.normed")
    change = memory - numbers(right, "feed_forward_add_norm.normed")
    moved = (weights - numbers(right, "self_attention.weights")).abs().max()
    section = TEXT.section("slip", weights=moved, memory=change.abs().max())
    section.matrix("weights", weights, WORDS, WORDS)
    section.matrix("memory", memory, WORDS, D6)
    section.matrix("change", change, WORDS, D6)
    section.claim("hidden", moved > change.abs().max())
    return section.step("A9", trace=wrong, show="self_attention.weights[0,0,0,0]")
