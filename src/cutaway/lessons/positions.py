"""Where a word stands, in sines and cosines: the formula, its properties, its effect."""

import math
from collections.abc import Iterator

import torch

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.errors import InputError
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.amplitude import amplitude
from cutaway.lessons.lesson import (
    Claim,
    Lesson,
    Matrix,
    Picture,
    Question,
    Said,
    Series,
    Step,
)
from cutaway.lessons.position_laws import properties
from cutaway.lessons.recorded import dimensions
from cutaway.lessons.room import Room
from cutaway.model import attention, sinusoidal
from cutaway.model.positions import Positions

WORDS = ("I", "love", "AI")
LOVE = (0.8414709848, 0.5403023059, 0.009999833334, 0.9999500004)  # sin 1, cos 1, sin .01, cos .01


def tell(room: Room) -> Iterator[Step]:
    """Why, the formula, its curves, four properties, the module, the amplitude."""
    yield _why()
    yield _formula()
    yield _curves()
    yield from properties(room)
    yield _module()
    yield from amplitude(room)


def _why() -> Step:
    words = torch.tensor([[1.0, 0.2], [0.1, 0.9], [0.7, 0.7]], dtype=torch.float64)
    turned = words.flip(0)
    with torch.no_grad():
        before = attention(words[None, None], words[None, None], words[None, None])[0, 0]
        after = attention(turned[None, None], turned[None, None], turned[None, None])[0, 0]
        place = words + sinusoidal(3, 2)
        other = turned + sinusoidal(3, 2)
        told = attention(place[None, None], place[None, None], place[None, None])[0, 0]
        retold = attention(other[None, None], other[None, None], other[None, None])[0, 0]
    names = [*WORDS[::-1]]
    return Step(
        Said("Why positions at all?", "为什么需要位置？"),
        Said(
            "Attention sees a set of words, not their order: say “AI love I” and each word "
            "gets the "
            "vector it had in “I love AI”. So the input carries both: an embedding for what "
            "the word "
            "means, and a vector for where it stands, added cell by cell. Adding keeps the width, "
            "and since the width is large, learning can keep the two apart.",
            "注意力看到的是一堆词，不是顺序：说 “AI love I”，每个词得到的向量和 “I love AI” "
            "里一样。"
            "所以输入要带两样东西：表示词义的嵌入，和表示位置的向量，逐格相加。"
            "相加不改变宽度；宽度够大，学习就能把两者分开。",
        ),
        matrices=(
            Matrix("I love AI", before, WORDS, dimensions(2)),
            Matrix("AI love I", after, names, dimensions(2)),
            Matrix(
                Said("AI love I, with positions", "AI love I，加上位置"),
                retold,
                names,
                dimensions(2),
            ),
        ),
        claims=(
            Claim(
                Said("without positions nothing changes", "不加位置，什么都不变"),
                bool((after.flip(0) - before).abs().max() < 1e-12),
            ),
            Claim(
                Said("with them, it does", "加了位置，就变了"),
                bool((retold.flip(0) - told).abs().max() > 1e-2),
            ),
        ),
        codes=("C4",),
    )


