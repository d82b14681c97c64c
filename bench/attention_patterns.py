"""Local against full attention: time and peak memory each time the length doubles.

    python bench/attention_patterns.py [--longest 16384] [--full-until 8192] [--step]

One run of a small GPT-like model without gradients, or with --step forward and backward. Time and
memory of every length are measured in processes of their own. Time is the best of several runs on
one thread, in seconds of the processor. Memory is the peak of what was resident during a run less
what was resident before it (Linux; elsewhere the growth of ru_maxrss).
The columns "×" say how much more one doubling costs: 2 is linear, 4 is quadratic.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

SHORTEST = 1024


def measure(figure: str, pattern: str, length: int, longest: int, step: bool) -> float:
    """Seconds or peak bytes of one run at this length, in this process."""
    import torch

    from cutaway.config import ModelConfig
    from cutaway.model import Transformer

    torch.set_num_threads(1)
    torch.manual_seed(1)
    config = ModelConfig.from_dict(
        {
            "vocabulary": 997,
            "family": "decoder",
            "decoder_layers": 2,
            "d_model": 64,
            "heads": 4,
            "d_ff": 128,
            "dropout": 0.0,
            "attention": pattern,
            "window": 64,
            "max_length": longest,
        }
    )
    model = Transformer(config)
    learned = [value for name, value in model.named_parameters() if name != "output.bias"]

    def run(ids: torch.Tensor) -> None:
        with torch.set_grad_enabled(step):
            states = model.states(ids)  # without the output projection: it is linear anyway
            if step:
                torch.autograd.grad(states.square().mean(), learned)

    ids = torch.randint(1, 997, (1, length))
    run(ids[:, :128])  # warm-up: kernels chosen, libraries loaded
    if figure == "bytes":
        before = reset_peak()
        run(ids)
        return peak() - before
    seconds: list[float] = []
    while len(seconds) < 3 or (sum(seconds) < 3.0 and len(seconds) < 40):
        begin = time.process_time()  # the processor's, so that busy neighbours count little
        run(ids)
        seconds.append(time.process_time() - begin)
    return min(seconds)


def status(field: str) -> int | None:
    """A figure of this process from Linux, in bytes."""
    file = Path("/proc/self/status")
    if not file.exists():
        return None
    lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)


def reset_peak() -> int:
    """Forget the peak so far; return what is resident now."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return peak()
    return status("VmRSS") or peak()


def peak() -> int:
    """Most memory resident since the peak was forgotten."""
    unit = 1 if sys.platform == "darwin" else 1024
    return status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def in_child(figure: str, pattern: str, length: int, longest: int, step: bool) -> float:
    command = [sys.executable, __file__, "--child", figure, pattern, str(length)]
    command += ["--longest", str(longest), *(["--step"] if step else [])]
    # Every tensor a mapping of its own: what is resident is what is in use, no allocator's hoard.
    direct = {"MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_TRIM_THRESHOLD_": "0"}
    environment = {**os.environ, **(direct if figure == "bytes" else {})}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(result.stdout)


def table(pattern: str, longest: int, until: int, step: bool) -> None:
    """One row a length, with the ratio to the length before."""
    print(f"\n{pattern} attention")
    print(f"{'tokens':>8} {'seconds':>9} {'×':>5} {'peak MB':>9} {'×':>5}")
    before: dict[str, float] | None = None
    length = SHORTEST
    while length <= until:
        now = {
            figure: in_child(figure, pattern, length, longest, step)
            for figure in ("seconds", "bytes")
        }
        ratios = [f"{now[key] / before[key]:5.2f}" if before else " " * 5 for key in now]
        print(
            f"{length:8,} {now['seconds']:9.3f} {ratios[0]} "
            f"{now['bytes'] / 2**20:9.1f} {ratios[1]}",
            flush=True,
        )
        before = now
        length *= 2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--longest", type=int, default=16384, help="last length for local")
    parser.add_argument("--full-until", type=int, default=8192, help="last length for full")
    parser.add_argument("--step", action="store_true", help="forward and backward")
    parser.add_argument(
        "--child", nargs=3, metavar=("FIGURE", "PATTERN", "LENGTH"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.child:
        figure, pattern, length = options.child
        print(measure(figure, pattern, int(length), options.longest, options.step))
        return
    what = "forward and backward" if options.step else "forward"
    print(f"{what}, 2 layers, width 64, 4 heads, window 64, one thread")
    table("local", options.longest, options.longest, options.step)
    table("full", options.longest, options.full_until, options.step)


if __name__ == "__main__":
    main()
