"""The same blocks as GPT and as BERT: one continues a text, the other fills blanks."""

import math
from collections.abc import Iterator

import torch

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.decode import Filler, Generator
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Series, Step
from cutaway.lessons.section import Sections
from cutaway.lessons.tiny_training import Trained, trained
from cutaway.lessons.trained_run import candidates, listed, shown
from cutaway.model import Transformer

TEXT = Sections("families")
MANY, ONE = "There ___ four cats on the mat.", "There ___ a cat on the mat."
GARDEN = "There are four ___ in the garden."
PROMPT = "There are four"
LONGEST = 24  # tokens that are generated at most
STEPS, DRAWN = 8, 4  # steps listed from the start token, and those with a picture


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """The lesson, step by step."""
    yield _blocks()
    gpt = trained("generate")
    yield _training(gpt)
    yield _generate(gpt, inputs.choice("prompt", PROMPT))
    yield _start(gpt)
    bert = trained("fill")
    yield _fill(bert, inputs.choice("blank", MANY))
    yield _both_sides(gpt, bert)


def family(kind: str) -> Transformer:
    """A small model of a family, untrained."""
    return Transformer(
        ModelConfig.from_dict(
            {
                "vocabulary": 100, "family": kind, "encoder_layers": 2, "decoder_layers": 2,
                "d_model": 32, "heads": 4, "d_ff": 64,
            }
        )
    )  # fmt: skip


def _blocks() -> Step:
    rows = []
    for kind in ("encoder-decoder", "decoder", "encoder"):
        model = family(kind)
        parts = [name for name, _ in model.named_modules()]
        rows.append(
            [
                sum(name.endswith(".self_attention") for name in parts if "encoder" in name),
                sum(name.endswith(".self_attention") for name in parts if "decoder" in name),
                sum(name.endswith(".cross_attention") for name in parts),
                sum(name.endswith(".feed_forward") for name in parts),
                model.parameter_counts()["total"],
            ]
        )
    section = TEXT.section("blocks")
    columns = section.labels("encoder", "decoder", "cross", "feed-forward", "parameters")
    section.matrix("blocks", rows, (section.label("translator"), "GPT", "BERT"), columns)
    section.claim("parts", rows[1][:3] == [0, 2, 0] and rows[2][:3] == [2, 0, 0])
    section.claim("parameters", rows[1][4] == rows[2][4])
    return section.step("C14", "D8")


def _training(gpt: Trained) -> Step:
    vocabulary = gpt.folder.model.config.vocabulary
    even = math.log(vocabulary)
    section = TEXT.section(
        "training",
        sentences=gpt.sentences,
        updates=len(gpt.losses),
        vocabulary=vocabulary,
        even=even,
        unseen=gpt.held_out,
    )
    updates = list(range(len(gpt.losses)))
    section.picture("losses", "curves", Series("GPT", updates, gpt.losses))
    section.claim("learned", gpt.held_out < even / 2)
    return section.step("C14")


def _generate(gpt: Trained, prompt: str) -> Step:
    generator = Generator(gpt.folder)
    greedy = generator.generate([prompt], beam=1, max_tokens=LONGEST)[0]
    drawn = [
        generator.generate([prompt], sample=True, seed=seed, max_tokens=LONGEST)[0].text
        for seed in range(1, 5)
    ]
    tokenizer, model = gpt.folder.tokenizer, gpt.folder.model
    ids = tokenizer.encode(greedy.text, start=True)
    changed = [*ids[:-1], tokenizer.encode("cats")[0]]
    with torch.no_grad():
        with glass.record(model) as trace:
            model(torch.tensor([ids]))
        logits, other = model(torch.tensor([ids])), model(torch.tensor([changed]))
    names = shown(tokenizer, ids)
    trace.label(source=names)
    weights = trace["decoder.layers.0.self_attention.weights"].tensor[0].mean(0)
    same = bool(torch.allclose(logits[0, :-1], other[0, :-1], atol=1e-5))
    differs = ids == changed or not torch.allclose(logits[0, -1], other[0, -1], atol=1e-2)
    section = TEXT.section(
        "generate",
        prompt=prompt,
        output=greedy.text,
        lines="\n" + "\n".join(f"  {text}" for text in drawn),
    )
    section.matrix("weights", weights, names, names, digits=2)
    section.claim("ends", greedy.text.startswith(prompt) and not greedy.warnings)
    section.claim("causal", same and differs)
    section.control("prompt", "text", prompt)
    return section.step(
        "C14", "D8", trace=trace, show="decoder.layers.0.self_attention.masked[0,0,0,0]"
    )


