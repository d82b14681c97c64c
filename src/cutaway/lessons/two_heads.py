"""Two masked heads with identity weights: the toy of A21, on the model's own attention."""

from collections.abc import Iterator
from functools import cache

import torch

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.lesson import Claim, Matrix, Question, Said, Step
from cutaway.lessons.recorded import dimensions, numbers, put, table
from cutaway.model import Transformer

PLACE = "decoder.layers.0.self_attention"
ROWS = ("1", "2", "3")


@cache
def toy() -> Trace:
    """One decoder layer, two heads of width 3; every projection of every head the identity."""
    config = ModelConfig(
        vocabulary=4,
        family="decoder",
        decoder_layers=1,
        d_model=3,
        heads=2,
        head_width=3,
        d_ff=3,
        positions="none",
        scale_embedding=False,
        bias=False,
        dropout=0.0,
    )
    model = Transformer(config).double().eval()
    with torch.no_grad():
        model.embedding.weight[1:] = table(figures.TOY_X)
    twice = torch.cat([torch.eye(3)] * 2, dim=1)
    for name in ("W_Q", "W_K", "W_V"):
        put(model, f"{PLACE}.{name}.weight", twice)
    put(model, f"{PLACE}.W_O.weight", twice.T / 2)  # the mean of both heads
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad(), glass.record(model) as trace:
        model(ids)
    trace.label(source=ROWS)
    return trace


def two_heads() -> Iterator[Step]:
    """Scores and masks of the toy, then weights, concatenation and the last linear."""
    trace = toy()
    scores = trace[f"{PLACE}.scores"].tensor[0]  # (H, Q, K)
    masked = trace[f"{PLACE}.masked"].tensor[0]
    first, second = table(figures.TOY_PRINTED["A1"]), table(figures.TOY_PRINTED["A2"])
    states = table(figures.TOY_X)
    head2 = table(figures.TOY_PRINTED["A2_masked"])
    yield Step(
        Said("Two heads, identity weights", "两个头，单位矩阵"),
        Said(
            "A toy with numbers for the head: three positions, three features, and every "
            "projection "
            "of both heads is the identity, so Q = K = V = X. The scores should be X Xᵀ. The "
            "article prints Xᵀ for head 1 and X for head 2; nothing was multiplied. It writes 0 "
            "into forbidden cells, which softmax would count as e⁰ = 1. And in head 2 it forbids "
            "the past instead of the future.",
            "一个能心算的小例子：三个位置、三个特征，两个头的投影都是单位矩阵，所以 Q = K = V = X。"
            "分数应当是 X Xᵀ。文章给头 1 印的是 Xᵀ，给头 2 印的是 X，根本没有相乘。"
            "它往被禁的格子里写 0，而 softmax 会把它当成 e⁰ = 1。头 2 遮住的还是过去，不是未来。",
        ),
        matrices=(
            Matrix("X", states, ROWS, dimensions(3)),
            Matrix(
                Said("head 1: Q Kᵀ", "头 1：Q Kᵀ"),
                scores[0],
                ROWS,
                ROWS,
                first,
                Said("Printed: Xᵀ.", "印的是 Xᵀ。"),
            ),
            Matrix(
                Said("head 2: Q Kᵀ", "头 2：Q Kᵀ"),
                scores[1],
                ROWS,
                ROWS,
                second,
                Said("Printed: X.", "印的是 X。"),
            ),
            Matrix(
                Said("head 1: masked", "头 1：加掩码"),
                masked[0],
                ROWS,
                ROWS,
                figures.TOY_PRINTED["A1_masked"],
                Said("0 is a score like any other; −∞ is none.", "0 也是一个分数；−∞ 才是没有。"),
            ),
            Matrix(
                Said("head 2: masked", "头 2：加掩码"),
                masked[1],
                ROWS,
                ROWS,
                head2,
                Said("The printed mask hides what came before.", "印出的掩码遮住的是前面的位置。"),
            ),
        ),
        question=Question(
            Said(
                "X = 1 2 3 / 4 5 6 / 7 8 9. What is the score of row 1 with itself?",
                "X = 1 2 3 / 4 5 6 / 7 8 9。第 1 行和自己的分数是多少？",
            ),
            Said("1·1 + 2·2 + 3·3 = 14.", "1·1 + 2·2 + 3·3 = 14。"),
        ),
        claims=(
            Claim(
                Said("both heads have the scores X Xᵀ", "两个头的分数都是 X Xᵀ"),
                bool(torch.equal(scores[0], states @ states.T))
                and bool(torch.equal(scores[1], states @ states.T)),
            ),
            Claim(
                Said("printed: Xᵀ and X", "印出的是 Xᵀ 和 X"),
                bool(torch.equal(first, states.T)) and bool(torch.equal(second, states)),
            ),
            Claim(
                Said("head 2 as printed hides the past", "印出的头 2 遮住了过去"),
                bool((head2.tril(-1) == 0).all()),
            ),
        ),
        trace=trace,
        show=f"{PLACE}.masked[0,0,0,1]",
        codes=("A21", "E8"),
    )
    joined = numbers(trace, f"{PLACE}.concatenated")
    weights = trace[f"{PLACE}.weights"].tensor[0, 0]
    yield Step(
        Said("Weights, side by side, linear", "权重、拼接、线性变换"),
        Said(
            "Scores this far apart leave softmax no doubt: each position takes itself, to 11 "
            "digits "
            "and more. So each head gives X back. Side by side they are 6 columns wide; W_O brings "
            "them back to 3. Ours here takes the mean of both heads.",
            "分数差得这么远，softmax 毫不犹豫：每个位置都只取自己，差别在小数点后 11 位以外。"
            "所以每个头都把 X 原样还回来。并排是 6 列，W_O 再变回 3 列。这里的 W_O "
            "取两个头的平均。",
        ),
        matrices=(
            Matrix(
                Said("weights, the same in both heads", "权重（两个头相同）"), weights, ROWS, ROWS
            ),
            Matrix(
                Said("concat(head 1, head 2)", "拼接（头 1，头 2）"), joined, ROWS, dimensions(6)
            ),
            Matrix(
                Said("concat · W_O", "拼接 · W_O"),
                numbers(trace, f"{PLACE}.output"),
                ROWS,
                dimensions(3),
            ),
        ),
        claims=(
            Claim(
                Said("each head returns X", "每个头都还回 X"),
                bool((joined - torch.cat([states, states], 1)).abs().max() < 1e-9),
            ),
            Claim(
                Said("no weight on a later position", "后面的位置权重为 0"),
                bool((weights.triu(1) == 0).all()),
            ),
        ),
        trace=trace,
        show=f"{PLACE}.concatenated[0,1,4]",
        codes=("A21", "A13"),
    )
