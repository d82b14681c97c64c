"""The blocks one sentence passes: heads, add & norm, feed-forward, dropout.

Part of the lesson `translate-a-sentence`.
"""

import math
from collections.abc import Iterator
from itertools import combinations

import torch

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.decode import Translator
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Series, Step
from cutaway.lessons.residuals import residual_step
from cutaway.lessons.section import Sections
from cutaway.lessons.trained_run import SentenceRun
from cutaway.model.attention import explicit_attention
from cutaway.model.layers import EncoderLayer

TEXT = Sections("translate-a-sentence")
DRAWS, DROPPED = 400, 0.1  # draws of dropout, and the share dropped


def block_steps(translator: Translator, run: SentenceRun, inputs: LessonInputs) -> Iterator[Step]:
    """Heads, many heads, add & norm, why residuals, feed-forward, dropout."""
    config = translator.model.config
    layer = min(max(1, inputs.choice("layer", 1)), config.encoder_layers)
    head = min(max(1, inputs.choice("head", 1)), config.heads)
    yield _one_head(translator, run, layer - 1, head - 1)
    yield _many_heads(translator, run, layer - 1)
    yield _add_norm(translator, run)
    yield residual_step()
    yield _feed_forward(translator, run)
    yield _dropout(run)


def _one_head(translator: Translator, run: SentenceRun, layer: int, head: int) -> Step:
    config = translator.model.config
    part = f"encoder.layers.{layer}.self_attention"
    query, key, value = (
        run.numbers(f"{part}.{name}")[0, head] for name in ("query", "key", "value")
    )  # (S, W) each
    weights = run.numbers(f"{part}.weights")[0, head]
    context = run.numbers(f"{part}.context")[0, head]
    scores = query @ key.T
    again = torch.softmax(scores / math.sqrt(config.d_k), -1) @ value
    gap = float((again - context).abs().max())
    section = TEXT.section("one-head", root=math.sqrt(config.d_k), gap=gap)
    layers, heads = range(1, config.encoder_layers + 1), range(1, config.heads + 1)
    section.matrix("scores", scores, run.source, run.source, digits=2)
    section.matrix("weights", weights, run.source, run.source, digits=2)
    section.claim("formula", gap < 1e-4)
    section.control("layer", "option", layer + 1, list(layers))
    section.control("head", "option", head + 1, list(heads))
    return section.step(
        "C9", "C10", "D2", "E6", "E7", trace=run.trace, show=f"{part}.softmax[0,{head},1,1]"
    )


def _many_heads(translator: Translator, run: SentenceRun, layer: int) -> Step:
    part = f"encoder.layers.{layer}.self_attention"
    weights = run.numbers(f"{part}.weights")[0]  # (H, S, S)
    context = run.numbers(f"{part}.context")[0]  # (H, S, W)
    joined = run.numbers(f"{part}.concatenated")[0]  # (S, H·W)
    same = bool(torch.equal(torch.cat(list(context), dim=1), joined))
    apart = min(
        (float((one - other).abs().max()) for one, other in combinations(weights, 2)), default=1.0
    )
    word = run.source.index("mat") if "mat" in run.source else len(run.source) - 2
    output = joined @ run.numbers(f"{part}.W_O.weight").T
    if translator.model.config.bias:
        output = output + run.numbers(f"{part}.W_O.bias")
    gap = float((output - run.numbers(f"{part}.output")[0]).abs().max())
    names = TEXT.numbered("head", "name", len(weights))
    section = TEXT.section("many-heads", heads=len(weights), word=run.source[word], gap=gap)
    places = list(range(len(run.source)))
    section.matrix("weights", weights[:, word], names, run.source, digits=2)
    section.picture(
        "heads",
        "bars",
        *(
            Series(name, places, row.tolist(), run.source)
            for name, row in zip(names, weights[:, word], strict=True)
        ),
    )
    section.claim("concat", same)
    section.claim("apart", apart > 1e-3)
    section.claim("mixed", gap < 1e-4)
    return section.step(
        "C11", "C12", "D3", "E10", trace=run.trace, show=f"{part}.concatenated[0,{word},0]"
    )


