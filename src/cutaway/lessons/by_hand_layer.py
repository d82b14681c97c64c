"""The rest of `by-hand`'s encoder layer: output projection, residuals, norms, feed-forward."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from cutaway import glass
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.by_hand_model import configuration
from cutaway.lessons.lesson import Claim, Matrix, Question, Said, Step
from cutaway.lessons.recorded import INHERITED, dimensions, matrix, numbers, table
from cutaway.model import MultiHeadAttention

WORDS = figures.WORDS
LAYER = "encoder.layers.0"
HEAD = f"{LAYER}.self_attention"
D6 = dimensions(6)


def after_attention(trace: Trace) -> Iterator[Step]:
    joined, back = many_heads(trace)
    yield Step(
        Said("Back to width 6", "回到宽度 6"),
        Said(
            "With several heads, each has its own Q, K and V; their results are laid side by side "
            "and one matrix W_O brings them back to d columns. We have one head of width 4, so W_O "
            f"is 4×6. Two heads would be {joined} wide side by side, and W_O {joined}×{back}.",
            "如果有几个头，每个头都有自己的 Q、K、V；结果并排放好，再由一个矩阵 W_O 变回 d 列。"
            f"我们只有一个宽 4 的头，W_O 是 4×6。两个头并排就是 {joined} 列，W_O 是 "
            f"{joined}×{back}。",
        ),
        matrices=(
            matrix(
                trace,
                f"{HEAD}.output",
                "head · W_O",
                WORDS,
                D6,
                printed=figures.PRINTED["mha"],
                note=INHERITED,
                digits=3,
            ),
        ),
        claims=(
            Claim(
                Said("two heads of width 4: 8 columns in, 6 out", "两个宽 4 的头：8 列进，6 列出"),
                (joined, back) == (8, 6),
            ),
        ),
        trace=trace,
        show=f"{HEAD}.output[0,0,0]",
        codes=("A13",),
    )
    add1 = f"{LAYER}.self_attention_add_norm.added"
    yield Step(
        Said("Add the input back", "把输入加回来"),
        Said(
            "The result is added to X, which went around attention untouched. What attention did "
            "not say is not lost, and learning has a straight way back to the first layer. This is "
            "why W_O had to end at 6 columns.",
            "结果和绕过注意力的 X 相加。注意力没提到的信息不会丢，学习时也有一条直路回到最前面。"
            "所以 W_O 必须变回 6 列。",
        ),
        matrices=(
            matrix(
                trace,
                add1,
                Said("X + attention", "X + 注意力"),
                WORDS,
                D6,
                printed=figures.PRINTED["add1"],
                note=INHERITED,
                digits=3,
            ),
        ),
        trace=trace,
        show=f"{add1}[0,0,0]",
        codes=("A14",),
    )
    added = numbers(trace, add1)
    mean, spread = added.mean(-1), added.std(-1, correction=0)
    printed_add = table(figures.PRINTED["add1"])
    printed_mean = table(figures.PRINTED["mean1"])[0]
    norm1 = f"{LAYER}.self_attention_add_norm.normed"
    yield Step(
        Said("Normalise each row", "每一行归一化"),
        Said(
            "From each row subtract its mean, divide by its standard deviation. The rows now have "
            "mean 0 and spread 1, whatever came before. A small ε keeps the divisor from being 0; "
            "it belongs under the root, with the variance. Learned gain and bias start at 1 and 0.",
            "每一行减去自己的均值，再除以标准差。不管前面是什么，现在每行均值为 0、散布为 1。"
            "很小的 ε 防止除以 0；它应当在根号里面，和方差放在一起。可学的增益和偏置从 1 和 0 "
            "开始。",
        ),
        matrices=(
            Matrix(
                Said("mean and deviation", "均值和标准差"),
                torch.stack([mean, spread]),
                (Said("mean", "均值"), Said("deviation", "标准差")),
                WORDS,
            ),
            Matrix(
                Said("mean of the printed rows", "印出的各行的均值"),
                printed_add.mean(-1),
                columns=WORDS,
                printed=printed_mean,
                note=Said(
                    "Every printed mean is 0.10 to 0.17 too small; the deviations are right.",
                    "印出的均值都小了 0.10 到 0.17；标准差是对的。",
                ),
            ),
            matrix(
                trace,
                norm1,
                Said("norm(X + attention)", "norm(X + 注意力)"),
                WORDS,
                D6,
                printed=figures.PRINTED["norm1"],
                note=Said(
                    "The printed rows do not even have mean 0: the wrong mean was subtracted.",
                    "印出的行均值连 0 都不是：减错了均值。",
                ),
            ),
        ),
        claims=(
            Claim(
                Said("our rows have mean 0 and spread 1", "我们的行均值为 0，散布为 1"),
                bool(
                    numbers(trace, norm1).mean(-1).abs().max() < 1e-12
                    and (numbers(trace, norm1).std(-1, correction=0) - 1).abs().max() < 1e-5
                ),
            ),
            Claim(
                Said("every printed mean is too small", "印出的均值都偏小"),
                bool((printed_add.mean(-1) - printed_mean > 0.09).all()),
            ),
        ),
        trace=trace,
        show=f"{norm1}[0,0,0]",
        codes=("A15",),
    )
    yield from _feed_forward(trace)


def _feed_forward(trace: Trace) -> Iterator[Step]:
    layer = f"{LAYER}.feed_forward"
    product = table(figures.PRINTED["norm1"]) @ table(figures.W_1)
    printed = table(figures.PRINTED["XW"])
    flipped = (product.sign() != printed.sign()) & (product.abs() > 0.05)
    yield Step(
        Said("The feed-forward network", "前馈网络"),
        Said(
            "Each position passes, alone, through a linear layer with a bias, then ReLU, which "
            "turns negative numbers into 0. The paper puts a second linear layer after it; the "
            "article leaves that out, so here it is the identity.",
            "每个位置单独经过一个带偏置的线性层，再经过 ReLU：负数变成 0。"
            "论文后面还有第二个线性层；文章省掉了，所以这里它是单位矩阵。",
        ),
        matrices=(
            matrix(trace, f"{layer}.hidden", "norm · W_1 + b_1", WORDS, D6),
            matrix(trace, f"{layer}.activated", "ReLU", WORDS, D6),
            Matrix(
                Said("the printed norm · W_1", "印出的 norm 乘 W_1"),
                product,
                WORDS,
                D6,
                printed,
                Said(
                    "Columns 0, 1 and 5 are printed without their minus sign, and two minus signs "
                    "stand in column 2 where none belongs. So ReLU had almost nothing to cut.",
                    "第 0、1、5 列印丢了负号，第 2 列又多出两个负号。于是 ReLU 几乎没东西可截。",
                ),
            ),
        ),
        question=Question(
            Said(
                "In the article ReLU cuts 2 cells of 36, here it cuts 18. What went wrong there?",
                "文章里 ReLU 只截掉 36 格中的 2 格，这里截掉 18 格。那边出了什么错？",
            ),
            Said("Minus signs got lost in the product before it.", "前面的乘积里丢了负号。"),
        ),
        claims=(
            Claim(
                Said(
                    f"{int(flipped.sum())} of 36 printed products have the wrong sign",
                    f"36 个印出的乘积里有 {int(flipped.sum())} 个符号错了",
                ),
                int(flipped.sum()) == 20
                and bool((product.abs() - printed.abs()).abs().max() < 0.006),
            ),
            Claim(
                Said("ReLU leaves nothing below 0", "ReLU 之后没有负数"),
                bool((numbers(trace, f"{layer}.activated") >= 0).all()),
            ),
        ),
        trace=trace,
        show=f"{layer}.activated[0,0,2]",
        codes=("A16",),
    )
    printed_add = table(figures.PRINTED["add2"])
    pooled = torch.stack(
        [printed_add[row : row + 2].flatten().std() for row in range(len(printed_add))]
    )
    norm2 = f"{LAYER}.feed_forward_add_norm.normed"
    yield Step(
        Said("Add and normalise again", "再次相加、归一化"),
        Said(
            "The same once more: add what went around, normalise each row. This is the encoder's "
            "output, the memory. The decoder takes its keys and values from it.",
            "同样的事再做一遍：加上绕过去的输入，每行归一化。这就是编码器的输出，叫 memory。"
            "解码器要从这里取键和值。",
        ),
        matrices=(
            matrix(
                trace,
                f"{LAYER}.feed_forward_add_norm.added",
                "x + FFN(x)",
                WORDS,
                D6,
                printed=figures.PRINTED["add2"],
                note=INHERITED,
            ),
            matrix(
                trace,
                norm2,
                "memory",
                WORDS,
                D6,
                printed=figures.PRINTED["norm2"],
                note=Said(
                    "Inherited, and divided by the wrong deviations on top: see the next table.",
                    "前面的差错之外，还除错了标准差：见下一张表。",
                ),
            ),
            Matrix(
                Said("deviation of the printed rows", "印出的各行的标准差"),
                printed_add.std(-1, correction=0),
                columns=WORDS,
                printed=figures.PRINTED["std2"],
                note=Said(
                    "The printed deviation of a row is that of the row and the next one together, "
                    "divided by n − 1.",
                    "印出的“每行”标准差，其实是这一行和下一行合起来算的，还除以了 n − 1。",
                ),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "two rows pooled give the printed deviations",
                    "两行合算，就得到印出的标准差",
                ),
                bool((pooled - table(figures.PRINTED["std2"])[0]).abs().max() < 1e-6),
            ),
        ),
        trace=trace,
        show=f"{norm2}[0,0,0]",
        codes=("A17", "A25"),
    )


def many_heads(trace: Trace) -> tuple[int, int]:
    """Width of two heads side by side, and after W_O."""
    states = numbers(trace, "encoder.states")[None]
    two = MultiHeadAttention(replace(configuration(), heads=2)).double()
    with torch.no_grad(), glass.record(two) as run:
        two(states, states, None)
    return run["concatenated"].shape[-1], run["output"].shape[-1]
