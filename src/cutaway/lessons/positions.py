"""Where a word stands, in sines and cosines: the formula, its properties, its effect."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.errors import InputError
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.amplitude import amplitude
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
    yield from _properties(room)
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


def _properties(room: Room) -> Iterator[Step]:
    width = 16
    speeds = [10000 ** (-2 * pair / width) for pair in range(width // 2)]
    periods = [2 * math.pi / speed for speed in speeds]
    yield Step(
        Said("Many clocks", "许多只钟"),
        Said(
            "Each pair is the hand of a clock. The first goes round every 2π ≈ 6.3 positions, the "
            f"last, for d = {width}, every {periods[-1]:,.0f}. Fast hands tell neighbours apart, "
            "slow ones tell far places apart; like seconds, minutes and hours.",
            f"每一对就像一根表针。第一根每 2π ≈ 6.3 个位置转一圈，最后一根（d = {width}）"
            f"每 {periods[-1]:,.0f} 个位置一圈。快针分得清相邻的位置，慢针分得清远处的位置，"
            "好比秒、分、时。",
        ),
        matrices=(
            Matrix(
                Said("positions a turn", "转一圈的位置数"),
                [periods],
                columns=[f"i={pair}" for pair in range(width // 2)],
                digits=1,
            ),
        ),
        claims=(
            Claim(
                Said("each is slower than the one before", "一个比一个慢"),
                periods == sorted(periods) and math.isclose(periods[0], 2 * math.pi),
            ),
        ),
        codes=("C6",),
    )
    yield _unique()
    yield _rotation(room)
    yield _alias()


def _unique() -> Step:
    table = sinusoidal(1000, 16)
    gaps = torch.cdist(table, table) + 10 * torch.eye(1000)
    wide = sinusoidal(1000, 512)
    steps = (wide[1:] - wide[:-1]).norm(dim=1)
    alike = (wide[500] @ wide[440:561].T / 256).tolist()
    return Step(
        Said("Unique and smooth", "唯一而平滑"),
        Said(
            "Unique: among 1,000 positions no two vectors are the same; the nearest two, at d "
            "= 16, "
            f"are {float(gaps.min()):.2f} apart. Smooth: the step from one position to the "
            "next has "
            f"the same length everywhere, {float(steps[0]):.4f} at d = 512. And the dot product of "
            "two positions depends on their distance only, and falls off on both sides.",
            "唯一：1000 个位置没有两个向量相同；d = 16 时最近的两个也相距 "
            f"{float(gaps.min()):.2f}。"
            f"平滑：从一个位置到下一个，步子处处一样长，d = 512 时是 {float(steps[0]):.4f}。"
            "两个位置的点积只取决于它们的距离，向两边递减。",
        ),
        pictures=(
            Picture(
                Said("PE(500) · PE(pos) / 256, d = 512", "PE(500) · PE(pos) / 256，d = 512"),
                "curves",
                (Series("PE(500) · PE(pos)", list(range(440, 561)), alike),),
                Said("position", "位置"),
                Said("likeness", "相似度"),
            ),
        ),
        claims=(
            Claim(Said("all 1,000 differ", "1000 个各不相同"), float(gaps.min()) > 0.1),
            Claim(
                Said("every step has length 3.714270365", "每一步长 3.714270365"),
                bool((steps - 3.714270365).abs().max() < 1e-8),
            ),
        ),
        codes=("C6",),
    )


def rotation(shift: int, width: int) -> Tensor:
    """The matrix that moves every position by `shift`: each pair turned by its own angle.

    PE(pos + k) = M_k PE(pos)
    """
    moved = torch.zeros(width, width, dtype=torch.float64)
    for pair in range(width // 2):
        angle = shift * 10000 ** (-2 * pair / width)
        turn = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]],
            dtype=torch.float64,
        )
        moved[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = turn
    return moved


def _rotation(room: Room) -> Step:
    shift = round(room.choice("shift", 5.0))
    width = 6
    matrix = rotation(shift, width)
    table = sinusoidal(60 + abs(shift), width)
    low = max(0, -shift)
    moved = table[low : low + 50] @ matrix.T
    off = float((moved - table[low + shift : low + shift + 50]).abs().max())
    return Step(
        Said("From pos to pos + k by one matrix", "从 pos 到 pos + k，只要一个矩阵"),
        Said(
            f"To go k = {shift} further, turn each hand by k times its speed. That is a matrix M_k "
            "of 2×2 rotations down the diagonal, and it is the same for every position. So “five "
            "words back” is one linear map: attention can learn it. Try another k.",
            f"往后走 k = {shift}，就把每根针转过 k 乘它的速度。这就是一个对角线上排着 2×2 "
            "旋转的矩阵 M_k，"
            "对任何位置都一样。所以“往前数五个词”只是一个线性变换，注意力学得会。换个 k 试试。",
        ),
        matrices=(
            Matrix(f"M_{shift}", matrix, dimensions(width), dimensions(width)),
            Matrix(f"M_{shift} PE(7)", (matrix @ table[7])[None], columns=dimensions(width)),
            Matrix(
                f"PE({7 + shift})",
                table[7 + shift][None] if 7 + shift >= 0 else table[:1],
                columns=dimensions(width),
            ),
        ),
        controls=(Control("shift", Said("k", "k"), "slider", float(shift), (-7.0, 20.0, 1.0)),),
        claims=(
            Claim(
                Said(
                    "PE(pos + k) = M_k PE(pos) for 50 positions, to 12 digits",
                    "50 个位置都满足 PE(pos + k) = M_k PE(pos)，精确到 12 位",
                ),
                off < 1e-12,
            ),
        ),
        codes=("C6",),
    )


def _alias() -> Step:
    positions = torch.arange(100, dtype=torch.float64)
    single = positions.sin()
    near = (single[:, None] - single[None, :]).abs()
    pairs = [(a, b) for a in range(100) for b in range(a) if float(near[a, b]) < 0.01]
    table = sinusoidal(100, 16)
    apart = torch.cdist(table, table)
    still = sum(float(apart[a, b]) < 0.01 for a, b in pairs)
    return Step(
        Said("What goes wrong with one sine", "只用一个正弦会怎样"),
        Said(
            f"With sin(pos) alone, {len(pairs)} pairs of the first 100 positions are closer than "
            "0.01: position 0 and 22, for one, since 22 is nearly 7π. That is aliasing. Slow the "
            "wave down, and neighbours become the same instead. With many speeds, of those pairs "
            f"{still} remain.",
            f"只用 sin(pos)，前 100 个位置里有 {len(pairs)} 对相差不到 0.01：比如 0 和 22，"
            "因为 22 差不多是 7π。这叫混叠。把波放慢，又轮到相邻的位置分不开。"
            f"用许多种速度，这些对里还混淆的有 {still} 对。",
        ),
        pictures=(
            Picture(
                Said("sin(pos) at whole positions", "整数位置上的 sin(pos)"),
                "points",
                (Series("sin(pos)", positions[:50].tolist(), single[:50].tolist()),),
                Said("position", "位置"),
                "sin",
            ),
        ),
        question=Question(
            Said(
                "Would sin(pos / 1000) do, for 100 positions?",
                "100 个位置，用 sin(pos / 1000) 行吗？",
            ),
            Said(
                "They are all different, but neighbours by 0.001: lost in the noise of an "
                "embedding.",
                "各不相同，但相邻只差 0.001，淹没在嵌入的噪声里。",
            ),
        ),
        claims=(
            Claim(Said("0 and 22 collide", "0 和 22 撞在一起"), (22, 0) in pairs),
            Claim(Said("with 16 dimensions none do", "16 维时一对也不撞"), still == 0),
        ),
        codes=("C6",),
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
