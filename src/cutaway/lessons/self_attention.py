"""Self-attention with no parameters of its own: a weighted average, its weights, its symmetry."""

import math
import random
import time
from collections.abc import Iterator

import torch
from torch import Tensor

from cutaway.glass import Trace
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
from cutaway.lessons.recorded import dimensions, numbers
from cutaway.lessons.room import Room
from cutaway.lessons.self_attention_model import (
    SEED,
    SENTENCE,
    VOCABULARY,
    WIDTH,
    SelfAttention,
    learned,
    looped,
    recorded,
    vectors,
)
from cutaway.model import attention, explicit, sinusoidal

ROWS = ("the₁", "cat", "walks", "on", "the₂", "street")


def tell(room: Room) -> Iterator[Step]:
    """The name, the average, its weights; learned vectors; order; loop against matrix products."""
    yield _name()
    trace = recorded(SENTENCE)
    yield _vectors(trace)
    yield from _weights(trace)
    yield _derived(trace)
    yield _order(room)
    yield _loop()


def _name() -> Step:
    given = torch.arange(1.0, 6.0, dtype=torch.float64)
    share = torch.tensor([0, 0, 0, 0.5, 0.5], dtype=torch.float64)
    query, key = torch.zeros(1, 1, 1, 2).double(), torch.zeros(1, 1, 5, 2).double()
    with torch.no_grad():
        ours = attention(query, key, given[None, None, :, None], share[None, None, None] > 0)
    result = float(given @ share)
    return Step(
        Said("Why “attention”?", "为什么叫“注意力”？"),
        Said(
            "Take the numbers 1 to 5 and the weights 0, 0, 0, ½, ½. The weighted sum looks at the "
            "last two only: it pays attention to them. That is the whole idea.\n"
            "It does not save work, though, as one source says: every weight is computed, and a "
            "weight of 0 is multiplied like any other. Among t words that is t² weights.",
            "取 1 到 5 五个数，权重是 0、0、0、½、½。加权和只看最后两个：注意力在它们身上。"
            "全部的想法就是这样。\n"
            "不过它并不像有份资料说的那样省计算：每个权重都要算，权重为 0 也照样相乘。"
            "t 个词就有 t² 个权重。",
        ),
        matrices=(
            Matrix("x", given[None]),
            Matrix("w", share[None]),
            Matrix("w · x", [[result]]),
        ),
        question=Question(
            Said("What comes out?", "结果是多少？"),
            Said("½·4 + ½·5 = 4.5.", "½·4 + ½·5 = 4.5。"),
        ),
        claims=(
            Claim(Said("the sum is 4.5", "和是 4.5"), result == 4.5),
            Claim(
                Said("our model's attention gives the same", "模型里的注意力也得到同样的数"),
                float(ours) == 4.5,
            ),
        ),
        codes=("B1",),
    )


def _vectors(trace: Trace) -> Step:
    return Step(
        Said("Six words, six vectors", "六个词，六个向量"),
        Said(
            "“the cat walks on the street”: an embedding layer gives each word a vector v. Self-"
            "attention turns them into as many vectors y, one for each word. These vectors were "
            "learned a moment ago, on 120 sentences of this form, by one task: the output at the "
            f"verb must tell who does it. It now does, in {learned().right:.0%} of them.",
            "“the cat walks on the street”：嵌入层给每个词一个向量 v；"
            "自注意力把它们变成同样多的向量 y，"
            "每个词一个。这些向量是刚刚学出来的：用 120 个这样的句子，只有一个任务："
            f"动词那里的输出要说出是谁在做。现在 {learned().right:.0%} 的句子都能说对。",
        ),
        matrices=(Matrix("v", numbers(trace, "x"), ROWS, dimensions(WIDTH)),),
        claims=(
            Claim(
                Said("the verb's output names its subject every time", "动词的输出每次都说对主语"),
                learned().right == 1.0,
            ),
            Claim(
                Said("both “the” have the same vector", "两个 “the” 的向量相同"),
                bool(torch.equal(numbers(trace, "x")[0], numbers(trace, "x")[4])),
            ),
        ),
        trace=trace,
        show="x[0,1,0]",
        codes=("B9",),
    )


