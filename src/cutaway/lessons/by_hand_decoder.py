"""The second half of `by-hand`: decoder, prediction, and the same model after learning."""

from collections.abc import Iterator, Sequence

import torch

from cutaway.corpus.embedded import thrones
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.by_hand_model import (
    article_model,
    ids,
    recorded,
)
from cutaway.lessons.lesson import Claim, Matrix, Picture, Question, Said, Series, Step
from cutaway.lessons.recorded import dimensions, matrix, numbers, table
from cutaway.lessons.two_heads import two_heads

LAYER = "decoder.layers.0"
D6 = dimensions(6)


def decoder(trace: Trace, so_far: Sequence[str]) -> Iterator[Step]:
    """Wrapping, the decoder's input, its three sublayers, logits and the first prediction."""
    wrapped = ["<start>", *thrones().continuation.split(), "<end>"]
    yield Step(
        Said("What the decoder reads", "解码器读什么"),
        Said(
            "The encoder has read the question. The decoder is to write "
            f"“{thrones().continuation}”. "
            "Two marks are put around it: <start> to begin from, <end> to know when to stop. The "
            "decoder reads the text without its last token and predicts it without its first: each "
            "position predicts the next. In training all positions run at once; one token at a "
            "time, as the article has it, is only for writing.",
            f"编码器读完了问题，解码器要写出 “{thrones().continuation}”。"
            "两头各加一个记号：<start> 表示从这里开始，<end> 表示到此为止。"
            "解码器读的是去掉末尾的文本，预测的是去掉开头的文本：每个位置预测下一个词。"
            "训练时所有位置同时进行；文章说的“一次一个词”只在生成时才是这样。",
        ),
        matrices=(
            Matrix(
                Said("reads", "读"), [[ids()[word] for word in wrapped[:-1]]], columns=wrapped[:-1]
            ),
            Matrix(
                Said("predicts", "预测"),
                [[ids()[word] for word in wrapped[1:]]],
                columns=wrapped[1:],
            ),
            matrix(trace, "decoder.states", "X = E + PE", so_far, D6),
        ),
        claims=(
            Claim(
                Said(
                    "the first row is the article's <start> vector plus position 0",
                    "第一行就是文章的 <start> 向量加上位置 0",
                ),
                bool(
                    (
                        numbers(trace, "decoder.states")[0]
                        - numbers(trace, "decoder.positions.positions")[0]
                        - table([figures.START])[0]
                    )
                    .abs()
                    .max()
                    < 1e-12
                ),
            ),
        ),
        trace=trace,
        show="decoder.states[0,0,0]",
        codes=("A18", "A19"),
    )
    yield _masked(trace, so_far)
    yield from two_heads()
    yield _cross(trace, so_far)
    yield from _prediction(trace, so_far)


def _masked(trace: Trace, so_far: Sequence[str]) -> Step:
    head = f"{LAYER}.self_attention"
    weights = numbers(trace, f"{head}.weights")
    return Step(
        Said("The decoder: the same blocks, masked", "解码器：同样的积木，加上掩码"),
        Said(
            "The decoder's first attention is the one you know, with a mask: no position may look "
            "at a later one. The article gives no weights for it; ours are drawn in [0, 1] by a "
            "fixed seed.",
            "解码器的第一个注意力就是前面那个，只是加了掩码：谁都不许看后面的位置。"
            "文章没给这里的权重；我们用固定的种子在 [0, 1] 里取。",
        ),
        matrices=(
            matrix(trace, f"{head}.masked", "masked", so_far, so_far, digits=3),
            matrix(trace, f"{head}.weights", "weights", so_far, so_far),
            matrix(trace, f"{LAYER}.self_attention_add_norm.normed", "add & norm", so_far, D6),
        ),
        question=Question(
            Said("What can <start> look at?", "<start> 能看谁？"),
            Said("Itself only: its row is 1 0 0 0 0 0.", "只有自己：那一行是 1 0 0 0 0 0。"),
        ),
        claims=(
            Claim(
                Said("no weight above the diagonal", "对角线以上没有权重"),
                bool((weights.triu(1) == 0).all()) and float(weights[0, 0]) == 1.0,
            ),
        ),
        trace=trace,
        show=f"{head}.masked[0,0,1,2]",
        codes=("A20", "A10"),
    )