def _formula() -> Step:
    table = sinusoidal(3, 4)
    angles = torch.tensor(
        [[pos / 10000 ** (2 * pair / 4) for pair in (0, 1)] for pos in range(3)],
        dtype=torch.float64,
    )
    trace = _recorded()
    return Step(
        Said("The formula, term by term", "公式，一项一项看"),
        Said(
            "Dimensions come in pairs. Pair i of d/2 has its own speed 1 / 10000^(2i/d); the angle "
            "of position pos is pos times that speed; dimension 2i is its sine, 2i+1 its cosine. "
            "With d = 4 there are two pairs: speeds 1 and 1/100. “I love AI” stands at positions "
            "0, 1, 2: count from 0, so love is at 1.\n"
            "A source puts love at 2 and prints .9093 .9998 .02 .9999: it takes the root of 10000 "
            "for 10000^(1/4), and uses another exponent for the cosine than for its sine. In code "
            "another trap: `10000 ^ (i / d)` is not a power in Python but XOR, an error; write **.",
            "维度两两一对。第 i 对（共 d/2 对）有自己的速度 1 / 10000^(2i/d)；位置 pos "
            "的角就是 pos 乘这个速度；"
            "第 2i 维是它的正弦，第 2i+1 维是余弦。d = 4 时有两对，速度是 1 和 1/100。"
            "“I love AI” 的位置是 0、1、2：从 0 数起，love 在 1。\n"
            "有份资料把 love 放在 2，印的是 .9093 .9998 .02 .9999：它把 10000^(1/4) 当成了 "
            "10000 的平方根，"
            "余弦用的指数也和正弦不同。代码里还有一个坑：`10000 ^ (i / d)` 在 Python 里不是乘方，"
            "是异或，会报错；要写 **。",
        ),
        matrices=(
            Matrix(
                Said("angle = pos / 10000^(2i/4)", "角 = pos / 10000^(2i/4)"),
                angles,
                WORDS,
                ("i=0", "i=1"),
            ),
            Matrix("PE", table, WORDS, ("sin", "cos", "sin", "cos")),
            Matrix(
                "PE(2)",
                table[2:],
                ("AI",),
                ("sin", "cos", "sin", "cos"),
                [figures.LOVE_PRINTED],
                Said(
                    "Dimension 1 should be cos 2 = −0.4161, dimension 3 cos 0.02 = 0.9998.",
                    "第 1 维应当是 cos 2 = −0.4161，第 3 维是 cos 0.02 = 0.9998。",
                ),
                tolerance=5.1e-5,
            ),
        ),
        question=Question(
            Said("What is PE(0), for any width?", "PE(0) 是什么？（任何宽度）"),
            Said("0 1 0 1 …: sine and cosine of 0.", "0 1 0 1 …：0 的正弦和余弦。"),
        ),
        claims=(
            Claim(
                Said(
                    "love, at 1: .8415 .5403 .0100 .9999(5)",
                    "love 在 1：.8415 .5403 .0100 .9999(5)",
                ),
                bool((table[1] - torch.tensor(LOVE, dtype=torch.float64)).abs().max() < 1e-9),
            ),
            Claim(
                Said(
                    "the table is sine and cosine of the angles above",
                    "表里就是上面那些角的正弦和余弦",
                ),
                bool((table[:, 0::2] - angles.sin()).abs().max() < 1e-12)
                and bool((table[:, 1::2] - angles.cos()).abs().max() < 1e-12),
            ),
        ),
        trace=trace,
        show="positions[1,0]",
        codes=("C5",),
    )


def _recorded() -> Trace:
    """Positions as the model adds them: three words of width 4, themselves zero."""
    config = ModelConfig(vocabulary=2, d_model=4, heads=1, max_length=16)
    module = Positions(config).double()
    words = torch.zeros(1, 3, 4, dtype=torch.float64)
    with torch.no_grad(), glass.record(module) as trace:
        module(words)
    trace.label(words=WORDS, axes={"positions": ("words", None)})
    return trace


