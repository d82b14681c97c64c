"""`make bench-scale`: how time and memory grow with length, vocabulary, layers and sentences.

    python bench/growth.py [--repeats 3] [--largest 4]

Each row doubles one thing and leaves the others: one update of training (a child process each, for
its own peak of memory) and one greedy translation. A ratio of 2 means linear, of 4 quadratic. The
processor's seconds are counted, one thread, so that other programs matter little.
"""

import argparse
import json
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

    from cutaway.config import DecodeOptions, ModelConfig
    from cutaway.decode import Special, Task
    from cutaway.decode.search import search
    from cutaway.model import Transformer

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
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    shape = (point["sentences"], point["length"] + 1)
    ids = torch.randint(5, point["vocabulary"], shape)

    def update() -> None:
        logits = model.train()(ids[:, 1:], ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

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
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(json.loads(arguments.child))))
        return
    print("| | one update, s | ratio | one translation, s | ratio | peak, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
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


if __name__ == "__main__":
    main()
