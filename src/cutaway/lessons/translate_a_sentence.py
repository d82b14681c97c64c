"""“The cat is on the mat.” through a trained model, with the shape of everything.

Its steps on blocks and on batches are in `translate_blocks` and `translate_batches`.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from cutaway.decode import Translator
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.section import Sections
from cutaway.lessons.trained_run import SentenceRun, candidates, sentence_run, target_language
from cutaway.lessons.translate_batches import batch_steps
from cutaway.lessons.translate_blocks import block_steps

TEXT = Sections("translate-a-sentence")
SENTENCE = "The cat is on the mat."
CAT = {"fr": "chat", "zh": "猫"}  # what “cat” is in the target language
TOP = 3  # candidates shown at each step
DRAWN = 4  # steps that have a picture


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """The lesson, step by step."""
    translator = inputs.translator
    run = sentence_run(translator, inputs.choice("sentence", SENTENCE))
    yield _overview(translator, run)
    yield _shapes(translator, run)
    yield _parallel(translator, run)
    yield from block_steps(translator, run, inputs)
    yield _cross(translator, run)
    yield _explanation(translator, run)
    yield _output(run)
    yield _inference(translator, run)
    yield from batch_steps(translator)


def _overview(translator: Translator, run: SentenceRun) -> Step:
    model = translator.model
    counts = model.parameter_counts()
    fed = all(
        torch.allclose(
            run.numbers(run.memory) @ run.numbers(f"{part}.W_K.weight").T
            + (run.numbers(f"{part}.W_K.bias") if model.config.bias else 0.0),
            run.numbers(f"{part}.W_K.output"),
            atol=1e-4,
        )
        for part in (
            f"decoder.layers.{layer}.cross_attention"
            for layer in range(model.config.decoder_layers)
        )
    )
    layers = [dict(layer.named_parameters()) for layer in model.encoder.layers]  # type: ignore[union-attr]
    shapes = [{name: tensor.shape for name, tensor in layer.items()} for layer in layers]
    query = [layer["self_attention.W_Q.weight"] for layer in layers]
    own = all(not torch.equal(query[0], other) for other in query[1:])
    section = TEXT.section(
        "overview",
        sentence=run.sentence,
        output=run.text,
        encoder=model.config.encoder_layers,
        decoder=model.config.decoder_layers,
        vectors=len(run.source),
        width=model.config.d_model,
    )
    section.matrix("counts", [float(count) for count in counts.values()], (), list(counts))
    section.claim("memory", fed)
    section.claim("layers", own and all(shape == shapes[0] for shape in shapes))
    section.control("sentence", "text", run.sentence)
    return section.step("C1", "C3", "C24", "D7", trace=run.trace, show=f"{run.memory}[0,0,0]")


def _shapes(translator: Translator, run: SentenceRun) -> Step:
    config = translator.model.config
    n, m, d = len(run.source), len(run.target), config.d_model
    h, d_k, d_ff, voc = config.heads, config.d_k, config.d_ff, config.output_vocabulary
    encoder, decoder = "encoder.layers.0", "decoder.layers.0"
    listed = (  # what, symbols, expected here, the paper's base model, address (last two axes)
        ("E", "N × d", (n, d), (n, 512), "embedding.tokens"),
        ("E + PE", "N × d", (n, d), (n, 512), "encoder.states"),
        ("W_Q", "h·d_k × d", (h * d_k, d), (512, 512), f"{encoder}.self_attention.W_Q.weight"),
        ("Q_i", "N × d_k", (n, d_k), (n, 64), f"{encoder}.self_attention.query"),
        ("K_i", "N × d_k", (n, d_k), (n, 64), f"{encoder}.self_attention.key"),
        ("V_i", "N × d_v", (n, d_k), (n, 64), f"{encoder}.self_attention.value"),
        ("Q_i K_iᵀ", "N × N", (n, n), (n, n), f"{encoder}.self_attention.scores"),
        ("head_i", "N × d_v", (n, d_k), (n, 64), f"{encoder}.self_attention.context"),
        ("concat", "N × h·d_v", (n, h * d_k), (n, 512), f"{encoder}.self_attention.concatenated"),
        ("W_O", "d × h·d_v", (d, h * d_k), (512, 512), f"{encoder}.self_attention.W_O.weight"),
        ("add & norm", "N × d", (n, d), (n, 512), f"{encoder}.self_attention_add_norm.added"),
        ("FFN hidden", "N × d_ff", (n, d_ff), (n, 2048), f"{encoder}.feed_forward.hidden"),
        ("FFN output", "N × d", (n, d), (n, 512), f"{encoder}.feed_forward.output"),
        ("memory", "N × d", (n, d), (n, 512), run.memory),
        ("masked Q_i K_iᵀ", "N₁ × N₁", (m, m), (m, m), f"{decoder}.self_attention.masked"),
        ("cross Q_i K_iᵀ", "N₁ × N", (m, n), (m, n), f"{decoder}.cross_attention.scores"),
        ("cross output", "N₁ × d", (m, d), (m, 512), f"{decoder}.cross_attention.output"),
        ("logits", "N₁ × d_voc", (m, voc), (m, 37000), "output.logits"),
    )  # fmt: skip
    real = [tuple(run.trace[address].shape[-2:]) for *_, address in listed]
    section = TEXT.section("shapes", n=n, m=m, d=d, h=h, d_k=d_k, d_ff=d_ff, voc=voc)
    section.matrix(
        "shapes",
        [[*here, *paper] for here, (_, _, _, paper, _) in zip(real, listed, strict=True)],
        [f"{name}: {symbols}" for name, symbols, *_ in listed],
        section.labels("rows", "columns", "paper-rows", "paper-columns"),
    )
    section.claim("symbols", real == [wanted for _, _, wanted, _, _ in listed])
    section.claim("shared", h * d_k == d)
    return section.step(
        "D1",
        "D2",
        "D3",
        "D4",
        "D5",
        "D6",
        "D7",
        trace=run.trace,
        show="encoder.layers.0.self_attention.scores[0,0,0,0]",
    )


def _parallel(translator: Translator, run: SentenceRun) -> Step:
    model = translator.model
    with torch.no_grad():
        memory = model.encode(run.source_ids)
        state = model.start()
        single = torch.cat(
            [
                model.project(model.decode(run.target_ids[:, at : at + 1], memory, state=state))
                for at in range(run.target_ids.shape[1])
            ],
            dim=1,
        )
    together = run.numbers("output.logits")
    gap = float((together - single.double()).abs().max())
    weights = run.numbers("decoder.layers.0.self_attention.weights")[0]
    section = TEXT.section("parallel", count=len(run.target), gap=gap)
    section.matrix("weights", weights.mean(0), run.target, run.target, digits=2)
    section.claim("same", gap < 1e-3)
    section.claim("future", float(weights.triu(1).abs().max()) == 0.0)
    return section.step(
        "C2", "D6", trace=run.trace, show="decoder.layers.0.self_attention.masked[0,0,0,0]"
    )


def _watched_word(translator: Translator, run: SentenceRun) -> tuple[int, int]:
    """Places of the translation of “cat” and of “cat”; of any two tokens in another sentence."""
    word = CAT.get(target_language(translator), "")
    target = next((at for at, name in enumerate(run.wanted) if name == word), 0)
    source = next((at for at, name in enumerate(run.source) if name == "cat"), 0)
    return target, source


def _cross(translator: Translator, run: SentenceRun) -> Step:
    layers = translator.model.config.decoder_layers
    maps = [
        run.numbers(f"decoder.layers.{layer}.cross_attention.weights")[0].mean(0)
        for layer in range(layers)
    ]
    sharpest = max(range(layers), key=lambda layer: float(maps[layer].max(1).values.mean()))
    chosen = maps[sharpest]
    watched = [run.source[int(place)] for place in chosen.argmax(1)]
    place, cat = _watched_word(translator, run)
    section = TEXT.section(
        "cross",
        word=run.wanted[place],
        seen=watched[place],
        wanted=run.source[cat],
        lines=", ".join(f"{a} ← {b}" for a, b in zip(run.wanted, watched, strict=True)),
        layer=sharpest + 1,
    )
    section.matrix("weights", chosen, run.wanted, run.source, digits=2)
    section.claim("cat", int(chosen[place].argmax()) == cat)
    return section.step(
        "C23",
        "D6",
        "D9",
        "E6",
        trace=run.trace,
        show=f"decoder.layers.{sharpest}.cross_attention.softmax[0,0,{place},{cat}]",
    )


def hidden_effect(translator: Translator, run: SentenceRun) -> Tensor:
    """Increase of −log P of each target token when one source token is hidden, (T, S).

    Hidden means: cross-attention may not attend to it; the encoder still reads it.
    """
    model = translator.model
    everything = torch.ones_like(run.source_ids, dtype=torch.bool).unsqueeze(1)  # (1, 1, S)

    def surprise(hidden: int | None) -> Tensor:
        mask = everything.clone()
        if hidden is not None:
            mask[0, 0, hidden] = False
        states = model.decode(run.target_ids, memory, mask)
        log_p = torch.log_softmax(model.project(states).double(), -1)[0]
        return -log_p.gather(1, run.gold_ids[0].unsqueeze(1)).squeeze(1)

    with torch.no_grad():
        memory = model.encode(run.source_ids)
        base = surprise(None)
        return torch.stack([surprise(place) - base for place in range(len(run.source))], 1)


def _explanation(translator: Translator, run: SentenceRun) -> Step:
    """Attention read as a reason, and the test of it."""
    effect = hidden_effect(translator, run)
    weights = torch.stack(
        [
            run.numbers(f"decoder.layers.{layer}.cross_attention.weights")[0].mean(0)
            for layer in range(translator.model.config.decoder_layers)
        ]
    ).mean(0)
    agree = int((weights.argmax(1) == effect.argmax(1)).sum())
    place, cat = _watched_word(translator, run)
    section = TEXT.section(
        "explanation",
        agree=agree,
        count=len(run.wanted),
        word=run.wanted[place],
        source=run.source[cat],
        hurt=run.wanted[int(effect[:, cat].argmax())],
    )
    section.matrix("effect", effect, run.wanted, run.source, digits=2)
    section.claim("needs", int(effect[place].argmax()) == cat)
    section.claim("hint", agree > len(run.wanted) / len(run.source))
    return section.step(
        "C17",
        "C23",
        trace=run.trace,
        show=f"decoder.layers.0.cross_attention.softmax[0,0,{place},{cat}]",
    )


def _output(run: SentenceRun) -> Step:
    logits = run.numbers("output.logits")[0]  # (T, V)
    probabilities = run.numbers("probabilities")[0]
    gold = probabilities.gather(1, run.gold_ids[0].unsqueeze(1)).squeeze(1)
    last = len(run.wanted) - 1
    section = TEXT.section("output", count=len(run.wanted), tokens=logits.shape[1])
    section.matrix(
        "probabilities",
        torch.stack([gold, probabilities.sum(1)]),
        section.labels("token", "sum"),
        run.wanted,
    )
    section.claim("written", bool((logits.argmax(1) == run.gold_ids[0]).all()))
    return section.step(
        "C25", "D6", trace=run.trace, show=f"output.logits[0,{last},{int(run.gold_ids[0, last])}]"
    )


def _inference(translator: Translator, run: SentenceRun) -> Step:
    walk = translator.walk(run.sentence, top=TOP)
    lines, series = candidates(walk, translator.target_tokenizer, digits=3)
    final = walk.step
    section = TEXT.section("inference", lines="\n" + "\n".join(lines), output=final.text, top=TOP)
    if series:
        section.picture("best", "bars", *series[:DRAWN])
    section.claim("same", final.text == run.text)
    section.claim("end", bool(walk.ids) and walk.ids[-1] == translator.target_tokenizer.end)
    return section.step("C27", "D8", "D9", "C24")


LESSON = Lesson("translate-a-sentence", steps, trained=True)