def _curves() -> Step:
    table = sinusoidal(101, 20)
    lines = [
        Series(f"d{column}", list(range(101)), table[:, column].tolist()) for column in range(4, 8)
    ]
    signs = table[:100, 4:8].sign()
    crossings = (signs[1:] != signs[:-1]).sum(0).tolist()
    return Step(
        Said("Four waves", "四条波"),
        Said(
            "Dimensions 4 to 7 of a width of 20, over positions 0 to 100. 4 and 5 are one pair, "
            "sine and cosine of the same angle; 6 and 7 are the next.",
            "宽度 20 的第 4 到 7 维，位置 0 到 100。4 和 5 是一对，同一个角的正弦和余弦；"
            "6 和 7 是下一对。",
        ),
        pictures=(
            Picture(
                Said("PE, dimensions 4–7, d = 20", "PE 的第 4–7 维，d = 20"),
                "curves",
                lines,
                Said("position", "位置"),
                "PE",
            ),
        ),
        matrices=(
            Matrix(
                Said("changes of sign in 0–99", "0–99 之间变号的次数"),
                [crossings],
                columns=[line.name for line in lines],
            ),
        ),
        question=Question(
            Said(
                "Dimension 4 changes sign 5 times. And dimension 6: more or less often?",
                "第 4 维变号 5 次。第 6 维呢，更多还是更少？",
            ),
            Said(
                "Less: twice. The higher the dimension, the slower the wave; a source says the "
                "reverse.",
                "更少：两次。维度越高，波越慢；有份资料说反了。",
            ),
        ),
        claims=(Claim(Said("5, 5, 2, 2", "5、5、2、2"), crossings == [5, 5, 2, 2]),),
        codes=("C5", "C6"),
    )


def _module() -> Step:
    config = ModelConfig(vocabulary=2, d_model=512, heads=8, max_length=64)
    module = Positions(config)
    try:
        module(torch.zeros(1, 65, 512))
        refusal = ""
    except InputError as error:
        refusal = str(error)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        small = torch.randn(1000, 512) / math.sqrt(512)  # how embeddings start
    norms = [
        float(small.norm(dim=1).mean()),
        float((small * math.sqrt(512)).norm(dim=1).mean()),
        float(sinusoidal(1, 512).norm()),
    ]
    learnable = sum(parameter.numel() for parameter in module.parameters())
    return Step(
        Said("In the model", "在模型里"),
        Said(
            "The table is computed once for max_length positions and kept as a buffer: it "
            "moves with "
            f"the model but has {learnable} learned numbers. A longer sentence is refused: "
            f"“{refusal}”\n"
            "Before adding, embeddings are multiplied by √d_model. They start short, about 1; "
            f"PE always has length √(d/2) = {norms[2]:.0f}. Without the factor the place would "
            "drown "
            "the word. A source says PE's share is small; it is of the same order.",
            "这张表一次算好 max_length 个位置，作为缓冲区保存：跟着模型走，但学习的数有 "
            f"{learnable} 个。句子太长会被拒绝：“{refusal}”\n"
            "相加之前，嵌入要乘 √d_model。嵌入开始时很短，大约 1；"
            f"PE 的长度总是 √(d/2) = {norms[2]:.0f}。不乘的话，位置会淹没词义。"
            "有份资料说 PE 占的比重很小；其实是同一个量级。",
        ),
        matrices=(
            Matrix(
                Said("length of the vectors, d = 512", "向量的长度，d = 512"),
                [norms],
                columns=(
                    Said("embedding", "嵌入"),
                    Said("· √512", "乘 √512"),
                    Said("PE", "PE"),
                ),
                digits=2,
            ),
        ),
        claims=(
            Claim(Said("nothing in it is learned", "里面没有要学的数"), learnable == 0),
            Claim(
                Said("‖PE‖² = d/2 at every position", "每个位置都有 ‖PE‖² = d/2"),
                bool((sinusoidal(200, 512).square().sum(1) - 256).abs().max() < 1e-9),
            ),
            Claim(
                Said("65 words into 64 places: refused", "64 个位置放 65 个词：拒绝"),
                "65" in refusal and "64" in refusal,
            ),
        ),
        codes=("C8",),
    )


LESSON = Lesson(
    "positions",
    Said("Where a word stands", "词在哪里"),
    Said(
        "Sines and cosines as clocks: the formula, four properties, and a knob to turn them down.",
        "像钟一样的正弦和余弦：公式、四个性质，以及一个可以调小的旋钮。",
    ),
    tell,
)