def _weights(trace: Trace) -> Iterator[Step]:
    raw, weights = numbers(trace, "raw_weights"), numbers(trace, "weights")
    the, cat, walks = 0, 1, 2
    yield Step(
        Said("How related are two words?", "两个词有多相关？"),
        Said(
            "The raw weight of a pair is the dot product of their vectors, x_iᵀ x_j: positive when "
            "they point the same way, negative when opposite. Nobody told the model what belongs "
            "together; the task did. To know who walks, cat and walks had to fit each other. “the” "
            "tells nothing about that.",
            "一对词的原始权重是两个向量的点积 x_iᵀ x_j：方向相同为正，相反为负。"
            "没有人告诉模型谁和谁有关，是任务决定的：要知道谁在走，cat 和 walks 就必须合拍；"
            "“the” 对此说明不了什么。",
        ),
        matrices=(Matrix("X Xᵀ", raw, ROWS, ROWS, digits=2),),
        question=Question(
            Said(
                "Which will be larger: cat·walks or the·walks?",
                "哪个更大：cat·walks 还是 the·walks？",
            ),
            Said(
                f"cat·walks = {float(raw[cat, walks]):.2f}, the·walks = "
                f"{float(raw[the, walks]):.2f}.",
                f"cat·walks = {float(raw[cat, walks]):.2f}，the·walks = "
                f"{float(raw[the, walks]):.2f}。",
            ),
        ),
        claims=(
            Claim(
                Said(
                    "cat·walks is large, the·walks and the·cat are not",
                    "cat·walks 大，the·walks 和 the·cat 都不大",
                ),
                bool(raw[cat, walks] > 3 * raw[the, walks].abs())
                and bool(raw[cat, walks] > 3 * raw[the, cat]),
            ),
        ),
        trace=trace,
        show="raw_weights[0,1,2]",
        codes=("B3", "B10"),
    )
    yield Step(
        Said("Shares that sum to 1", "加起来等于 1 的份额"),
        Said(
            "A dot product can be anything, so each row goes through softmax: all positive, sum 1. "
            "Read the row of walks: where does it look?",
            "点积可以是任何数，所以每一行过一遍 softmax：全为正，和为 1。看 walks 那一行："
            "它在看谁？",
        ),
        matrices=(Matrix("softmax(X Xᵀ)", weights, ROWS, ROWS),),
        claims=(
            Claim(
                Said("each row sums to 1", "每行之和为 1"),
                bool((weights.sum(1) - 1).abs().max() < 1e-12),
            ),
            Claim(
                Said("walks looks at cat most of all", "walks 看得最多的是 cat"),
                int(weights[walks].argmax()) == cat,
            ),
        ),
        trace=trace,
        show="weights[0,2,1]",
        codes=("B4", "B10"),
    )
    by_hand = sum(float(weights[walks, j]) * numbers(trace, "x")[j] for j in range(6))
    assert isinstance(by_hand, Tensor)
    yield Step(
        Said("The output: a weighted average", "输出：加权平均"),
        Said(
            "y_i = Σ_j w_ij x_j: each word's output is the average of all words, by its shares. "
            "y of walks is mostly cat: that is how it knows who walks. It is not the only "
            "operation "
            "in a Transformer, as one source has it, but it is the only one that carries anything "
            "from one word to another.",
            "y_i = Σ_j w_ij x_j：每个词的输出，是所有词按份额的平均。walks 的 y 大半是 cat："
            "它就是这样知道谁在走的。有份资料说这是输入输出之间唯一的运算，其实不是；"
            "但它是唯一把信息从一个词带到另一个词的运算。",
        ),
        matrices=(Matrix("y", numbers(trace, "y"), ROWS, dimensions(WIDTH)),),
        claims=(
            Claim(
                Said(
                    "y of walks, summed by hand, is the same",
                    "把 walks 的 y 一项项加出来，结果相同",
                ),
                bool((by_hand - numbers(trace, "y")[walks]).abs().max() < 1e-12),
            ),
        ),
        trace=trace,
        show="y[0,2,0]",
        codes=("B2", "B9"),
    )


