"""The encoder of `by-hand`: embeddings, positions and one head of attention, matrix by matrix."""

import math
from collections.abc import Iterator

import torch

from cutaway import glass
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.by_hand_layer import after_attention
from cutaway.lessons.lesson import Claim, Matrix, Question, Said, Step
from cutaway.lessons.recorded import INHERITED, dimensions, matrix, numbers, table
from cutaway.model import attention, causal_mask

WORDS = figures.WORDS
HEAD = "encoder.layers.0.self_attention"
D6, D4 = dimensions(6), dimensions(4, "h")


def encoder(trace: Trace) -> Iterator[Step]:
    """From embeddings to the encoder's output, on the article's weights."""
    yield from _input(trace)
    yield from _attention(trace)
    yield from after_attention(trace)


def _input(trace: Trace) -> Iterator[Step]:
    yield Step(
        Said("Each word a vector", "每个词一个向量"),
        Said(
            "An id says nothing about meaning. The embedding table gives each word a row of d "
            "numbers: 6 here, 512 in the paper. They start at random in [0, 1] and are learned.\n"
            "The article takes “when you play the game of thrones” and loses “the” on the way; "
            "to compare figure by figure we do the same, until training.",
            "编号不含任何意思。嵌入表给每个词一行 d 个数：这里是 6，论文里是 512。"
            "开始时是 [0, 1] 之间的随机数，以后靠学习改变。\n"
            "文章选的是 “when you play the game of thrones”，算着算着丢了 “the”；"
            "为了逐个对照，训练之前我们也先不要它。",
        ),
        matrices=(matrix(trace, "embedding.tokens", "E", WORDS, D6),),
        claims=(
            Claim(
                Said("all of them lie in [0, 1]", "它们都在 [0, 1] 之间"),
                bool(((table(figures.EMBEDDING) >= 0) & (table(figures.EMBEDDING) <= 1)).all()),
            ),
        ),
        trace=trace,
        show="embedding.tokens[0,0,0]",
        codes=("A4",),
    )
    yield Step(
        Said("Where each word stands", "每个词的位置"),
        Said(
            "Attention does not see order, so order is added as numbers: for position pos and pair "
            "i, sin(pos / 10000^(2i/d)) and cos of the same angle. Positions count from 0.",
            "注意力看不见顺序，所以要把顺序变成数加进去：对位置 pos 和第 i 对维度，"
            "取 sin(pos / 10000^(2i/d)) 和同一个角的 cos。位置从 0 数起。",
        ),
        matrices=(
            matrix(
                trace,
                "encoder.positions.positions",
                "PE",
                WORDS,
                D6,
                printed=figures.PRINTED["PE"],
                note=Said(
                    "The article counts dimensions where the formula counts pairs (2j/d with j up "
                    "to 5), so its angles shrink too fast; and in some rows it writes the sine "
                    "where "
                    "the cosine belongs.",
                    "公式数的是“第几对”，文章数成了“第几维”（2j/d，j 到 5），角度缩小得太快；"
                    "有几行还把该写余弦的地方写成了正弦。",
                ),
                tolerance=6e-5,
            ),
        ),
        question=Question(
            Said(
                "At position 0 every angle is 0. What is the first row?",
                "位置 0 处所有的角都是 0。第一行是什么？",
            ),
            Said("sin 0 = 0 and cos 0 = 1: 0 1 0 1 0 1.", "sin 0 = 0，cos 0 = 1：0 1 0 1 0 1。"),
        ),
        claims=(
            Claim(
                Said("row 0 is 0 1 0 1 0 1", "第 0 行是 0 1 0 1 0 1"),
                numbers(trace, "encoder.positions.positions")[0].tolist() == [0, 1, 0, 1, 0, 1],
            ),
        ),
        trace=trace,
        show="encoder.positions.positions[1,1]",
        codes=("A5",),
    )
    yield Step(
        Said("Meaning plus place", "意思加位置"),
        Said(
            "X = E + PE, cell by cell. One vector now carries both what the word is and where it "
            "stands. This goes into the encoder.",
            "X = E + PE，逐格相加。一个向量同时带着“是什么词”和“在哪里”。这就是编码器的输入。",
        ),
        matrices=(
            matrix(
                trace,
                "encoder.states",
                "X = E + PE",
                WORDS,
                D6,
                printed=figures.PRINTED["X"],
                note=INHERITED,
            ),
        ),
        trace=trace,
        show="encoder.states[0,0,1]",
        codes=("A6",),
    )


