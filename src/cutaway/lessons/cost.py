"""What attention costs: pairs, bytes and milliseconds as the sentence grows.

full: L² pairs; local: about L·(2w + 1); strided: those and every s-th key beyond
"""

import time
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.section import Sections
from cutaway.lessons.texts import LocalizedText
from cutaway.model.attention import (
    MultiHeadAttention,
    attention,
    explicit,
    explicit_attention,
    local_attention,
)
from cutaway.model.masks import reach

TEXT = Sections("cost")
LENGTHS = (128, 256, 512, 1024, 2048)
RECORDED = (64, 128, 256, 512)  # lengths whose every matrix is recorded
HEADS, WIDTH = 4, 32
STRIDE = 64
REPEATS = 5
SEED = 1
DISTANCES = (1, 2, 4, 8, 16, 32)  # between the first word and the last
FEATURES = 64  # of the words of the recurrent comparison
REACH, NEAR = 97, 8  # words and window when asking how far information travels
KINDS = ("full", "local", "strided")


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """The lesson, step by step."""
    window = min(max(4, inputs.choice("window", 32)), 64)
    yield _pairs(window)
    yield _memory(window)
    yield _time(window)
    yield _travel()
    yield _recurrent()


def settings(kind: str, window: int, stride: int = STRIDE) -> ModelConfig:
    """A model configuration of one attention pattern."""
    return ModelConfig.from_dict(
        {"vocabulary": 8, "attention": kind, "window": window, "stride": stride}
    )


def allowed(kind: str, window: int, length: int, stride: int = STRIDE) -> Tensor:
    """Which (query, key) pairs the model's own mask of a pattern allows, (L, L)."""
    config = settings(kind, window, stride)
    mask = reach(config, length, length, causal=False, device=torch.device("cpu"))
    return torch.ones(length, length, dtype=torch.bool) if mask is None else mask