def _start(gpt: Trained) -> Step:
    walk = Generator(gpt.folder).walk("", top=3)
    lines, series = candidates(walk, gpt.folder.tokenizer, digits=2, most=STEPS)
    first = series[0]
    section = TEXT.section("start", lines="\n" + "\n".join(lines), chance=first.y[0])
    section.picture("best", "bars", *series[:DRAWN])
    section.claim("there", first.labels[0] == "There" and first.y[0] > 0.9)
    return section.step("D8")


def _fill(bert: Trained, blank: str) -> Step:
    asked = list(dict.fromkeys((MANY, ONE, GARDEN, blank)))
    filled = Filler(bert.folder).fill(asked, top=4)
    lines = []
    for one in filled:
        names = shown(bert.folder.tokenizer, [candidate.id for candidate in one.blanks[0]])
        rivals = listed(names, [candidate.probability for candidate in one.blanks[0]], digits=2)
        lines.append(f"  {one.source} → {one.text}   ({rivals})")
    even = math.log(bert.folder.model.config.vocabulary)
    right = filled[0].text.startswith("There are") and filled[1].text.startswith("There is")
    section = TEXT.section("fill", unseen=bert.held_out, even=even, lines="\n" + "\n".join(lines))
    updates = list(range(len(bert.losses)))
    section.picture("losses", "curves", Series("BERT", updates, bert.losses))
    section.claim("agrees", right)
    section.claim("learned", bert.held_out < even / 2)
    section.control("blank", "text", blank)
    return section.step("C14")


def _both_sides(gpt: Trained, bert: Trained) -> Step:
    tokenizer = gpt.folder.tokenizer
    words = [tokenizer.encode(word)[0] for word in ("is", "are")]
    ahead, around = [], []
    with torch.no_grad():
        for blank in (MANY, ONE):
            ids = tokenizer.encode(blank.replace("___", "is"), start=True, end=True)
            place = ids.index(words[0])
            logits = gpt.folder.model(torch.tensor([ids]))[0]
            ahead.append(torch.softmax(logits[place - 1], -1)[words])  # has read: There
            masked = torch.tensor([[*ids[:place], tokenizer.mask, *ids[place + 1 :]]])
            with glass.record(bert.folder.model) as trace:
                logits = bert.folder.model(masked)[0]
            around.append(torch.softmax(logits[place], -1)[words])
    names = shown(tokenizer, masked[0].tolist())
    trace.label(source=names)
    weights = trace["encoder.layers.0.self_attention.weights"].tensor[0, :, place].mean(0)
    section = TEXT.section("both-sides", gpt=ahead[0][0], many=around[0][1], one=around[1][0])
    rows = (f"GPT: {MANY}", f"GPT: {ONE}", f"BERT: {MANY}", f"BERT: {ONE}")
    section.matrix("odds", torch.stack([*ahead, *around]), rows, ("is", "are"))
    section.matrix("weights", weights, (), names, digits=2)
    section.claim("gpt", bool(torch.allclose(ahead[0], ahead[1], atol=1e-5)))
    section.claim("bert", bool(around[0][1] > 0.8) and bool(around[1][0] > 0.8))
    return section.step(
        "C14", trace=trace, show=f"encoder.layers.0.self_attention.softmax[0,0,{place},1]"
    )


LESSON = Lesson("families", steps)
