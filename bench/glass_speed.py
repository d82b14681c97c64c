"""What the glass box costs: recording against the plain pass, explaining, proving, memory.

python bench/glass_speed.py
"""

import contextlib
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.model import Transformer, explicit

RUNS = 7


def seconds(run: Callable[[], object], runs: int = RUNS) -> float:
    """The median of several runs, after one to warm up."""
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def alternating(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Medians of two things run turn by turn, so that both meet the same machine."""
    first(), second()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        for run, held in zip((first, second), times, strict=True):
            start = time.perf_counter()
            run()
            held.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def base() -> tuple[Transformer, torch.Tensor, torch.Tensor]:
    """The paper's base model and a pair of 20 tokens."""
    torch.manual_seed(0)
    model = Transformer(ModelConfig.preset("base", vocabulary=32000)).eval()
    source = torch.randint(4, 32000, (1, 20))
    return model, source, torch.randint(4, 32000, (1, 20))


def recording() -> None:
    """A forward pass of base on 20 tokens, with and without the recorder."""
    model, source, target = base()

    def plain() -> None:
        with torch.no_grad(), explicit():
            model(source, target)

    def recorded() -> None:
        with torch.no_grad(), glass.record(model):
            model(source, target)

    without, with_ = alternating(plain, recorded)
    print(
        f"forward of base, 20 tokens: plain {without * 1e3:.0f} ms, "
        f"recorded {with_ * 1e3:.0f} ms, ratio {with_ / without:.2f} (goal ≤ 5)"
    )


def off() -> None:
    """The same pass in a process that never recorded, and after recording was used and left."""
    model, source, target = base()

    def plain() -> None:
        with torch.no_grad(), explicit():
            model(source, target)

    before = seconds(plain, 15)
    with torch.no_grad(), glass.record(model):
        model(source, target)
    after = seconds(plain, 15)
    print(f"recording off: {before * 1e3:.1f} ms before, {after * 1e3:.1f} ms after, "
          f"ratio {after / before:.3f} (goal 1)")  # fmt: skip


def explaining() -> None:
    """One cell, everything a page shows of it."""
    model, source, target = base()
    with torch.no_grad(), glass.record(model) as trace:
        model(source, target)
    for address in (
        "decoder.layers.3.cross_attention.scores[0,2,4,7]",
        "decoder.layers.3.cross_attention.softmax[0,2,4,7]",
        "decoder.layers.3.feed_forward.output[0,4,99]",
        "decoder.layers.3.feed_forward_add_norm.normed[0,4,99]",
    ):

        def show(address: str = address) -> None:
            explanation = trace.explain(address)
            _ = explanation.text, explanation.operands, explanation.formula, explanation.words

        name = address.rpartition(".")[2]
        count = len(trace.explain(address).operands)
        times = []
        for _ in range(21):  # of the processor: other processes may be running
            start = time.process_time()
            show()
            times.append(time.process_time() - start)
        spent = statistics.median(times) * 1e3
        print(f"explain {name}: {spent:.2f} ms, {count} operands (goal ≤ 5 ms)")


def proving() -> None:
    """A complete training step of tiny on a pair of 10 words."""
    torch.manual_seed(0)
    model = Transformer(ModelConfig.preset("tiny", vocabulary=8000)).train()
    source, target = torch.randint(4, 8000, (1, 10)), torch.randint(4, 8000, (1, 11))
    optimizer = torch.optim.AdamW(model.parameters())
    start = time.perf_counter()
    with glass.record(model) as trace:
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits[0], target[0, 1:], label_smoothing=0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    recorded = time.perf_counter() - start
    start = time.perf_counter()
    proof = trace.prove()
    print(f"training step of tiny: recorded in {recorded:.1f} s, proven in "
          f"{time.perf_counter() - start:.1f} s (goal ≤ 60 s): {proof}")  # fmt: skip
    memory(trace)


def memory(trace: glass.Trace) -> None:
    """What a trace holds against the bytes of the tensors in it."""
    held = {id(value.buffer): value.buffer.bytes for value in trace if value.buffer is not None}
    tensors = sum(
        value.cells * value.tensor().element_size()
        for value in trace
        if value.origin in ("call", "source") and value.buffer is not None
    )
    print(f"memory: {sum(held.values()) / 1e6:.0f} MB held for {tensors / 1e6:.0f} MB of tensors, "
          f"ratio {sum(held.values()) / tensors:.2f} (goal ≤ 1.5)")  # fmt: skip


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        recording()
        off()
        explaining()
        proving()