def _attention(trace: Trace) -> Iterator[Step]:
    printed_x = table(figures.PRINTED["X"])
    right_v = printed_x @ table(figures.W_V)
    v_is_q = figures.PRINTED["V"] == figures.PRINTED["Q"]
    yield Step(
        Said("Three views of each word", "每个词的三种面貌"),
        Said(
            "Three different 6×4 matrices turn each row of X into a query (what am I looking "
            "for?), "
            "a key (what do I offer?) and a value (what do I pass on?).",
            "三个不同的 6×4 矩阵把 X 的每一行变成查询（我在找什么）、键（我能提供什么）"
            "和值（我传出去什么）。",
        ),
        matrices=(
            matrix(
                trace,
                f"{HEAD}.query",
                "Q = X W_Q",
                WORDS,
                D4,
                printed=figures.PRINTED["Q"],
                note=INHERITED,
            ),
            matrix(
                trace,
                f"{HEAD}.key",
                "K = X W_K",
                WORDS,
                D4,
                printed=figures.PRINTED["K"],
                note=INHERITED,
            ),
            matrix(trace, f"{HEAD}.value", "V = X W_V", WORDS, D4),
            Matrix(
                Said("V from the printed X", "由印出的 X 算 V"),
                right_v,
                WORDS,
                D4,
                figures.PRINTED["V"],
                Said(
                    "Where its figure should show V, the article shows Q again, digit for digit.",
                    "该画 V 的地方，文章又放了一遍 Q，一个数都没变。",
                ),
            ),
        ),
        question=Question(
            Said(
                "The article's figure of V is its Q, digit for digit. Could that be chance?",
                "文章里的 V 和 Q 一个数都不差。会是碰巧吗？",
            ),
            Said(
                "Only if W_Q and W_V were the same. They are not: the article copied Q.",
                "除非 W_Q 和 W_V 相同。它们并不相同：文章把 Q 抄了一遍。",
            ),
        ),
        claims=(
            Claim(Said("the printed V is the printed Q", "印出的 V 就是印出的 Q"), v_is_q),
            Claim(Said("W_Q and W_V differ", "W_Q 和 W_V 不同"), figures.W_Q != figures.W_V),
        ),
        trace=trace,
        show=f"{HEAD}.query[0,0,0,0]",
        codes=("A7",),
    )
    steps = stepwise()
    yield Step(
        Said("How well do they match?", "它们有多合拍？"),
        Said(
            "Each query is multiplied with each key: QKᵀ. Row: who asks. Column: who answers. "
            "A large number means a good match. Our weights are all positive, so all scores are.",
            "每个查询和每个键做点积：QKᵀ。行是谁在问，列是谁在答。数越大越合拍。"
            "这里的权重全是正的，所以分数也全是正的。",
        ),
        matrices=(
            matrix(
                trace,
                f"{HEAD}.scores",
                "Q Kᵀ",
                WORDS,
                WORDS,
                printed=figures.PRINTED["QKt"],
                note=INHERITED,
                digits=3,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "from the printed Q and K the printed scores come out exactly",
                    "用印出的 Q 和 K，恰好得到印出的分数",
                ),
                bool((steps["scores"] - table(figures.PRINTED["QKt"])).abs().max() < 1e-9),
            ),
        ),
        trace=trace,
        show=f"{HEAD}.scores[0,0,0,0]",
        codes=("A8",),
    )
    by_mistake = steps["scores"] / math.sqrt(6)
    yield Step(
        Said("Divide by √4, not √6", "除以 √4，不是 √6"),
        Said(
            "Sums of many products grow with their number of terms, and large scores push softmax "
            "into a corner where nothing is learned. So the scores are divided by √d_k, the root "
            "of the width of a query. That width is 4 here. The article divides by √6, the root of "
            "the embedding's width.",
            "加的项越多，点积越大；分数太大，softmax 就被推到角落里，再也学不动。"
            "所以要除以 √d_k，也就是查询宽度的平方根。这里宽度是 4。文章除的是 √6，"
            "嵌入宽度的平方根。",
        ),
        matrices=(
            matrix(trace, f"{HEAD}.scaled", "Q Kᵀ / √4", WORDS, WORDS, digits=3),
            Matrix(
                Said("the printed Q Kᵀ / √4", "印出的 Q Kᵀ 除以 √4"),
                steps["scaled"],
                WORDS,
                WORDS,
                figures.PRINTED["scaled"],
                Said(
                    "Every printed figure is too small by √4/√6 ≈ 0.816.",
                    "印出的每个数都小了，只有 √4/√6 ≈ 0.816 倍。",
                ),
                digits=3,
            ),
        ),
        question=Question(
            Said(
                "Q is 6×4, K is 6×4. A score is a sum of how many products?",
                "Q 是 6×4，K 是 6×4。一个分数是几个乘积之和？",
            ),
            Said("Of four: d_k = 4, and √4 = 2.", "四个：d_k = 4，√4 = 2。"),
        ),
        claims=(
            Claim(
                Said(
                    "with √6 the article's figures come out, within its rounding",
                    "除以 √6 就得到文章的数（误差在舍入之内）",
                ),
                bool((by_mistake - table(figures.PRINTED["scaled"])).abs().max() < 0.0025),
            ),
        ),
        trace=trace,
        show=f"{HEAD}.scaled[0,0,0,0]",
        codes=("A9",),
    )
    yield from _weights(trace, steps["weights"])


