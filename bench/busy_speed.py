"""Training next to other work: how threads should wait for each other, idle and busy.

    python bench/busy_speed.py [--seconds 10] [--repeats 5] [--threads 2]

Each policy is a child process of its own (the library reads it when it loads) that trains the
`tiny` size on random tokens; policies take turns, first on the machine as it is, then beside one
process that computes all the time. Read the ratios. A machine that others use is never idle: the
line above the table says how busy it was before.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

POLICIES: dict[str, dict[str, str]] = {
    "the library's own": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "spin 1,000 times": {"GOMP_SPINCOUNT": "1000"},
    "spin 20,000 times": {"GOMP_SPINCOUNT": "20000"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
SPIN = "while True: pass"


def train(seconds: float, threads: int) -> None:
    """Print target tokens per second of a tiny model on random tokens."""
    import torch

    from cutaway.config import ModelConfig
    from cutaway.model import Transformer

    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Transformer(ModelConfig.preset("tiny", vocabulary=6000))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    source, target = torch.randint(5, 6000, (128, 16)), torch.randint(5, 6000, (128, 17))

    def update() -> None:
        logits = model(source, target[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    update()
    done, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        update()
        done += 1
    print(done * 128 * 16 / (time.perf_counter() - begun))


def measured(policy: str, arguments: argparse.Namespace) -> float:
    """Tokens per second of a child under a policy."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OMP_", "GOMP_", "KMP_"))
    }
    command = [sys.executable, __file__, "--child", "--seconds", str(arguments.seconds)]
    command += ["--threads", str(arguments.threads)]
    done = subprocess.run(
        command, env={**clean, **POLICIES[policy]}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        train(arguments.seconds, arguments.threads)
        return
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print("| beside | threads wait | target tokens/s | spread | ratio |")
    print("| --- | --- | ---: | --- | ---: |")
    for beside in ("nothing of ours", "one busy process"):
        busy = subprocess.Popen([sys.executable, "-c", SPIN]) if "busy" in beside else None
        try:
            found: dict[str, list[float]] = {policy: [] for policy in POLICIES}
            for _ in range(arguments.repeats):
                for policy in POLICIES:
                    found[policy].append(measured(policy, arguments))
        finally:
            if busy is not None:
                busy.kill()
                busy.wait()
        base = statistics.median(found["the library's own"])
        for policy, rates in found.items():
            rate = statistics.median(rates)
            spread = f"{min(rates):,.0f}–{max(rates):,.0f}"
            print(
                f"| {beside} | {policy} | {rate:,.0f} | {spread} | {rate / base:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
