"""What the mask of `masked-attention` keeps: change the last word; a row that sees nobody."""

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.lesson import Claim, Control, Matrix, Said, Step
from cutaway.lessons.recorded import dimensions, numbers, put, table
from cutaway.lessons.room import Room
from cutaway.model import Transformer, attention, explicit

WORDS = figures.FOUR_WORDS
PLACE = "decoder.layers.0.self_attention"
D3 = dimensions(3)


def four_words(last: tuple[float, ...] = figures.FOUR_X[3]) -> Trace:
    """A decoder of one layer and one head with the example's weights, recorded on four words."""
    config = ModelConfig(
        vocabulary=5,
        family="decoder",
        decoder_layers=1,
        d_model=3,
        heads=1,
        d_ff=3,
        positions="none",
        scale_embedding=False,
        bias=False,
        dropout=0.0,
    )
    model = Transformer(config).double().eval()
    with torch.no_grad():
        model.embedding.weight[1:] = table([*figures.FOUR_X[:3], last])
    for name in ("W_Q", "W_K", "W_V"):
        put(model, f"{PLACE}.{name}.weight", table(getattr(figures, f"FOUR_{name}")))
    put(model, f"{PLACE}.W_O.weight", torch.eye(3))
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad(), glass.record(model) as trace:
        model(ids)
    trace.label(source=WORDS)
    return trace


@cache
def example() -> Trace:
    """The run with the example's own numbers."""
    return four_words()


def what_the_mask_keeps(room: Room, trace: Trace) -> Iterator[Step]:
    """Later words changed, and no word to see at all."""
    yield future(room)
    yield infinity(trace)


def future(room: Room) -> Step:
    first = room.choice("last", figures.FOUR_X[3][0])
    changed = four_words((first, *figures.FOUR_X[3][1:]))
    before, after = (
        numbers(run, f"{PLACE}.output") for run in (four_words((5.0, 5.0, 5.0)), changed)
    )
    words = table([*figures.FOUR_X[:3], (first, *figures.FOUR_X[3][1:])])
    key = words @ table(figures.FOUR_W_K)
    with torch.no_grad(), explicit():
        free = attention(words[None, None], key[None, None], words[None, None])[0, 0]
    return Step(
        Said("Change the last word", "改动最后一个词"),
        Said(
            "Turn the first number of 编程 up and down. With the mask, the first three rows do not "
            "move by a single bit; without it, all four do. That is what lets one pass through the "
            "sentence train every position at once.",
            "把“编程”的第一个数调大调小。有掩码时，前三行一位都不动；没有掩码时，四行全变。"
            "正因为这样，一遍就能同时训练所有位置。",
        ),
        matrices=(
            Matrix(Said("output with the mask", "有掩码的输出"), after, WORDS, D3),
            Matrix(Said("output without a mask", "没有掩码的输出"), free, WORDS, D3),
        ),
        controls=(
            Control(
                "last",
                Said("first number of 编程", "“编程”的第一个数"),
                "slider",
                first,
                (-3.0, 3.0, 0.1),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "another last word (5, 5, 5) leaves the first three rows as they are",
                    "换成别的词 (5, 5, 5)，前三行不变",
                ),
                bool(torch.equal(before[:3], after[:3])),
            ),
            Claim(
                Said("without a mask the first row moves too", "没有掩码，第一行也会变"),
                bool(
                    (_unmasked(figures.FOUR_X[3])[0] - _unmasked((5.0, 5.0, 5.0))[0]).abs().max()
                    > 0.1
                ),
            ),
        ),
        trace=changed,
        show=f"{PLACE}.output[0,2,0]",
        codes=("C21", "C22"),
    )


def _unmasked(last: tuple[float, ...]) -> Tensor:
    words = table([*figures.FOUR_X[:3], last])
    key = words @ table(figures.FOUR_W_K)
    with torch.no_grad():
        return attention(words[None, None], key[None, None], words[None, None])[0, 0]


def infinity(trace: Trace) -> Step:
    scaled = numbers(trace, f"{PLACE}.scaled")[:1]
    nobody = torch.zeros(1, 4, dtype=torch.bool)
    value = table(figures.FOUR_X)
    rough = torch.softmax(scaled.masked_fill(~nobody, -1e9), dim=-1) @ value
    query = table(figures.FOUR_X)[:1]
    with torch.no_grad(), explicit():
        ours = attention(
            query[None, None], value[None, None], value[None, None], nobody[None, None]
        )[0, 0]
    return Step(
        Said("−∞, or a very large minus?", "用 −∞，还是很大的负数？"),
        Said(
            "Many programs write −1e9 instead of −∞. As long as a row sees somebody, nothing "
            "shows. "
            "If a row may see nobody, say a line of padding, the −1e9 are all equal and softmax "
            "spreads the weight evenly over what was forbidden. With −∞ the row is 0/0; our "
            "attention defines it: nothing seen, nothing passed on, zeros.",
            "许多程序不写 −∞ 而写 −1e9。只要这一行还能看见谁，就看不出差别。"
            "要是一行谁都不许看（比如整行填充），所有 −1e9 都相等，softmax "
            "就把权重平均分给了被禁的格子。"
            "用 −∞ 则是 0/0；我们的注意力规定：什么都没看见，就什么都不传，全是 0。",
        ),
        matrices=(
            Matrix(
                Said("a row that sees nobody, −1e9", "谁都看不见的一行，用 −1e9"), rough, columns=D3
            ),
            Matrix(Said("the same with −∞", "同样，用 −∞"), ours, columns=D3),
        ),
        claims=(
            Claim(
                Said("−1e9 averages the forbidden words", "−1e9 平均了被禁的词"),
                bool((rough[0] - value.mean(0)).abs().max() < 1e-12),
            ),
            Claim(Said("ours gives zeros", "我们的结果是 0"), bool((ours == 0).all())),
        ),
        codes=("C21", "E8"),
    )
