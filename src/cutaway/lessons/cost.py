"""What attention costs (C2, C16): pairs, bytes and seconds as the sentence grows.

full: L² pairs; local: about L·(2w + 1); strided: those and every s-th key beyond
"""

import time
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from cutaway import glass
from cutaway.config import ModelConfig
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
from cutaway.lessons.room import Room
from cutaway.model.attention import attention, explicit, explicit_attention, local_attention
from cutaway.model.masks import reach

LENGTHS = (128, 256, 512, 1024, 2048)
RECORDED = (64, 128, 256, 512)  # lengths whose every matrix is recorded
HEADS, WIDTH = 4, 32
STRIDE = 64
REPEATS = 5
SEQUENCE = 512  # words of the recurrent comparison
REACH, NEAR = 97, 8  # words and window when asking how far information travels
KINDS = ("full", "local", "strided")
NAMES = {
    "full": Said("full", "全连接"),
    "local": Said("local", "局部"),
    "strided": Said("strided", "跨步"),
}


def tell(room: Room) -> Iterator[Step]:
    """The lesson, step by step."""
    window = min(max(4, room.choice("window", 32)), 64)
    yield _pairs(window)
    yield _memory(window)
    yield _time(window)
    yield _travel()
    yield _recurrent()


def settings(kind: str, window: int) -> ModelConfig:
    """A model configuration of one attention pattern."""
    return ModelConfig.from_dict(
        {"vocabulary": 8, "attention": kind, "window": window, "stride": STRIDE}
    )


def allowed_pairs(kind: str, window: int, length: int) -> int:
    """How many (query, key) pairs the pattern allows, counted on the model's own mask."""
    mask = reach(settings(kind, window), length, length, causal=False, device=torch.device("cpu"))
    return length * length if mask is None else int(mask.sum())


