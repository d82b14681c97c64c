"""我 喜欢 学习 编程: masked attention step by step, printed figures against right ones."""

import math
from collections.abc import Iterator

import torch

from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.lesson import Claim, Lesson, Matrix, Question, Said, Step
from cutaway.lessons.masked_future import example, what_the_mask_keeps
from cutaway.lessons.recorded import dimensions, matrix, numbers, table
from cutaway.lessons.room import Room
from cutaway.lessons.two_heads import two_heads
from cutaway.model import causal_mask

WORDS = figures.FOUR_WORDS
PRINTED = figures.FOUR_PRINTED
PLACE = "decoder.layers.0.self_attention"
D3 = dimensions(3)
EXACT = 5.1e-4  # printed with three digits


def tell(room: Room) -> Iterator[Step]:
    """Mask, projections, scores, softmax, output; what the mask keeps; the two-head toy."""
    trace = example()
    yield _why()
    yield _projections(trace)
    yield from _scores(trace)
    yield from _weights(trace)
    yield from what_the_mask_keeps(room, trace)
    yield from two_heads()


def _why() -> Step:
    allowed = causal_mask(4, 4)
    added = torch.zeros(4, 4).masked_fill(~allowed, -math.inf)
    return Step(
        Said("What must not be seen", "不该看见的"),
        Said(
            "When a model learns to write 我 喜欢 学习 编程, it gets the whole sentence at "
            "once and "
            "predicts every next word in parallel. After 我 it is to guess 喜欢: it must not look. "
            "So a mask adds −∞ to every score of a later word. Row: who looks. Column: who is "
            "looked at. Forbidden is everything strictly above the diagonal.\n"
            "Two sources put it the other way round. One says the lower triangle: with rows as "
            "queries that would hide the past. Another writes queries as columns: there the lower "
            "triangle is right, it is this matrix on its side. And a mask is not there against "
            "overfitting, as one source has it. It keeps the answer out of sight.",
            "模型学着写“我 喜欢 学习 编程”时，整句话一次给它，每个“下一个词”同时预测。"
            "看到“我”之后该猜“喜欢”：不许偷看。所以掩码给后面的词的分数加上 −∞。"
            "行是谁在看，列是看谁。被禁的是对角线以上的格子。\n"
            "有两份资料说法相反。一份说遮下三角：行是查询时，那就遮住了过去。"
            "另一份把查询写成列：那样遮下三角是对的，只是把这个矩阵转了过来。"
            "还有一份说掩码是为了防止过拟合；不是，它只是不让模型看到答案。",
        ),
        matrices=(Matrix("M", added, WORDS, WORDS),),
        question=Question(
            Said(
                "Four words: how many of the 16 cells are forbidden?",
                "四个词：16 个格子里禁了几个？",
            ),
            Said("3 + 2 + 1 = 6.", "3 + 2 + 1 = 6。"),
        ),
        claims=(
            Claim(Said("six cells are −∞", "有六格是 −∞"), int((~allowed).sum()) == 6),
            Claim(
                Said(
                    "with queries as columns it is the transpose",
                    "查询写成列时，就是它的转置",
                ),
                bool(torch.equal(allowed.T, ~torch.ones(4, 4, dtype=torch.bool).tril(-1))),
            ),
        ),
        codes=("C21", "E8"),
    )