def _weights(trace: Trace, from_printed: torch.Tensor) -> Iterator[Step]:
    scaled = numbers(trace, f"{HEAD}.scaled")
    allowed = causal_mask(6, 6)
    hidden = scaled.masked_fill(~allowed, -math.inf)
    yield Step(
        Said("A mask, if we wanted one", "如果需要，可以加掩码"),
        Said(
            "Before softmax a mask may forbid cells by writing −∞ into them. A reader of the whole "
            "sentence needs none, so the encoder has none. The writer must not see what it has not "
            "written yet: there each row keeps only the columns up to its own. This is how our "
            "scores would look then. (The lesson masked-attention takes this further.)",
            "softmax 之前可以用掩码禁止一些格子：往里写 −∞。读整句话的编码器不需要它。"
            "写句子的一方不能看还没写出的词：每一行只留到自己为止的列。"
            "加上掩码，我们的分数就成了这样。（masked-attention 一课会细讲。）",
        ),
        matrices=(Matrix("masked", hidden, WORDS, WORDS, digits=3),),
        claims=(
            Claim(
                Said(
                    "the encoder masked nothing: masked = scaled",
                    "编码器什么也没遮：masked = scaled",
                ),
                bool(torch.equal(numbers(trace, f"{HEAD}.masked"), scaled)),
            ),
            Claim(
                Said("a causal mask hides 15 of 36", "因果掩码遮住 36 格中的 15 格"),
                int((~allowed).sum()) == 15,
            ),
        ),
        trace=trace,
        show=f"{HEAD}.masked[0,0,0,1]",
        codes=("A10",),
    )
    weights = numbers(trace, f"{HEAD}.weights")
    yield Step(
        Said("Scores become shares", "分数变成份额"),
        Said(
            "Softmax turns each row into positive numbers that sum to 1: e to the power of each "
            "score, divided by the sum of the row. A lead of a few points takes almost everything.",
            "softmax 把每一行变成加起来等于 1 的正数：e 的分数次方，再除以整行之和。"
            "分数领先几分，就几乎拿走全部。",
        ),
        matrices=(
            matrix(trace, f"{HEAD}.weights", "softmax(Q Kᵀ / √4)", WORDS, WORDS),
            Matrix(
                Said("softmax of the printed Q Kᵀ / √4", "印出的 Q Kᵀ / √4 的 softmax"),
                from_printed,
                WORDS,
                WORDS,
                figures.PRINTED["softmax"],
                Said(
                    "Divided by √6 instead of √4, the printed weights are spread wider than they "
                    "should be.",
                    "除以 √6 而不是 √4，印出的权重比应有的更分散。",
                ),
            ),
        ),
        question=Question(
            Said(
                "In the row of “when”, 29.17 stands against 26.06. Which share does it get?",
                "“when” 那一行，29.17 对 26.06。它分到多少？",
            ),
            Said(
                f"{float(weights[0, 0]):.4f}: three points ahead is e³ ≈ 20 times as much.",
                f"{float(weights[0, 0]):.4f}：领先三分就是 e³ ≈ 20 倍。",
            ),
        ),
        claims=(
            Claim(
                Said("every row sums to 1", "每一行之和为 1"),
                bool((weights.sum(-1) - 1).abs().max() < 1e-12),
            ),
        ),
        trace=trace,
        show=f"{HEAD}.weights[0,0,0,0]",
        codes=("A11",),
    )
    printed_weights, printed_v = table(figures.PRINTED["softmax"]), table(figures.PRINTED["V"])
    yield Step(
        Said("A weighted average of values", "值的加权平均"),
        Said(
            "Each word takes the values of all words, each by its share: weights · V. Nearly all "
            "weight is on “when”, so all six rows come out almost the same. Untrained weights do "
            "not know what to look at.",
            "每个词按份额取走所有词的值：weights · V。几乎全部权重都在 “when” 上，"
            "所以六行几乎一样。没训练过的权重还不知道该看哪里。",
        ),
        matrices=(
            matrix(
                trace,
                f"{HEAD}.context",
                "weights · V",
                WORDS,
                D4,
                printed=figures.PRINTED["attention"],
                note=Said(
                    "The printed table averages Q, which stood in for V.",
                    "印出的表平均的是冒充 V 的 Q。",
                ),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "printed weights times the copied Q give the printed table",
                    "印出的权重乘那份抄来的 Q，正好得到印出的表",
                ),
                bool(
                    (printed_weights @ printed_v - table(figures.PRINTED["attention"])).abs().max()
                    < 1e-6
                ),
            ),
        ),
        trace=trace,
        show=f"{HEAD}.context[0,0,0,0]",
        codes=("A12",),
    )


def stepwise() -> dict[str, torch.Tensor]:
    """Our attention on the printed Q and K: what the article's own tables lead to."""
    query, key = table(figures.PRINTED["Q"]), table(figures.PRINTED["K"])
    value = table(figures.PRINTED["X"]) @ table(figures.W_V)
    with torch.no_grad(), glass.record() as trace:
        attention(query[None, None], key[None, None], value[None, None])
    return {name: numbers(trace, name) for name in ("scores", "scaled", "weights", "context")}