def heads(length: int, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value of so many words, (1, H, L, W) each."""
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (
        torch.randn(1, HEADS, length, WIDTH, generator=generator) for _ in range(3)
    )
    return query, key, value


def fastest(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of several runs, in milliseconds: others only add what else the machine did."""
    best = float("inf")
    work()
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def _growth(values: Sequence[float]) -> float:
    """By what each doubling of the length multiplies, on average."""
    return float((values[-1] / values[0]) ** (1 / (len(values) - 1)))


def _pairs(window: int) -> Step:
    counts = {kind: [allowed_pairs(kind, window, length) for length in LENGTHS] for kind in KINDS}
    work = {kind: [4 * HEADS * WIDTH * pairs / 1e6 for pairs in counts[kind]] for kind in KINDS}
    growth = {kind: _growth([float(pairs) for pairs in counts[kind]]) for kind in KINDS}
    return Step(
        title=Said("Every word asks every word", "每个词都问每个词"),
        text=Said(
            "Full attention compares each of L queries with each of L keys: L² pairs, and each "
            "costs d multiplications for the score and d for the weighted sum. Local attention "
            f"keeps to keys at most {window} away. Strided attention adds every {STRIDE}-th key "
            "beyond. Counted on the model's own masks. Each doubling of the length multiplies "
            f"the work by {growth['full']:.2f} in full, {growth['local']:.2f} in local and "
            f"{growth['strided']:.2f} in strided attention.",
            "全注意力让 L 个查询各与 L 个键比较：共 L² 对，"
            "每一对算分数要 d 次乘法，加权求和又要 d 次。"
            f"局部注意力只看相距不超过 {window} 的键；跨步注意力再加上更远处每隔 {STRIDE} 个的键。"
            "下面是在模型自己的掩码上数出来的。长度每加倍，工作量在全注意力里乘以 "
            f"{growth['full']:.2f}，局部 {growth['local']:.2f}，跨步 {growth['strided']:.2f}。",
        ),
        matrices=(
            Matrix(
                Said("pairs (query, key)", "（查询，键）对数"),
                torch.tensor([counts[kind] for kind in KINDS]),
                rows=[NAMES[kind] for kind in KINDS],
                columns=[f"L = {length}" for length in LENGTHS],
            ),
        ),
        pictures=(
            Picture(
                Said("million multiply-adds", "百万次乘加"),
                "curves",
                [Series(NAMES[kind], LENGTHS, work[kind]) for kind in KINDS],
                x="L",
                y="10⁶",
            ),
        ),
        claims=(
            Claim(
                Said("Full: twice the length, four times the pairs",
                     "全注意力：长度加倍，对数变四倍"),
                abs(growth["full"] - 4) < 1e-9,
            ),
            Claim(
                Said("Local: twice the length, about twice the pairs",
                     "局部注意力：长度加倍，对数约变两倍"),
                1.9 < growth["local"] < 2.3,
            ),
            Claim(
                Said("Strided lies between the two", "跨步介于两者之间"),
                counts["local"][-1] < counts["strided"][-1] < counts["full"][-1],
            ),
        ),
        controls=(
            Control("window", Said("Window", "窗口"), "slider", window, (4, 64, 4)),
        ),
        question=Question(
            Said("A sentence ten times as long: how much more work for full attention?",
                 "句子长十倍，全注意力的工作量变为多少？"),
            Said("A hundred times as much.", "一百倍。"),
        ),
        codes=("C16",),
    )  # fmt: skip


class Two(nn.Module):
    """Full and local attention of the same heads, to be recorded."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def forward(self, query: Tensor, key: Tensor, value: Tensor, local: bool) -> Tensor:
        """(1, H, L, W) → (1, H, L, W)."""
        if local:
            return local_attention(query, key, value, None, window=self.window, causal=False)
        return explicit_attention(query, key, value, None, 0.0)


def _memory(window: int) -> Step:
    module = Two(window)
    kept: dict[str, list[float]] = {"full": [], "local": []}
    trace = None
    for length in RECORDED:
        for kind in kept:
            with torch.no_grad(), explicit(), glass.record(module) as run:
                module(*heads(length), kind == "local")
            kept[kind].append(run["weights"].tensor.numel() * 4 / 1024)
            if length == RECORDED[0] and kind == "full":
                trace = run
    full, local = kept["full"], kept["local"]
    return Step(
        title=Said("Memory: the matrix of weights", "内存：权重矩阵"),
        text=Said(
            "The scores and weights of full attention are L × L a head, and training keeps them "
            "for the backward pass. Local attention works in blocks, each window against itself "
            "and its neighbours, so its matrices grow with L alone. Kilobytes of weights, read "
            "off recorded runs. Strided attention is, in this product, a mask on the full "
            "matrix: it shows which pairs matter, but saves neither memory nor time until a "
            "kernel skips what is masked.",
            "全注意力每个头的分数和权重都是 L × L，训练时还要为反向传播留着。"
            "局部注意力分块计算，每个窗口只对自己和邻居，矩阵只随 L 增长。"
            "下面是从记录的运行中读出的权重千字节数。跨步注意力在本产品里是加在完整矩阵上的掩码："
            "它指出哪些对重要，但除非计算核跳过被遮的部分，既不省内存也不省时间。",
        ),
        matrices=(
            Matrix(
                Said("kilobytes of weights", "权重（千字节）"),
                [full, local],
                rows=(NAMES["full"], NAMES["local"]),
                columns=[f"L = {length}" for length in RECORDED],
                digits=1,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Full: four times the bytes at each doubling", "全注意力：每次加倍，字节变四倍"
                ),
                abs(_growth(full) - 4) < 1e-9,
            ),
            Claim(
                Said("Local: twice the bytes at each doubling", "局部注意力：每次加倍，字节变两倍"),
                1.9 < _growth(local) < 2.3,
            ),
        ),
        trace=trace,
        show="weights[0,0,0,0]",
        codes=("C16",),
    )


def _time(window: int) -> Step:
    full, local = [], []
    for length in LENGTHS:
        query, key, value = heads(length)
        with torch.no_grad():
            full.append(fastest(lambda q=query, k=key, v=value: attention(q, k, v)))  # type: ignore[misc]
            local.append(
                fastest(
                    lambda q=query, k=key, v=value: local_attention(  # type: ignore[misc]
                        q, k, v, None, window=window, causal=False
                    )
                )
            )
    query, key, value = heads(256)
    near = reach(settings("local", window), 256, 256, causal=False, device=query.device)
    assert near is not None
    with torch.no_grad():
        blocks = local_attention(query, key, value, None, window=window, causal=False)
        masked = attention(query, key, value, near[None, None])
    gap = float((blocks - masked).abs().max())
    return Step(
        title=Said("Time, measured here and now", "时间：此时此地实测"),
        text=Said(
            f"Milliseconds on this machine, the best of {REPEATS} runs, {HEADS} heads of width "
            f"{WIDTH}. For short sentences the block-wise form pays for its bookkeeping and "
            f"wins nothing; at {LENGTHS[-1]} words it takes {local[-1]:.1f} ms against "
            f"{full[-1]:.1f} ms. Your numbers will differ, the shape of the curves will not.",
            f"本机毫秒数，取 {REPEATS} 次中最快的，{HEADS} 个头，宽 {WIDTH}。"
            f"句子短时分块的额外开销不划算；到 {LENGTHS[-1]} 个词，局部 {local[-1]:.1f} 毫秒，"
            f"全注意力 {full[-1]:.1f} 毫秒。你的数字会不同，曲线的形状不会。",
        ),
        matrices=(
            Matrix(
                Said("milliseconds", "毫秒"),
                [full, local],
                rows=(NAMES["full"], NAMES["local"]),
                columns=[f"L = {length}" for length in LENGTHS],
                digits=2,
            ),
        ),
        pictures=(
            Picture(
                Said("milliseconds", "毫秒"),
                "curves",
                (Series(NAMES["full"], LENGTHS, full), Series(NAMES["local"], LENGTHS, local)),
                x="L",
                y="ms",
            ),
        ),
        claims=(
            Claim(
                Said(
                    f"At {LENGTHS[-1]} words local attention is the faster",
                    f"{LENGTHS[-1]} 个词时，局部注意力更快",
                ),
                local[-1] < full[-1],
            ),
            Claim(
                Said(
                    f"In blocks or by a mask, the result is the same (gap {gap:.1g})",
                    f"分块或加掩码，结果相同（误差 {gap:.1g}）",
                ),
                gap < 1e-4,
            ),
        ),
        question=Question(
            Said("From which length on does local attention pay?", "从多长开始局部注意力才划算？"),
            Said(_pays(full, local).en, _pays(full, local).zh),
        ),
        codes=("C16",),
        measured=True,
    )


def _pays(full: Sequence[float], local: Sequence[float]) -> Said:
    for length, slow, quick in zip(LENGTHS, full, local, strict=True):
        if quick < slow:
            return Said(f"Here from about {length} words on.", f"这里大约从 {length} 个词起。")
    return Said("Not up to the lengths measured here.", "在这里量过的长度内都不划算。")


def _travel() -> Step:
    layers = (1, 2, 3)
    reached = {}
    for kind in KINDS:
        mask = reach(
            ModelConfig.from_dict(
                {"vocabulary": 8, "attention": kind, "window": NEAR, "stride": 16}
            ),
            REACH,
            REACH,
            causal=False,
            device=torch.device("cpu"),
        )
        step = torch.ones(REACH, REACH) if mask is None else mask.float()
        seen = torch.eye(REACH)
        shares = []
        for _ in layers:
            seen = ((step @ seen) > 0).float()
            shares.append(float(seen[REACH // 2].sum()))
        reached[kind] = shares
    return Step(
        title=Said("What is given up: reach", "代价：看得到多远"),
        text=Said(
            f"With a window of {NEAR}, a word hears words {NEAR} away; after two layers, through "
            f"its neighbours, {2 * NEAR} away. Full attention joins any two words in one step. "
            f"Out of {REACH} words, so many have reached the middle one after each layer. The "
            "strided keys are bridges: with few pairs, everything is two steps away.",
            f"窗口为 {NEAR} 时，一个词只听得见相距 {NEAR} 的词；"
            f"两层之后，经邻居转达，可达 {2 * NEAR}。全注意力则一步连通任意两个词。"
            f"{REACH} 个词中，每层之后有多少个到达了正中那个词，如下。"
            "跨步的键像桥：对数不多，却两步可达一切。",
        ),
        matrices=(
            Matrix(
                Said("words that reached the middle", "到达正中的词数"),
                [reached[kind] for kind in KINDS],
                rows=[NAMES[kind] for kind in KINDS],
                columns=[Said("1 layer" if n == 1 else f"{n} layers", f"{n} 层") for n in layers],
            ),
        ),
        claims=(
            Claim(
                Said("Local: the reach grows by one window a layer each way",
                     "局部：每层向两边各伸一个窗口"),
                reached["local"] == [min(REACH, 2 * NEAR * n + 1) for n in layers],
            ),
            Claim(
                Said("Full reaches all in one layer, strided in two",
                     "全注意力一层到达全部，跨步两层"),
                reached["full"][0] == REACH and reached["strided"][1] == REACH,
            ),
        ),
        codes=("C16",),
    )  # fmt: skip


def _recurrent() -> Step:
    generator = torch.Generator().manual_seed(1)
    words = torch.randn(SEQUENCE, 64, generator=generator)
    weight = torch.randn(64, 64, generator=generator) / 8
    memory = torch.randn(64, 64, generator=generator) / 16

    def one_by_one() -> Tensor:
        return torch.stack([word @ weight for word in words])

    def together() -> Tensor:
        return words @ weight

    def recurrent() -> Tensor:
        state = torch.zeros(64)
        for word in words:
            state = torch.tanh(word @ weight + state @ memory)
        return state

    with torch.no_grad():
        gap = float((one_by_one() - together()).abs().max())
        alone, joined, stepwise = (fastest(work) for work in (one_by_one, together, recurrent))
        moved = words.clone()
        moved[0] += 1.0
        before = recurrent()
        words, kept = moved, words
        echo = float((recurrent() - before).norm() / before.norm())
        words = kept
    return Step(
        title=Said("Step by step against all at once", "逐步与并行"),
        text=Said(
            f"A recurrent network must read {SEQUENCE} words in {SEQUENCE} steps, for each "
            "needs the state the last one left. Attention and feed-forward treat all positions "
            "in one product. The very same multiplications, row by row and as one product: "
            f"{alone:.2f} ms and {joined:.3f} ms; a recurrent pass takes {stepwise:.2f} ms. And "
            f"what the first word said is {SEQUENCE - 1} steps away from the last: change it, "
            f"and the final state changes by {echo:.1g} of its length. In attention the two are "
            "one step apart.",
            f"循环网络读 {SEQUENCE} 个词就要走 {SEQUENCE} 步，因为每一步都要等上一步留下的状态。"
            "注意力和前馈网络则一次乘法处理所有位置。同样的乘法，逐行算 "
            f"{alone:.2f} 毫秒，合成一次 {joined:.3f} 毫秒；循环一遍要 {stepwise:.2f} 毫秒。"
            f"而且第一个词到最后要经过 {SEQUENCE - 1} 步：改动它，"
            f"最终状态只变化自身长度的 {echo:.1g}。在注意力里，两者只隔一步。",
        ),
        matrices=(
            Matrix(
                Said("steps that must wait for each other", "必须依次等待的步数"),
                [float(SEQUENCE), 1.0],
                columns=(Said("recurrent", "循环"), Said("attention", "注意力")),
            ),
        ),
        pictures=(
            Picture(
                Said("milliseconds", "毫秒"),
                "bars",
                (
                    Series(
                        "",
                        (0, 1, 2),
                        (stepwise, alone, joined),
                        (
                            Said("recurrent", "循环"),
                            Said("row by row", "逐行"),
                            Said("at once", "一次"),
                        ),
                    ),
                ),
            ),
        ),
        claims=(
            Claim(Said("Row by row and at once give the same numbers",
                       "逐行与一次，结果相同"), gap < 1e-3),
            Claim(Said("At once is faster", "一次更快"), joined < alone),
            Claim(Said("In the recurrent pass the first word has all but faded at the end",
                       "在循环里，第一个词到最后几乎已消失"), echo < 0.01),
        ),
        question=Question(
            Said("Why can a recurrent network not do all words at once?",
                 "循环网络为什么不能一次算完所有词？"),
            Said("Because step t needs the state of step t − 1.",
                 "因为第 t 步需要第 t − 1 步的状态。"),
        ),
        codes=("C2",),
        measured=True,
    )  # fmt: skip


LESSON = Lesson(
    name="cost",
    title=Said("What attention costs", "注意力的代价"),
    about=Said(
        "Full, local and strided attention as the sentence grows, measured; and why not an RNN.",
        "句子变长时全连接、局部、跨步注意力的代价，实测；以及为什么不用循环网络。",
    ),
    tell=tell,
)
