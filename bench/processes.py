"""One process against two under torchrun (DDP, FSDP), all on this machine's processors.

    python bench/processes.py [--source train.en.gz --target train.de.gz] [--updates 60]

Each way is the public command, run to two lengths; the difference between them is training alone,
without start, tokenizer and last validation. One process uses all threads, each of two a half of
them. Tokens are those of the runs' own logs. Ways take turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side_by_side import gemm

SHORT = 10  # updates of the run that is subtracted
WAYS = {"one process": (1, ""), "two, ddp": (2, "ddp"), "two, fsdp": (2, "fsdp")}


def run(way: str, updates: int, given: argparse.Namespace) -> tuple[float, float]:
    """Seconds and target tokens of one whole command."""
    processes, parallel = WAYS[way]
    threads = max(1, given.threads // processes)
    with tempfile.TemporaryDirectory(prefix="cutaway-bench-") as scratch:
        out = Path(scratch) / "model"
        begin = [sys.executable, "-m", "cutaway"]
        if parallel:
            torchrun = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
            begin = [sys.executable, "-m", *torchrun, "-m", "cutaway"]
        files = ["--embedded", "en-fr"]
        if given.source:
            files = ["--source", given.source, "--target", given.target]
        command = [*begin, "train", *files, "--preset", "tiny", "--updates", str(updates)]
        command += ["--threads", str(threads), "--out", str(out), "--set", "data.holdout=50"]
        command += ["--set", f"train.validate_every={updates}"]
        command += ["--set", f"train.parallel={parallel}"] if parallel else []
        begun = time.perf_counter()
        done = subprocess.run(
            command,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - begun
        if done.returncode:
            raise SystemExit(f"{way} failed:\n{done.stdout[-3000:]}")
        log = out.with_name("model.run") / "log.jsonl"
        lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
        return seconds, float(sum(line.get("tokens", 0) for line in lines))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", default="")
    parser.add_argument("--target", default="")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    print(f"matrix product {gemm():.0f} GFLOP/s, load before {os.getloadavg()[0]:.1f}\n")
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(given.rounds):
        for way in WAYS:
            short, few = run(way, SHORT, given)
            long, many = run(way, SHORT + given.updates, given)
            rates[way].append((many - few) / (long - short))
    base = statistics.median(rates["one process"])
    print("| processes | target tokens/s | least–most | ratio |\n| --- | ---: | --- | ---: |")
    for way, found in rates.items():
        middle = statistics.median(found)
        spread = f"{min(found):,.0f}–{max(found):,.0f}"
        print(f"| {way} | {middle:,.0f} | {spread} | {middle / base:.2f} |")


if __name__ == "__main__":
    main()