def heads(length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value of so many words, (1, H, L, W) each."""
    generator = torch.Generator().manual_seed(SEED)
    query, key, value = (
        torch.randn(1, HEADS, length, WIDTH, generator=generator) for _ in range(3)
    )
    return query, key, value


def fastest(work: Callable[[], object]) -> float:
    """The shortest of several runs, in milliseconds: others include other work."""
    best = float("inf")
    work()
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def growth(values: Sequence[float]) -> float:
    """Factor per doubling of the length, on average."""
    return float((values[-1] / values[0]) ** (1 / (len(values) - 1)))


def _columns(lengths: Sequence[int]) -> list[str]:
    return [f"L = {length}" for length in lengths]


def _names(*kinds: str) -> list[LocalizedText]:
    return list(TEXT.names("names", *kinds))


def _pairs(window: int) -> Step:
    counts = {
        kind: [int(allowed(kind, window, length).sum()) for length in LENGTHS] for kind in KINDS
    }
    grown = {kind: growth(counts[kind]) for kind in KINDS}
    work = 2 * HEADS * WIDTH  # multiplications per pair: for the score, and for the weighted sum
    section = TEXT.section("pairs", window=window, stride=STRIDE, **grown)
    section.matrix(
        "pairs",
        torch.tensor([counts[kind] for kind in KINDS]),
        _names(*KINDS),
        _columns(LENGTHS),
    )
    section.picture(
        "work",
        "curves",
        *(
            section.series(kind, LENGTHS, [work * pairs / 1e6 for pairs in counts[kind]])
            for kind in KINDS
        ),
    )
    section.claim("local", 1.9 < grown["local"] < 2.3)
    section.claim("between", counts["local"][-1] < counts["strided"][-1] < counts["full"][-1])
    section.control("window", "slider", window, (4, 64, 4))
    return section.step("C16")


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
    full, local = growth(kept["full"]), growth(kept["local"])
    query, key, value = heads(256)
    with torch.no_grad():
        blocks = local_attention(query, key, value, None, window=window, causal=False)
        masked = attention(query, key, value, allowed("local", window, 256)[None, None])
    gap = float((blocks - masked).abs().max())
    section = TEXT.section("memory", full=full, local=local, gap=gap)
    section.matrix("weights", list(kept.values()), _names(*kept), _columns(RECORDED), digits=1)
    section.claim("full", abs(full - 4) < 0.01)
    section.claim("local", 1.9 < local < 2.3)
    section.claim("same", gap < 1e-4)
    return section.step("C16", trace=trace, show="weights[0,0,0,0]")


def _time(window: int) -> Step:
    times: dict[str, list[float]] = {"full": [], "local": []}
    for length in LENGTHS:
        query, key, value = heads(length)

        def full(q: Tensor = query, k: Tensor = key, v: Tensor = value) -> Tensor:
            return attention(q, k, v)

        def local(q: Tensor = query, k: Tensor = key, v: Tensor = value) -> Tensor:
            return local_attention(q, k, v, None, window=window, causal=False)

        with torch.no_grad():
            times["full"].append(fastest(full))
            times["local"].append(fastest(local))
    pays = next(
        (
            TEXT.section("pays", length=length).said("body")
            for length, slow, quick in zip(LENGTHS, times["full"], times["local"], strict=True)
            if quick < slow
        ),
        TEXT.section("pays-not").said("body"),
    )
    section = TEXT.section(
        "time",
        repeats=REPEATS,
        heads=HEADS,
        width=WIDTH,
        length=LENGTHS[-1],
        local=times["local"][-1],
        full=times["full"][-1],
        pays=pays,
    )
    section.matrix("time", list(times.values()), _names(*times), _columns(LENGTHS), digits=2)
    section.picture("time", "curves", *(section.series(k, LENGTHS, y) for k, y in times.items()))
    return section.step("C16", measured=True)


def _travel() -> Step:
    """How many words have reached the middle one after each layer."""
    layers = (1, 2, 3)
    reached = {}
    for kind in KINDS:
        step = allowed(kind, NEAR, REACH, stride=16).float()
        seen = torch.eye(REACH)
        counts = []
        for _ in layers:
            seen = ((step @ seen) > 0).float()
            counts.append(float(seen[REACH // 2].sum()))
        reached[kind] = counts
    section = TEXT.section("travel", near=NEAR, twice=2 * NEAR, words=REACH)
    section.matrix(
        "reached",
        [reached[kind] for kind in KINDS],
        _names(*KINDS),
        [TEXT.section("layers", n=n).label("many" if n > 1 else "one") for n in layers],
    )
    section.claim("local", reached["local"] == [min(REACH, 2 * NEAR * n + 1) for n in layers])
    section.claim("all", reached["full"][0] == REACH == reached["strided"][1])
    return section.step("C16")


def networks() -> tuple[nn.RNN, MultiHeadAttention, Tensor]:
    """A recurrent network of torch, one attention of this product, and words for both."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        recurrent = nn.RNN(FEATURES, FEATURES, batch_first=True)
        config = ModelConfig.from_dict({"vocabulary": 8, "d_model": FEATURES, "heads": HEADS})
        attends = MultiHeadAttention(config).eval()
        words = torch.randn(1, DISTANCES[-1] + 1, FEATURES)
    return recurrent, attends, words


def echoes() -> dict[str, list[float]]:
    """How much the last output changes when the first word does, by the distance between them.

    ‖∂ last / ∂ first‖ divided by ‖∂ last / ∂ last word‖, of networks as they are initialised.
    """
    recurrent, attends, words = networks()
    found: dict[str, list[float]] = {"recurrent": [], "attention": []}
    for distance in DISTANCES:
        for kind, change in found.items():
            x = words[:, : distance + 1].clone().requires_grad_()
            output = recurrent(x)[0] if kind == "recurrent" else attends(x, x, None)
            (gradient,) = torch.autograd.grad(output[0, -1].sum(), x)
            change.append(float(gradient[0, 0].norm() / gradient[0, -1].norm()))
    return found


def _recurrent() -> Step:
    """Steps that wait for each other, and how far the first word has influence."""
    recurrent, attends, words = networks()
    with torch.no_grad():
        times = fastest(lambda: recurrent(words)), fastest(lambda: attends(words, words, None))
    found = echoes()
    section = TEXT.section(
        "recurrent",
        words=words.shape[1],
        recurrent_ms=times[0],
        attention_ms=times[1],
        recurrent=found["recurrent"][-1],
        attention=found["attention"][-1],
        distance=DISTANCES[-1],
    )
    section.matrix(
        "echo",
        list(found.values()),
        section.labels(*found),
        [str(distance) for distance in DISTANCES],
    )
    section.picture("echo", "curves", *(section.series(k, DISTANCES, y) for k, y in found.items()))
    section.claim("fades", found["recurrent"][-1] < found["attention"][-1] / 100)
    return section.step("C2", measured=True)


LESSON = Lesson("cost", steps)