def _projections(trace: Trace) -> Step:
    return Step(
        Said("Queries, keys, values", "查询、键、值"),
        Said(
            "Each word has three numbers. W_Q and W_V are the identity, so queries and values are "
            "the words themselves; only the keys are computed: K = X W_K. Try the first cell: "
            "0.5·0.5 + 0.1·0.2 + 0.3·0.3.",
            "每个词三个数。W_Q 和 W_V 是单位矩阵，所以查询和值就是词本身；只有键要算：K = X W_K。"
            "试着算第一格：0.5·0.5 + 0.1·0.2 + 0.3·0.3。",
        ),
        matrices=(
            Matrix("W_K", figures.FOUR_W_K, D3, D3),
            matrix(trace, f"{PLACE}.query", "Q = X", WORDS, D3),
            matrix(
                trace,
                f"{PLACE}.key",
                "K = X W_K",
                WORDS,
                D3,
                printed=PRINTED["K"],
                tolerance=0.0051,
                note=Said(
                    "All twelve printed keys are wrong, by up to 0.23; the transpose of W_K does "
                    "not give them either.",
                    "印出的十二个数全错，最多差 0.23；把 W_K 转置也得不到它们。",
                ),
            ),
        ),
        question=Question(
            Said("And what is that first cell?", "那么第一格是多少？"),
            Said(
                "0.25 + 0.02 + 0.09 = 0.36. Printed: 0.32.",
                "0.25 + 0.02 + 0.09 = 0.36。印的是 0.32。",
            ),
        ),
        claims=(
            Claim(
                Said("all twelve printed keys differ", "印出的十二个键都不对"),
                len(_slips(trace, "key", "K", 0.0051)) == 12,
            ),
            Claim(
                Said("W_Kᵀ does not explain them", "W_Kᵀ 也解释不了"),
                bool(
                    (table(figures.FOUR_X) @ table(figures.FOUR_W_K).T - table(PRINTED["K"]))
                    .abs()
                    .max()
                    > 0.05
                ),
            ),
        ),
        trace=trace,
        show=f"{PLACE}.key[0,0,0,0]",
        codes=("C22",),
    )


def _scores(trace: Trace) -> Iterator[Step]:
    again = table(figures.FOUR_X) @ table(PRINTED["K"]).T
    printed = table(PRINTED["QKt"])
    yield Step(
        Said("Scores", "分数"),
        Said(
            "Q Kᵀ: each word's query with each word's key. 我 with 喜欢: "
            "0.5·0.66 + 0.1·0.30 + 0.3·0.77 = 0.591.",
            "Q Kᵀ：每个词的查询乘每个词的键。“我”和“喜欢”："
            "0.5·0.66 + 0.1·0.30 + 0.3·0.77 = 0.591。",
        ),
        matrices=(
            matrix(
                trace,
                f"{PLACE}.scores",
                "Q Kᵀ",
                WORDS,
                WORDS,
                printed=printed,
                tolerance=EXACT,
            ),
            Matrix(
                Said("Q times the printed K", "Q 乘印出的 K"),
                again,
                WORDS,
                WORDS,
                printed,
                Said(
                    "Even from its own keys the source does not get its own scores: a second slip "
                    "in the same place.",
                    "就算用它自己印的键，也得不到它自己印的分数：同一个地方又错了一次。",
                ),
                tolerance=EXACT,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "no printed score follows from the printed keys",
                    "没有一个印出的分数能由印出的键得到",
                ),
                bool(((again - printed).abs() > EXACT).all()),
            ),
        ),
        trace=trace,
        show=f"{PLACE}.scores[0,0,0,1]",
        codes=("C22",),
    )
    yield Step(
        Said("Divide by √3, then mask", "除以 √3，再加掩码"),
        Said(
            "d_k = 3, so every score is divided by √3 ≈ 1.732. Then the mask: −∞ replaces every "
            "score of a later word. Dividing keeps softmax where it can still learn; it does not "
            "stop gradients from exploding, as one source says twice: without it they vanish.",
            "d_k = 3，每个分数除以 √3 ≈ 1.732。然后加掩码：后面的词的分数换成 −∞。"
            "除法让 softmax 留在还能学的范围里。有份资料两次说它防止梯度爆炸，"
            "其实不除的话梯度会消失。",
        ),
        matrices=(
            matrix(
                trace,
                f"{PLACE}.scaled",
                "Q Kᵀ / √3",
                WORDS,
                WORDS,
                printed=PRINTED["scaled"],
                note=Said("Wrong because Q Kᵀ was.", "因为 Q Kᵀ 已经错了。"),
                tolerance=EXACT,
            ),
            matrix(trace, f"{PLACE}.masked", "masked", WORDS, WORDS),
        ),
        claims=(
            Claim(
                Said(
                    "the division itself was done right, to 0.0005",
                    "除法本身没错，误差不到 0.0005",
                ),
                bool(
                    (table(PRINTED["QKt"]) / math.sqrt(3) - table(PRINTED["scaled"])).abs().max()
                    < 5e-4
                ),
            ),
        ),
        trace=trace,
        show=f"{PLACE}.masked[0,0,0,1]",
        codes=("C21", "C22", "E8"),
    )