def _derived(trace: Trace) -> Step:
    count = sum(parameter.numel() for parameter in SelfAttention().parameters())
    other = numbers(recorded(("the", "dog", "walks", "on", "the", "street")), "weights")
    weights = numbers(trace, "weights")
    return Step(
        Said("Derived, not learned", "是算出来的，不是学来的"),
        Said(
            f"This operation has {count} parameters. The weights w_ij are computed anew from each "
            "sentence; what is learned are the vectors that go in. One source says the weights "
            "depend on the positions (i, j). They depend on the words there: both rows of “the” "
            "are the same, and a dog in the cat's place changes them.",
            f"这个运算的参数是 {count} 个。权重 w_ij 是对每句话现算的；学到的是送进去的向量。"
            "有份资料说权重取决于位置 (i, j)。其实取决于那里的词：两个 “the” 的行完全一样，"
            "把 cat 换成 dog，权重就变了。",
        ),
        matrices=(
            Matrix(Said("with cat", "用 cat"), weights, ROWS, ROWS),
            Matrix(
                Said("with dog", "用 dog"),
                other,
                ("the₁", "dog", *ROWS[2:]),
                ("the₁", "dog", *ROWS[2:]),
            ),
        ),
        claims=(
            Claim(Said("no parameters", "没有参数"), count == 0),
            Claim(
                Said(
                    "both “the” have the same row, at positions 1 and 5",
                    "第 1 和第 5 个位置的 “the” 行完全相同",
                ),
                bool(torch.equal(weights[0], weights[4])),
            ),
            Claim(
                Said("another word, other weights", "换一个词，权重就不同"),
                bool((weights - other).abs().max() > 1e-3),
            ),
        ),
        trace=trace,
        show="weights[0,0,0]",
        codes=("B5", "B11"),
    )


def _order(room: Room) -> Step:
    start = ["street", "walks", "the", "on", "cat", "the"]
    words = list(room.choice("order", start))
    if sorted(words) != sorted(SENTENCE):
        words = start
    places, left = [], list(enumerate(SENTENCE))
    for word in words:
        place = next(item for item in left if item[1] == word)
        left.remove(place)
        places.append(place[0])
    before, trace = numbers(recorded(SENTENCE), "y"), recorded(words)
    after = numbers(trace, "y")
    stands = sinusoidal(6, WIDTH)
    with torch.no_grad():
        with_place = SelfAttention()(vectors(SENTENCE) + stands)[0][places]
        moved = SelfAttention()(vectors(words) + stands)[0]
    changes = places != list(range(6))
    return Step(
        Said("A set, not a sequence", "是集合，不是序列"),
        Said(
            "Put the words in any order and look at each word's output, beside what it was before. "
            "A Transformer adds positions to the words, and with them order does matter; without "
            "them, what does?",
            "把词随便换个顺序，看看每个词的输出，和换之前比一比。"
            "Transformer 会给词加上位置，那样顺序就有影响；不加的话呢？",
        ),
        matrices=(
            Matrix(Said("y, words reordered", "换序之后的 y"), after, words, dimensions(WIDTH)),
            Matrix(
                Said("difference from y before, word by word", "与换序前逐词相减"),
                after - before[places],
                words,
                dimensions(WIDTH),
            ),
        ),
        controls=(Control("order", Said("order of the words", "词的顺序"), "order", words),),
        question=Question(
            Said(
                "Turn the sentence around. What happens to the vector of cat?",
                "把句子倒过来，cat 的向量会怎样？",
            ),
            Said(
                "Nothing: it is the same, elsewhere. f(PX) = P f(X): self-attention is permutation "
                "equivariant, it sees a set. It cannot tell “the cat walks” from “walks cat the”.",
                "不变，只是换了地方。f(PX) = P f(X)，这叫排列等变：自注意力看到的是集合，"
                "分不清 “the cat walks” 和 “walks cat the”。",
            ),
        ),
        claims=(
            Claim(
                Said("f(PX) = P f(X), to 12 digits", "f(PX) = P f(X)，精确到 12 位"),
                bool((after - before[places]).abs().max() < 1e-12),
            ),
            Claim(
                Said(
                    "with positions added, the order matters",
                    "加上位置以后，顺序就有影响",
                ),
                not changes or bool((moved - with_place).abs().max() > 1e-3),
            ),
        ),
        trace=trace,
        show="y[0,0,0]",
        codes=("B12",),
    )