def _cross(trace: Trace, so_far: Sequence[str]) -> Step:
    head = f"{LAYER}.cross_attention"
    memory = numbers(trace, "encoder.layers.0.feed_forward_add_norm.normed")
    key = memory @ trace[f"{head}.W_K.weight"].tensor.T
    value = memory @ trace[f"{head}.W_V.weight"].tensor.T
    states = numbers(trace, f"{LAYER}.self_attention_add_norm.normed")
    query = states @ trace[f"{head}.W_Q.weight"].tensor.T
    fits = [
        bool((wanted - numbers(trace, f"{head}.{name}")).abs().max() < 1e-12)
        for name, wanted in (("query", query), ("key", key), ("value", value))
    ]
    return Step(
        Said("The decoder asks the encoder", "解码器向编码器提问"),
        Said(
            "The second attention joins the two sides. The queries come from the decoder: it asks. "
            "The keys and values come from the encoder's output: it answers. The article has it "
            "the other way, queries and keys from the encoder and values from the decoder; then "
            "the decoder would average its own words. Rows: words being written. Columns: words "
            "that were read. Feed-forward and its add & norm follow as in the encoder.",
            "第二个注意力把两边连起来。查询来自解码器：它在问；键和值来自编码器的输出：它来答。"
            "文章说反了：查询和键来自编码器、值来自解码器；那样解码器平均的就只是自己的词。"
            "行是正在写的词，列是读过的词。后面的前馈网络和归一化与编码器相同。",
        ),
        matrices=(
            matrix(
                trace,
                f"{head}.query",
                Said("Q, from the decoder", "Q，来自解码器"),
                so_far,
                dimensions(4, "h"),
            ),
            matrix(
                trace,
                f"{head}.key",
                Said("K, from the encoder", "K，来自编码器"),
                figures.WORDS,
                dimensions(4, "h"),
            ),
            matrix(trace, f"{head}.weights", "weights", so_far, figures.WORDS),
            matrix(
                trace,
                f"{LAYER}.feed_forward_add_norm.normed",
                Said("the decoder's output", "解码器的输出"),
                so_far,
                D6,
            ),
        ),
        question=Question(
            Said(
                "7 words read, 6 written: what shape have the weights?",
                "读了 7 个词，写了 6 个：权重是几乘几？",
            ),
            Said("6×7: a row for each word that asks.", "6×7：每个提问的词一行。"),
        ),
        claims=(
            Claim(
                Said(
                    "Q from the decoder, K and V from the memory: recomputed, they agree",
                    "Q 来自解码器，K、V 来自 memory：重算一遍，全部相符",
                ),
                all(fits),
            ),
        ),
        trace=trace,
        show=f"{head}.weights[0,0,0,0]",
        codes=("A20",),
    )


