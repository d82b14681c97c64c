"""What the position table keeps: many speeds, unique and smooth rows, a shift as a rotation."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from cutaway.lessons.lesson import Claim, Control, Matrix, Picture, Question, Said, Series, Step
from cutaway.lessons.recorded import dimensions
from cutaway.lessons.room import Room
from cutaway.model import sinusoidal


def properties(room: Room) -> Iterator[Step]:
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
