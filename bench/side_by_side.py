"""Programs measured in turns on one machine: each a process of its own, one of them working.

A contestant is a command that answers each line of standard input with one JSON line, {"amount":
what it did, "seconds": how long}, and sends {"ready": true} first. Rounds in which other programs
took more than a tenth of the machine are measured again, and counted; after `patience` of them a
disturbed round is kept, and the table says so. Only ratios within one table mean anything.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PLACE = ROOT / ".venv-bench"
QUIET = 0.1  # share of the machine that others may take


def environment(name: str, packages: Sequence[str]) -> Path | None:
    """The Python of an environment with these packages, installed once; None: cannot be."""
    folder = PLACE / name
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    torch = next(line for line in pins.splitlines() if line.startswith("torch=="))
    key = hashlib.sha256(" ".join([torch, *packages]).encode()).hexdigest()[:16]
    python = folder / "bin" / "python"
    if (folder / f"installed-{key}").exists():
        return python
    print(f"installing {' '.join(packages)} in {folder.relative_to(ROOT)}", file=sys.stderr)
    base = getattr(sys, "_base_executable", sys.executable)
    log = PLACE / f"{name}.log"
    PLACE.mkdir(exist_ok=True)
    with log.open("w") as out:
        for command in (
            [base, "-m", "venv", "--clear", str(folder)],
            [str(folder / "bin" / "pip"), "install", "-q", torch, *packages],
        ):
            if subprocess.run(command, stdout=out, stderr=out, check=False).returncode:
                print(f"cannot install {name}: see {log.relative_to(ROOT)}", file=sys.stderr)
                return None
    (folder / f"installed-{key}").touch()
    return python


def gemm() -> float:
    """GFLOP/s of a 2048³ float32 matrix product with torch's threads, best of ten."""
    import torch

    one, other = torch.randn(2048, 2048), torch.randn(2048, 2048)
    best = 0.0
    for _ in range(10):
        begun = time.perf_counter()
        one @ other
        best = max(best, 2 * 2048**3 / (time.perf_counter() - begun) / 1e9)
    return best


@dataclass
class Contestant:
    """One program and what was measured of it."""

    name: str
    command: Sequence[str]
    settings: dict[str, str] = field(default_factory=dict)  # of its environment
    rates: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # what else it answered, the last time

    def start(self) -> "Contestant":
        """Start the process and wait until it is ready."""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.settings},
        )
        self._answer()
        return self

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with {self.process.wait()}: {self.command}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self) -> float:
        """One round; units of work per second."""
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        self.facts = self._answer()
        return float(self.facts["amount"]) / float(self.facts["seconds"])

    def stop(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def interleaved(contestants: Sequence[Contestant], rounds: int, patience: int = 10) -> int:
    """Measure all of them in turns; how many disturbed rounds had to be kept."""
    for contestant in contestants:
        contestant.start()
        contestant.run()  # to warm up
    kept = repeated = 0
    for _ in range(rounds):
        for contestant in contestants:
            while True:
                before = _busy(contestant.process.pid)
                begun = time.perf_counter()
                rate = contestant.run()
                others = _busy(contestant.process.pid) - before
                share = others / (time.perf_counter() - begun) / (os.cpu_count() or 1)
                if share <= QUIET or repeated >= patience:
                    kept += share > QUIET
                    contestant.rates.append(rate)
                    break
                repeated += 1
    for contestant in contestants:
        contestant.stop()
    return kept


def _busy(pid: int) -> float:
    """Seconds that processors spent on all programs but this one."""
    try:
        with open("/proc/stat") as file:
            user, nice, system = map(int, file.readline().split()[1:4])
        with open(f"/proc/{pid}/stat") as file:
            own = sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    except OSError:  # not Linux: no round is called disturbed
        return 0.0
    return (user + nice + system - own) / os.sysconf("SC_CLK_TCK")


def table(contestants: Sequence[Contestant], unit: str, against: str, kept: int) -> str:
    """Markdown: the median of each, least and most, and the ratio to one of them."""
    base = next(statistics.median(each.rates) for each in contestants if each.name == against)
    extra = [name for name in contestants[0].facts if name not in ("amount", "seconds")]
    lines = [
        f"| | {unit} | least–most | ratio |" + "".join(f" {name} |" for name in extra),
        "| --- | ---: | --- | ---: |" + " ---: |" * len(extra),
    ]
    for each in contestants:
        rate = statistics.median(each.rates)
        lines.append(
            f"| {each.name} | {rate:,.0f} | {min(each.rates):,.0f}–{max(each.rates):,.0f} "
            f"| {rate / base:.2f} |" + "".join(f" {each.facts.get(name, '')} |" for name in extra)
        )
    if kept:
        lines.append(f"\n{kept} rounds were disturbed by other programs: only an indication.")
    return "\n".join(lines)