def _prediction(trace: Trace, so_far: Sequence[str]) -> Iterator[Step]:
    logits = numbers(trace, "output.logits")
    alone = recorded(article_model(), figures.WORDS, ["<start>"])
    flat = table(figures.DECODER_OUT).flatten()
    least = {
        word: float(flat[: len(first)] @ table([first])[0] + flat[-len(last) :] @ table([last])[0])
        for word, (first, last) in figures.VISIBLE_WEIGHTS.items()
    }
    words = list(ids())[1:]
    yield Step(
        Said("A score for every word", "给每个词打分"),
        Said(
            "One linear layer turns each position's 6 numbers into a score for every word of the "
            "vocabulary: the logits. Row <start> scores the first word.\n"
            "The article first flattens all six rows into 36 numbers. Then the layer would fit "
            "sentences of six words only, and nothing could be learned in parallel. Its printed "
            "logits cannot come from its weights either: all are positive, and the nine products "
            "one can read already exceed the printed sum.",
            "一个线性层把每个位置的 6 个数变成对词表里每个词的打分，叫 logits。"
            "<start> 这一行给第一个词打分。\n"
            "文章先把六行摊平成 36 个数。那样这一层就只适合六个词的句子，也没法并行学习。"
            "它印的 logits 也不可能由它的权重得来：权重全是正的，"
            "光是看得见的九个乘积就超过了印出的和。",
        ),
        matrices=(
            matrix(trace, "output.logits", "logits", so_far, list(ids()), digits=2),
            Matrix(
                Said("sum of the nine visible products of 36", "36 个乘积中看得见的九个之和"),
                [list(least.values())],
                columns=list(least),
                printed=[[figures.LOGITS[word] for word in least]],
                note=Said(
                    "The sum of nine of 36 positive products is already larger than the printed "
                    "whole.",
                    "36 个正的乘积，九个加起来就已经比印出的总和大。",
                ),
            ),
        ),
        pictures=(
            Picture(
                Said("Logits after <start>, untrained", "<start> 之后的 logits（未训练）"),
                "bars",
                (Series("", list(range(len(words))), logits[0, 1:].tolist(), words),),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "row <start> is the same whether later words are there or not",
                    "不管后面有没有词，<start> 这一行都一样",
                ),
                bool((numbers(alone, "output.logits")[0] - logits[0]).abs().max() < 1e-12),
            ),
            Claim(
                Said("the printed logits are impossible", "印出的 logits 不可能成立"),
                all(least[word] > figures.LOGITS[word] for word in least),
            ),
        ),
        trace=trace,
        show="output.logits[0,0,7]",
        codes=("A22",),
    )
    shown = list(figures.LOGITS)
    chances = torch.softmax(table([list(figures.LOGITS.values())]), dim=-1)
    printed = [[figures.PROBABILITIES[word] for word in shown]]
    ratio = float(chances[0, 3] / chances[0, 0])
    yield Step(
        Said("Scores to chances: “you”", "从分数到概率：“you”"),
        Said(
            "Softmax over the logits gives chances; the largest wins. Five of the article's logits "
            "can be read, and among them “you” wins with 5.4. Its printed chances are not the "
            "softmax of these logits: “drink” and “He” share the logit 2.3 but not the chance, and "
            f"“you” should be {ratio:.0f} times as likely as “I”, not 2.7 times.",
            "对 logits 做 softmax 得到概率，最大的胜出。文章里能看清的 logits 有五个，其中 "
            "“you” 以 5.4 胜出。"
            "但印出的概率不是这些 logits 的 softmax：“drink” 和 “He” 的 logit 都是 2.3，"
            "概率却不同；"
            f"“you” 应当是 “I” 的 {ratio:.0f} 倍，而不是 2.7 倍。",
        ),
        matrices=(
            Matrix("logits", [list(figures.LOGITS.values())], columns=shown, digits=2),
            Matrix(
                Said("softmax of these five", "这五个的 softmax"),
                chances,
                columns=shown,
                printed=printed,
                note=Said(
                    "The 18 words one cannot see would lower all five alike; they cannot change "
                    "which is larger, nor any ratio.",
                    "看不见的 18 个词会让这五个数同比例变小，但谁大谁小、比例多少都不会变。",
                ),
                tolerance=0.002,
            ),
        ),
        question=Question(
            Said(
                "Two words have the same logit. Can their chances differ?",
                "两个词的 logit 相同，概率会不同吗？",
            ),
            Said("No: e^2.3 is e^2.3.", "不会：e^2.3 就是 e^2.3。"),
        ),
        claims=(
            Claim(
                Said("the winner is “you” all the same", "胜出的仍然是 “you”"),
                shown[int(chances.argmax())] == "you",
            ),
        ),
        codes=("A23",),
    )
