"""Training beside other work: threads that share operations, and threads that take a batch each.

    python bench/busy_speed.py [--seconds 10] [--repeats 5] [--threads 2]

Each way is a child process of its own (OpenMP reads its policy when it loads) that trains the
`tiny` size on the embedded corpus; ways take turns, first on the machine as it is, then beside one
process that computes all the time. Read the ratios. The fair share beside one busy process on two
cores is between two thirds of the idle rate (three threads share them) and three quarters. A
machine that others use is never idle: the line above the table says how busy it was.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

SHARED = {"parts": 1}  # all threads of a batch share each operation
WAYS: dict[str, tuple[dict[str, int], dict[str, str]]] = {  # settings, environment
    "a batch each": ({}, {}),
    "shared, spinning": (SHARED, {"OMP_WAIT_POLICY": "active"}),
    "shared, sleeping": (SHARED, {"OMP_WAIT_POLICY": "passive"}),
    "one thread": ({"threads": 1}, {}),
}
SPIN = "while True: pass"


def train(seconds: float, threads: int, way: str) -> None:
    """Print target tokens per second."""
    from cutaway.config.threads import sleep_while_waiting

    sleep_while_waiting()  # as `cutaway train` does
    import torch

    from cutaway.config import RunConfig
    from cutaway.training.prepare import prepare
    from train_speed import stepper

    settings = {"threads": threads, **WAYS[way][0]}
    torch.set_num_threads(settings["threads"])
    config = RunConfig.from_tables(
        {"data": {"embedded": "en-fr"}, "model": {"preset": "tiny"}, "train": settings}
    )
    step = stepper(prepare(config), config, "as it is")
    done, begun = 0.0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        done += step()[0]
    print(done / (time.perf_counter() - begun))


def measured(way: str, arguments: argparse.Namespace) -> float:
    """Tokens per second of a child."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OMP_", "GOMP_", "KMP_"))
    }
    command = [sys.executable, __file__, "--child", way, "--seconds", str(arguments.seconds)]
    command += ["--threads", str(arguments.threads)]
    done = subprocess.run(
        command, env={**clean, **WAYS[way][1]}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        train(arguments.seconds, arguments.threads, arguments.child)
        return
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print("| beside | threads | target tokens/s | spread | ratio |")
    print("| --- | --- | ---: | --- | ---: |")
    for beside in ("nothing of ours", "one busy process"):
        busy = subprocess.Popen([sys.executable, "-c", SPIN]) if "busy" in beside else None
        try:
            found: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(arguments.repeats):
                for way in WAYS:
                    found[way].append(measured(way, arguments))
        finally:
            if busy is not None:
                busy.kill()
                busy.wait()
        base = statistics.median(found["a batch each"])
        for way, rates in found.items():
            rate = statistics.median(rates)
            spread = f"{min(rates):,.0f}–{max(rates):,.0f}"
            print(f"| {beside} | {way} | {rate:,.0f} | {spread} | {rate / base:.2f} |", flush=True)


if __name__ == "__main__":
    main()