def paper_layer() -> tuple[tuple[int, ...], float, float]:
    """Three tokens through an encoder layer of the paper's size: shape, mean, spread of a row."""
    config = ModelConfig.from_dict({"vocabulary": 8, "d_model": 512, "heads": 8, "d_ff": 2048})
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        layer = EncoderLayer(config).eval()
        with glass.record(layer) as trace:
            layer(7 * torch.randn(1, 3, 512) + 3, None)
    normed = trace["self_attention_add_norm.normed"].tensor[0]  # (3, 512)
    spread = normed.std(1, correction=0)
    return tuple(normed.shape), float(normed.mean(1).abs().max()), float((spread - 1).abs().max())


def _add_norm(translator: Translator, run: SentenceRun) -> Step:
    config = translator.model.config
    part = "encoder.layers.0.self_attention_add_norm"
    before = run.numbers("encoder.states" if config.norm == "pre" else f"{part}.added")[0]
    normed = run.numbers(f"{part}.normed")[0]
    centred = before - before.mean(1, keepdim=True)
    plain = centred / (centred.square().mean(1, keepdim=True) + config.norm_epsilon).sqrt()
    again = plain * run.numbers(f"{part}.norm.weight") + run.numbers(f"{part}.norm.bias")
    gap = float((again - normed).abs().max())
    shape, mean, spread = paper_layer()
    order = TEXT.section("norm-order").label("pre" if config.norm == "pre" else "post")
    section = TEXT.section("add-norm", order=order, gap=gap)
    section.matrix(
        "rows",
        torch.stack(
            [before.mean(1), before.std(1, correction=0), plain.mean(1), plain.std(1, correction=0)]
        ),
        ("μ", "σ", *section.labels("mean-after", "spread-after")),
        run.source,
        digits=3,
    )
    section.claim("formula", gap < 1e-3)
    section.claim("shape", shape == (3, 512) and mean < 1e-5 and spread < 1e-3)
    return section.step("C13", "D5", trace=run.trace, show=f"{part}.normed[0,1,0]")


def _feed_forward(translator: Translator, run: SentenceRun) -> Step:
    config = translator.model.config
    part = "encoder.layers.0.feed_forward"
    active = (run.numbers(f"{part}.activated")[0] > 0).double().mean(1)
    network = translator.model.get_submodule(part)
    inner = "feed_forward_add_norm" if config.norm == "pre" else "self_attention_add_norm"
    states = run.trace[f"encoder.layers.0.{inner}.normed"].tensor[0]
    with torch.no_grad():
        alone = torch.cat([network(states[at : at + 1]) for at in range(len(states))])
    gap = float((alone.double() - run.numbers(f"{part}.output")[0]).abs().max())
    section = TEXT.section(
        "feed-forward",
        inner=config.d_ff,
        width=config.d_model,
        activation={"relu": "ReLU"}.get(config.activation, "GELU"),
        active=float(active.mean()),
        gap=gap,
    )
    section.matrix("active", active, (), run.source, digits=2)
    section.claim("alone", gap < 1e-3)
    return section.step("C19", "D4", trace=run.trace, show=f"{part}.hidden[0,1,0]")


def _dropout(run: SentenceRun) -> Step:
    part = "encoder.layers.0.self_attention"
    query, key, value = (run.trace[f"{part}.{name}"].tensor for name in ("query", "key", "value"))
    mask = torch.ones(1, 1, 1, query.shape[2], dtype=torch.bool)
    mask[..., -1] = False  # hide <end>
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        still = explicit_attention(query, key, value, mask, 0.0)
        drawn = torch.stack(
            [explicit_attention(query, key, value, mask, DROPPED) for _ in range(DRAWS)]
        )
        other = explicit_attention(query, key, value.clone().index_fill_(2, _last(query), 9.0),
                                   mask, 0.0)  # fmt: skip
    size = still.abs().mean()
    mean_gap = float((drawn.mean(0) - still).abs().mean() / size)
    one_gap = float((drawn - still).abs().mean() / size)
    section = TEXT.section("dropout", draws=DRAWS, share=DROPPED, one=one_gap, mean=mean_gap)
    section.claim("mean", 0 < mean_gap < one_gap / 4)
    section.claim("masked", bool(torch.equal(still, other)))
    return section.step("C18")


def _last(query: torch.Tensor) -> torch.Tensor:
    """Index of the last position."""
    return torch.tensor([query.shape[2] - 1])