def _weights(trace: Trace) -> Iterator[Step]:
    weights = numbers(trace, f"{PLACE}.weights")
    own = torch.softmax(table(PRINTED["scaled"]).masked_fill(~causal_mask(4, 4), -math.inf), dim=-1)
    printed = table(PRINTED["softmax"])
    yield Step(
        Said("Softmax", "Softmax"),
        Said(
            "e^−∞ = 0: a later word gets exactly no weight, and the rest of the row sums to 1. "
            "我 sees only itself. 编程, the last word, sees all four.",
            "e^−∞ = 0：后面的词一点权重都没有，其余的加起来等于 1。“我”只看见自己；"
            "最后的“编程”四个都看得见。",
        ),
        matrices=(
            matrix(
                trace,
                f"{PLACE}.weights",
                "weights",
                WORDS,
                WORDS,
                printed=printed,
                tolerance=EXACT,
            ),
            Matrix(
                Said("softmax of the printed scores", "印出的分数的 softmax"),
                own,
                WORDS,
                WORDS,
                printed,
                Said(
                    "From its own scores: third slip. In the last row the fourth score is "
                    "nearly the "
                    "largest and yet gets the smallest weight.",
                    "用它自己的分数来算：第三次出错。最后一行第四个分数差不多最大，"
                    "印出的权重却最小。",
                ),
                tolerance=EXACT,
            ),
        ),
        question=Question(
            Said("What is the first row?", "第一行是什么？"),
            Said("1 0 0 0: there is nobody else to look at.", "1 0 0 0：没有别人可看。"),
        ),
        claims=(
            Claim(
                Said("each row sums to 1", "每一行之和为 1"),
                bool((weights.sum(-1) - 1).abs().max() < 1e-12),
            ),
            Claim(
                Said("nothing above the diagonal", "对角线以上全为 0"),
                bool((weights.triu(1) == 0).all()),
            ),
        ),
        trace=trace,
        show=f"{PLACE}.weights[0,0,1,0]",
        codes=("C21", "C22"),
    )
    average = printed @ table(figures.FOUR_X)
    yield Step(
        Said("The output", "输出"),
        Said(
            "Each word's new vector is the average of the values it may see. 我 stays what it was. "
            "喜欢 becomes 41 % 我 and 59 % 喜欢.",
            "每个词的新向量，是它能看见的值的平均。“我”不变；“喜欢”变成 41% 的“我”加 59% "
            "的“喜欢”。",
        ),
        matrices=(
            matrix(
                trace,
                f"{PLACE}.output",
                "weights · V",
                WORDS,
                D3,
                printed=PRINTED["output"],
                tolerance=EXACT,
            ),
            Matrix(
                Said("the printed weights · V", "印出的权重乘 V"),
                average,
                WORDS,
                D3,
                PRINTED["output"],
                Said(
                    "From its own weights: fourth slip. Only the first row, a plain copy, is "
                    "right.",
                    "用它自己的权重来算：第四次出错。只有第一行照抄，是对的。",
                ),
                tolerance=EXACT,
            ),
        ),
        claims=(
            Claim(
                Said("我 comes out as it went in", "“我”原样出来"),
                numbers(trace, f"{PLACE}.output")[0].tolist() == list(figures.FOUR_X[0]),
            ),
        ),
        trace=trace,
        show=f"{PLACE}.output[0,1,0]",
        codes=("C22",),
    )


def _slips(trace: Trace, name: str, printed: str, tolerance: float) -> set[tuple[int, int]]:
    return Matrix(
        name, numbers(trace, f"{PLACE}.{name}"), printed=PRINTED[printed], tolerance=tolerance
    ).slips()


LESSON = Lesson(
    "masked-attention",
    Said("Masked attention: 我 喜欢 学习 编程", "掩码注意力：我 喜欢 学习 编程"),
    Said(
        "Four words, three numbers each: scores, −∞, softmax, output, with every printed slip.",
        "四个词，每个三个数：分数、−∞、softmax、输出，以及印错的每一处。",
    ),
    tell,
)
