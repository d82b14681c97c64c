"""`make bench-scale`: how time and memory grow with length, vocabulary, layers and sentences.

    python bench/growth.py [--repeats 3] [--largest 4] [--svg docs/growth.svg]

Each row doubles one thing and leaves the others: one update of training, all sentences in one
batch (a child process each, for its own peak of memory), and one greedy translation. A ratio of 2
means linear, of 4 quadratic. The processor's seconds are counted, one thread, so that other
programs matter little. With --svg the same figures are drawn, both axes logarithmic, beside lines
of linear growth.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BASE = {"sentences": 64, "length": 32, "vocabulary": 4000, "layers": 2}


def measure(point: dict[str, int]) -> dict[str, float]:
    """Seconds of an update and of translating one sentence, and the peak of memory in MB."""
    import torch

    from cutaway.config import DecodeOptions, ModelConfig, TrainConfig
    from cutaway.decode import Special, Task
    from cutaway.decode.search import search
    from cutaway.model import Transformer
    from cutaway.system.allocator import keep_freed_memory
    from cutaway.training.objective import Objective, TaskBatch
    from cutaway.training.optimizer import make_optimizer, set_rate

    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    config = ModelConfig.preset(
        "tiny",
        vocabulary=point["vocabulary"],
        encoder_layers=point["layers"],
        decoder_layers=point["layers"],
        max_length=max(1024, 2 * point["length"]),
    )
    model = Transformer(config)
    settings = TrainConfig()
    objective = Objective(model, settings)
    optimizer = make_optimizer(model.named_parameters(), settings)
    set_rate(optimizer, 1e-4)
    shape = (point["sentences"], point["length"] + 1)
    ids = torch.randint(5, point["vocabulary"], shape)
    target, gold = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    batch = TaskBatch(gold, target, gold, gold.numel())

    def update() -> None:
        model.train()
        objective(batch).backward()
        optimizer.step()
        optimizer.zero_grad()

    options = DecodeOptions(min_length=point["length"], max_length=point["length"])
    task = Task(tuple(ids[0, 1:].tolist()))

    def translate() -> None:
        search(model.eval(), [task], options, Special(2, 3, (0, 1, 2, 4)))

    times = {}
    for work in (update, translate):
        work()
        begun = time.process_time()
        work()
        times[work.__name__] = time.process_time() - begun
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return {**times, "peak": peak}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--largest", type=int, default=4, help="how often each is doubled")
    parser.add_argument("--svg", type=Path, help="also draw the figures into this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(json.loads(arguments.child))))
        return
    print("| | one update, s | ratio | one translation, s | ratio | peak, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    drawn: dict[str, list[dict[str, float]]] = {}
    for name in BASE:
        before: dict[str, float] = {}
        for doubled in range(arguments.largest + 1):
            point = {**BASE, name: BASE[name] * 2**doubled}
            found: list[dict[str, Any]] = [
                json.loads(
                    subprocess.run(
                        [sys.executable, __file__, "--child", json.dumps(point)],
                        stdout=subprocess.PIPE,
                        text=True,
                        check=True,
                    ).stdout
                )
                for _ in range(arguments.repeats)
            ]
            now = {key: statistics.median(row[key] for row in found) for key in found[0]}
            ratios = [
                f"{now[key] / before[key]:.2f}" if before else "" for key in ("update", "translate")
            ]
            print(
                f"| {point[name]:,} {name} | {now['update']:.3f} | {ratios[0]} "
                f"| {now['translate']:.3f} | {ratios[1]} | {now['peak']:,.0f} |",
                flush=True,
            )
            before = now
            drawn.setdefault(name, []).append({"at": point[name], **now})
    if arguments.svg:
        arguments.svg.write_text(drawing(drawn), encoding="utf-8")


WIDTH, HEIGHT, EDGE = 240, 200, 44  # of one panel, and the space around it
LINES = {"update": "#0a5bd3", "translate": "#c2500a", "peak": "#6b6b6b"}
WORDS = {"update": "one update, s", "translate": "one translation, s", "peak": "peak memory, GB"}


def drawing(found: dict[str, list[dict[str, float]]]) -> str:
    """A panel for each thing that is doubled: time and memory against it, as SVG."""
    rows = [row for panel in found.values() for row in panel]
    for row in rows:
        row["peak"] /= 1024
    values = [row[key] for row in rows for key in LINES]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    parts = []
    for number, (name, points) in enumerate(found.items()):
        left, top = EDGE + number * (WIDTH + EDGE), EDGE
        last = len(points) - 1

        def place(step: float, value: float, left: int = left, last: int = last) -> str:
            share = (math.log10(value) - low) / (high - low)
            return f"{left + step / last * WIDTH:.1f},{EDGE + HEIGHT - share * HEIGHT:.1f}"

        frame = f'x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}"'
        parts.append(f'<rect {frame} fill="none" stroke="#999" stroke-width="0.5"/>')
        parts.append(text(left + WIDTH / 2, top - 10, name, "middle", "#111"))
        for step, row in enumerate(points):
            x = left + step / last * WIDTH
            parts.append(text(x, top + HEIGHT + 16, f"{row['at']:,.0f}", "middle", "#444"))
        for power in range(low, high + 1):
            y = top + HEIGHT - (power - low) / (high - low) * HEIGHT
            parts.append(f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="#ddd" stroke-width="0.5"/>')
            if not number:
                parts.append(text(left - 6, y + 4, f"{10.0**power:g}", "end", "#444"))
        for key, colour in LINES.items():
            linear = [(0, points[0][key]), (last, points[0][key] * 2**last)]
            dashed = " ".join(place(step, min(value, 10.0**high)) for step, value in linear)
            if linear[-1][1] <= 10.0**high:
                parts.append(
                    f'<polyline points="{dashed}" fill="none" stroke="{colour}" '
                    f'stroke-width="0.7" stroke-dasharray="3 4"/>'
                )
            measured = " ".join(place(step, row[key]) for step, row in enumerate(points))
            parts.append(
                f'<polyline points="{measured}" fill="none" stroke="{colour}" stroke-width="2"/>'
            )
    foot = EDGE + HEIGHT + 42
    for number, (key, colour) in enumerate(LINES.items()):
        x = EDGE + number * 190
        parts.append(f'<path d="M{x} {foot - 4}h24" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(x + 30, foot, WORDS[key], "start", "#111"))
    parts.append(text(EDGE + 3 * 190, foot, "dashed: linear growth", "start", "#111"))
    wide, tall = len(found) * (WIDTH + EDGE) + EDGE, foot + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" '
        f'height="{tall}" font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="{wide}" height="{tall}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def text(x: float, y: float, words: str, anchor: str, colour: str) -> str:
    """One label."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    main()