def _loop() -> Step:
    dice = random.Random(SEED)
    lengths, loop_times, product_times, gaps = (6, 12, 24, 48), [], [], []
    attend = SelfAttention()
    for length in lengths:
        words = [[dice.choice(VOCABULARY) for _ in range(length)] for _ in range(2)]
        x = torch.cat([vectors(row) for row in words])  # (b, t, k)
        begin = time.perf_counter()
        one = looped(x)
        loop_times.append((time.perf_counter() - begin) * 1e3)
        begin = time.perf_counter()
        with torch.no_grad():
            other = attend(x)
        product_times.append((time.perf_counter() - begin) * 1e3)
        gaps.append(float((one - other).abs().max()))
    with torch.no_grad(), explicit():
        model = attention((x * math.sqrt(WIDTH))[:, None], x[:, None], x[:, None])[:, 0]
    faster = loop_times[-1] / product_times[-1]
    return Step(
        Said("The loop and the two products", "循环与两次矩阵乘法"),
        Said(
            "Word by word and partner by partner, the formula is a triple loop. With the words "
            "as a "
            "tensor (b, t, k) it is three lines: bmm(x, xᵀ), softmax, bmm(weights, x). The result "
            f"is the same; the time is not: at t = {lengths[-1]} the loop took "
            f"{loop_times[-1]:.1f} ms here and the products {product_times[-1]:.2f} ms, "
            f"{faster:.0f} times less.",
            "按公式一个词一个词地算，是三重循环。把词放进张量 (b, t, k)，就只有三行："
            "bmm(x, xᵀ)、softmax、bmm(weights, x)。结果一样，时间不一样："
            f"t = {lengths[-1]} 时，循环在这台机器上用了 {loop_times[-1]:.1f} 毫秒，"
            f"矩阵乘法 {product_times[-1]:.2f} 毫秒，快 {faster:.0f} 倍。",
        ),
        matrices=(
            Matrix(
                Said("milliseconds, measured now", "毫秒，刚刚测的"),
                [loop_times, product_times],
                (Said("loop", "循环"), Said("products", "矩阵乘法")),
                [f"t={length}" for length in lengths],
                digits=2,
            ),
            Matrix(
                Said("largest difference", "最大差别"),
                [gaps],
                (),
                [f"t={length}" for length in lengths],
            ),
        ),
        pictures=(
            Picture(
                Said("Time, milliseconds", "时间（毫秒）"),
                "curves",
                (
                    Series(Said("loop", "循环"), lengths, loop_times),
                    Series(Said("products", "矩阵乘法"), lengths, product_times),
                ),
                "t",
                "ms",
            ),
        ),
        question=Question(
            Said(
                "Twice as many words: how much more work for the loop?",
                "词数翻倍，循环的工作量变成几倍？",
            ),
            Said("Four times: every word meets every word.", "四倍：每个词都要遇到每个词。"),
        ),
        claims=(
            Claim(
                Said("loop and products agree to 12 digits", "循环和矩阵乘法相差不到 10⁻¹²"),
                max(gaps) < 1e-12,
            ),
            Claim(
                Said(
                    "so does our model's attention, its √k undone",
                    "模型里的注意力（抵消 √k 之后）也一样",
                ),
                bool((model - other).abs().max() < 1e-12),
            ),
        ),
        codes=("B13", "B14"),
        measured=True,
    )


LESSON = Lesson(
    "self-attention",
    Said("Self-attention from nothing", "从零开始的自注意力"),
    Said(
        "A weighted average whose weights come from the words themselves; drag the words and "
        "watch.",
        "一个加权平均，权重来自词本身；拖动词的顺序看看会怎样。",
    ),
    tell,
)
