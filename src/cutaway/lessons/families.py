"""The same blocks as GPT and as BERT (C14, D8): one continues, the other fills in."""

import math
from collections.abc import Iterator

import torch

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.decode import Filler, Generator
from cutaway.lessons.lesson import (
    Claim,
    Control,
    Lesson,
    Matrix,
    Picture,
    Question,
    Said,
    Series,
    Step,
)
from cutaway.lessons.room import Room
from cutaway.lessons.tiny_training import Trained, trained
from cutaway.lessons.trained_run import shown
from cutaway.model import Transformer
from cutaway.text import Tokenizer

MANY, ONE = "There ___ four cats on the mat.", "There ___ a cat on the mat."
PROMPT = "There are four"


def tell(room: Room) -> Iterator[Step]:
    """The lesson, step by step."""
    yield _blocks()
    gpt = trained("generate")
    yield _training(gpt, "GPT")
    yield _generate(gpt, room.choice("prompt", PROMPT))
    yield _start(gpt)
    bert = trained("fill")
    yield _fill(bert, room.choice("blank", MANY))
    yield _both_sides(gpt, bert, gpt.folder.tokenizer)


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
    kinds = ("encoder-decoder", "decoder", "encoder")
    names = (Said("translator", "翻译模型"), "GPT", "BERT")
    rows = []
    for kind in kinds:
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
    return Step(
        title=Said("Three families, one set of blocks", "三个家族，同一套积木"),
        text=Said(
            "Keep both stacks and you have a translator. Keep the decoder alone, drop "
            "cross-attention, and you have GPT: it sees what came before and predicts what comes "
            "next. Keep the encoder alone and you have BERT: it sees both sides and guesses what "
            "was hidden. Counted on real models of two layers a stack.",
            "两摞都留，就是翻译模型。只留解码器、去掉交叉注意力，就是 GPT：看前文，预测下一个词。"
            "只留编码器，就是 BERT：两边都看，猜被遮住的词。"
            "下面是在每摞两层的真实模型上数出来的。",
        ),
        matrices=(
            Matrix(
                Said("blocks", "积木"),
                rows,
                rows=names,
                columns=(
                    Said("encoder self-attention", "编码器自注意力"),
                    Said("decoder self-attention", "解码器自注意力"),
                    Said("cross-attention", "交叉注意力"),
                    Said("feed-forward", "前馈"),
                    Said("parameters", "参数"),
                ),
            ),
        ),
        claims=(
            Claim(
                Said("GPT has masked self-attention and no cross-attention; BERT no decoder",
                     "GPT 有带掩码的自注意力而无交叉注意力；BERT 没有解码器"),
                rows[1][:3] == [0, 2, 0] and rows[2][:3] == [2, 0, 0],
            ),
            Claim(
                Said("GPT and BERT of one size have equally many parameters",
                     "同样大小的 GPT 和 BERT 参数一样多"),
                rows[1][4] == rows[2][4],
            ),
        ),
        question=Question(
            Said("What must go if there is no source sentence?", "没有原文，哪个部件就没用了？"),
            Said("Cross-attention: there is no memory to ask.", "交叉注意力：没有可问的 memory。"),
        ),
        codes=("C14", "D8"),
    )  # fmt: skip


def _training(gpt: Trained, name: str) -> Step:
    vocabulary = gpt.folder.model.config.vocabulary
    even = math.log(vocabulary)
    return Step(
        title=Said(f"A tiny {name}, trained now", f"当场训练一个小 {name}"),
        text=Said(
            f"{gpt.sentences} short English sentences, {len(gpt.losses)} updates, two layers, 64 "
            f"wide, {vocabulary} tokens. Every position predicts its next word; no labels are "
            "needed but the text itself. Guessing evenly would cost "
            f"{even:.2f} a token. On sentences it has not seen it ends at {gpt.held_out:.2f}.",
            f"{gpt.sentences} 个英文短句，{len(gpt.losses)} 次更新，两层，宽 64，"
            f"{vocabulary} 个词元。每个位置预测下一个词，除了文本本身不需要任何标注。"
            f"平均瞎猜每个词元的代价是 {even:.2f}；在没见过的句子上，它最后是 "
            f"{gpt.held_out:.2f}。",
        ),
        pictures=(
            Picture(
                Said("loss a token", "每个词元的损失"),
                "curves",
                (Series(name, list(range(len(gpt.losses))), gpt.losses),),
                x=Said("update", "更新"),
                y=Said("loss", "损失"),
            ),
        ),
        claims=(
            Claim(
                Said("Unseen sentences cost less than half of guessing",
                     "没见过的句子，代价不到瞎猜的一半"),
                gpt.held_out < even / 2,
            ),
        ),
        codes=("C14",),
    )  # fmt: skip


def _generate(gpt: Trained, prompt: str) -> Step:
    generator = Generator(gpt.folder)
    greedy = generator.generate([prompt], beam=1, max_tokens=24)[0]
    drawn = [
        generator.generate([prompt], sample=True, seed=seed, max_tokens=24)[0].text
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
    differs = not torch.allclose(logits[0, -1], other[0, -1], atol=1e-2)
    listed = "\n".join(f"  {text}" for text in drawn)
    return Step(
        title=Said("GPT goes on", "GPT 往下写"),
        text=Said(
            f"Give it “{prompt}”. It appends the likeliest word, reads all of it again, and so "
            f"on until <end>: “{greedy.text}”. Drawing by chance instead of taking the "
            f"likeliest gives other sentences, not all of them sensible:\n{listed}\n"
            "The attention below is a triangle: nobody looks ahead.",
            f"给它“{prompt}”。它接上最可能的词，再全部重读，如此直到 <end>：“{greedy.text}”。"
            f"不取最可能的而按概率抽取，会得到别的句子，未必都通顺：\n{listed}\n"
            "下面的注意力是个三角形：谁也不往后看。",
        ),
        matrices=(
            Matrix(
                Said("weights, layer 1, mean of heads", "权重，第 1 层，各头平均"),
                weights,
                names,
                names,
                digits=2,
            ),
        ),
        claims=(
            Claim(Said("It starts with the prompt and ends by itself",
                       "以给定的开头起，自己结束"),
                  greedy.text.startswith(prompt) and not greedy.warnings),
            Claim(Said("Another last word changes no earlier prediction",
                       "换掉最后一个词，不影响前面任何预测"), same and differs),
        ),
        controls=(Control("prompt", Said("Beginning", "开头"), "text", prompt),),
        trace=trace,
        show="decoder.layers.0.self_attention.masked[0,0,0,0]",
        codes=("C14", "D8"),
    )  # fmt: skip


def _start(gpt: Trained) -> Step:
    generator = Generator(gpt.folder)
    lines: list[str] = []
    series: list[Series] = []
    walk = generator.walk("", top=3)
    for step in walk:
        if step.finished or len(lines) == 8:
            break
        names = shown(gpt.folder.tokenizer, [one.id for one in step.candidates])
        chances = [one.probability for one in step.candidates]
        told = ", ".join(f"{n} {c:.2f}" for n, c in zip(names, chances, strict=True))
        lines.append(f"  <start> {step.text} → {told}")
        series.append(Series(f"{len(lines)}. {names[0]}", range(len(names)), chances, names))
    first = series[0]
    listed = "\n".join(lines)
    return Step(
        title=Said("From the start token alone", "只从起始词元开始"),
        text=Said(
            "With no prompt, the first input is the start token. Its prediction is the first "
            f"word; then both are fed, and so on.\n{listed}",
            "没有开头时，第一个输入就是起始词元；由它预测第一个词，再把两者一起送入，如此继续。"
            f"\n{listed}",
        ),
        pictures=(
            Picture(Said("the best at each step", "每一步的前三名"), "bars", series[:4]),
        ),
        claims=(
            Claim(Said("All sentences begin alike, and it has learned how: There",
                       "所有句子开头相同，它学会了：There"),
                  first.labels[0] == "There" and first.y[0] > 0.9),
        ),
        codes=("D8",),
    )  # fmt: skip


def _fill(bert: Trained, blank: str) -> Step:
    filler = Filler(bert.folder)
    asked = list(dict.fromkeys((MANY, ONE, "There are four ___ in the garden.", blank)))
    filled = filler.fill(asked, top=4)
    lines = "\n".join(
        f"  {one.source} → {one.text}   ("
        + ", ".join(
            f"{shown(bert.folder.tokenizer, [c.id])[0]} {c.probability:.2f}" for c in one.blanks[0]
        )
        + ")"
        for one in filled
    )
    even = math.log(bert.folder.model.config.vocabulary)
    right = filled[0].text.startswith("There are") and filled[1].text.startswith("There is")
    return Step(
        title=Said("BERT fills in", "BERT 填空"),
        text=Said(
            "The same sentences, the same size, another question: some words are hidden, and "
            "the model guesses them from both sides. On unseen sentences a hidden word costs "
            f"{bert.held_out:.2f}; guessing evenly {even:.2f}.\n{lines}",
            "同样的句子、同样的大小，换一个问题：遮住一些词，让模型从两边去猜。"
            f"没见过的句子里，一个被遮的词代价 {bert.held_out:.2f}，瞎猜是 {even:.2f}。\n{lines}",
        ),
        pictures=(
            Picture(
                Said("loss a hidden token", "每个被遮词元的损失"),
                "curves",
                (Series("BERT", list(range(len(bert.losses))), bert.losses),),
                x=Said("update", "更新"),
                y=Said("loss", "损失"),
            ),
        ),
        claims=(
            Claim(Said("It fills is before one cat and are before four",
                       "一只猫前填 is，四只猫前填 are"), right),
            Claim(Said("Hidden words of unseen sentences cost less than half of guessing",
                       "没见过的句子里，被遮词的代价不到瞎猜的一半"), bert.held_out < even / 2),
        ),
        controls=(Control("blank", Said("Sentence with ___", "带 ___ 的句子"), "text", blank),),
        codes=("C14",),
    )  # fmt: skip


def _both_sides(gpt: Trained, bert: Trained, tokenizer: Tokenizer) -> Step:
    words = [tokenizer.encode(word)[0] for word in ("is", "are")]
    model = gpt.folder.model
    ahead, around = [], []
    with torch.no_grad():
        for blank in (MANY, ONE):
            ids = tokenizer.encode(blank.replace("___", "is"), start=True, end=True)
            logits = model(torch.tensor([ids]))[0]
            ahead.append(
                torch.softmax(logits[ids.index(words[0]) - 1], -1)[words]
            )  # has read: There
            place = ids.index(words[0])
            masked = torch.tensor([[*ids[:place], tokenizer.mask, *ids[place + 1 :]]])
            with glass.record(bert.folder.model) as trace:
                logits = bert.folder.model(masked)[0]
            around.append(torch.softmax(logits[place], -1)[words])
    names = shown(tokenizer, masked[0].tolist())
    trace.label(source=names)
    weights = trace["encoder.layers.0.self_attention.weights"].tensor[0, :, place].mean(0)
    table = torch.stack([*ahead, *around])
    return Step(
        title=Said("One side or both", "一边还是两边"),
        text=Said(
            "The blank in “There ___ four cats” depends on a word to its right. GPT stands at "
            "“There” and cannot know: its odds of is and are are the same for both sentences. "
            "BERT looks at “four” or “a” and is sure. That is why one writes and the other "
            "reads.",
            "“There ___ four cats”里的空取决于右边的词。GPT 站在“There”处，无从知道："
            "两句话里 is 和 are 的机会完全一样。BERT 看到了“four”或“a”，十分肯定。"
            "所以一个善写，一个善读。",
        ),
        matrices=(
            Matrix(
                Said("P at the blank", "空处的概率"),
                table,
                rows=(f"GPT: {MANY}", f"GPT: {ONE}", f"BERT: {MANY}", f"BERT: {ONE}"),
                columns=("is", "are"),
            ),
            Matrix(
                Said("BERT at the blank, layer 1, mean of heads",
                     "BERT 在空处的注意力，第 1 层，各头平均"),
                weights,
                columns=names,
                digits=2,
            ),
        ),
        claims=(
            Claim(Said("GPT gives both sentences the same odds", "GPT 对两句给出同样的机会"),
                  bool(torch.allclose(ahead[0], ahead[1], atol=1e-5))),
            Claim(Said("BERT tells them apart", "BERT 分得清"),
                  bool(around[0][1] > 0.8) and bool(around[1][0] > 0.8)),
        ),
        question=Question(
            Said("Could GPT fill this blank if it were larger?", "GPT 再大一些，能填这个空吗？"),
            Said("Not from the left alone: the answer stands to the right.",
                 "只看左边不行：答案在右边。"),
        ),
        trace=trace,
        show=f"encoder.layers.0.self_attention.softmax[0,0,{place},1]",
        codes=("C14",),
    )  # fmt: skip


LESSON = Lesson(
    name="families",
    title=Said("GPT and BERT from the same blocks", "同样的积木搭出 GPT 和 BERT"),
    about=Said(
        "Tiny language models trained on the spot: one continues a sentence, one fills a blank.",
        "当场训练的小语言模型：一个续写，一个填空。",
    ),
    tell=tell,
)
