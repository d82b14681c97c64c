"""Whole training commands beside each other: `cutaway train` and `eole train`.

    python bench/train_whole.py [--source train.en.gz --target train.de.gz \\
        --val-source val.en.gz --val-target val.de.gz] [--size base] [--updates 200] [--rounds 3]
        [--threads 2]

Without files the embedded corpus is used. Same pairs, joint BPE, sizes, dropout, label smoothing,
AdamW, 4,096 tokens per update, one validation at the end. Commands take turns; the time
is that of the whole command, from the shell to its end: imports, reading, batching, validation and
saving included; ours also learns the vocabulary, which the other finds ready, as pieces in files.
Tokens are target tokens as each program counts them in its own log. The load before the table says
whether the machine was idle. Only ratios of one table mean anything.
"""

import argparse
import gzip
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from cutaway.config import ModelConfig, RunConfig
from cutaway.corpus.embedded import embedded
from cutaway.training.prepare import prepare
from side_by_side import ROOT, environment, gemm

VOCABULARY = 10_000
EOLE = ("eole==0.6.4", "aiohttp")  # which it needs and does not ask for


def lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


def ours(
    files: dict[str, Path], work: Path, size: str, updates: int, threads: int
) -> tuple[list[str], Callable[[str], float]]:
    """The command of this package, and how to read its target tokens."""
    command = [sys.executable, "-m", "cutaway", "train", "--out", str(work / "ours")]
    for name, path in files.items():
        command += [f"--{name}", str(path)]
    settings = {"train.optimizer": "adamw", "train.validate_every": updates, "train.accumulate": 1}
    command += ["--preset", size, "--vocabulary", str(VOCABULARY), "--updates", str(updates)]
    command += ["--threads", str(threads)]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]

    def tokens(output: str) -> float:
        log = (work / "ours.run" / "log.jsonl").read_text(encoding="utf-8").splitlines()
        return float(sum(json.loads(line).get("tokens", 0) for line in log))

    return command, tokens


def eole(
    files: dict[str, Path], work: Path, size: str, updates: int, threads: int
) -> tuple[list[str], Callable[[str], float]] | None:
    """eole's command on the same pieces, and how to read its target tokens."""
    python = environment("eole", EOLE)
    if python is None:
        return None
    config = RunConfig.from_tables(
        {
            "data": {"source": str(files["source"]), "target": str(files["target"])},
            "tokenizer": {"vocabulary": VOCABULARY},
            "model": {"preset": size},
        }
    )
    tokenizer = prepare(config).tokenizer
    shape = ModelConfig.preset(size, vocabulary=VOCABULARY)
    for name, path in files.items():
        pieces = (tokenizer.pieces(tokenizer.encode(line)) for line in lines(path))
        text = "".join(" ".join(row) + "\n" for row in pieces)
        (work / f"{name}.pieces").write_text(text, encoding="utf-8")
    known = [tokenizer.pieces([number])[0] for number in range(5, tokenizer.vocabulary)]
    vocabulary = work / "vocabulary.txt"
    vocabulary.write_text("".join(f"{piece}\t1\n" for piece in known), encoding="utf-8")
    settings = {
        "seed": 1,
        "share_vocab": True,
        "src_vocab": str(vocabulary),
        "tgt_vocab": str(vocabulary),
        "src_vocab_size": len(known) + 8,
        "tgt_vocab_size": len(known) + 8,
        "overwrite": True,
        "report_every": 10,
        "n_sample": 0,
        "data": {
            name: {
                "path_src": str(work / f"{prefix}source.pieces"),
                "path_tgt": str(work / f"{prefix}target.pieces"),
            }
            for name, prefix in (("corpus_1", ""), ("valid", "val-"))
        },
        "training": {
            "model_path": str(work / "eole-model"),
            "compute_dtype": "fp32",
            "world_size": 0,
            "gpu_ranks": [],
            "batch_type": "tokens",
            "batch_size": 4096,
            "valid_batch_size": 4096,
            "normalization": "tokens",
            "bucket_size": 29_000,
            "num_workers": 0,
            "accum_count": [1],
            "optim": "adamw",
            "adam_beta2": 0.98,
            "learning_rate": 0.001,
            "warmup_steps": 100,
            "decay_method": "noam",
            "max_grad_norm": 1.0,
            "dropout": [shape.dropout],
            "attention_dropout": [shape.attention_dropout],
            "label_smoothing": 0.1,
            "train_steps": updates,
            "valid_steps": updates,
            "save_checkpoint_steps": updates,
        },
        "model": {
            "architecture": "transformer",
            "layers": shape.encoder_layers,
            "hidden_size": shape.d_model,
            "heads": shape.heads,
            "transformer_ff": shape.d_ff,
            "share_decoder_embeddings": True,
            "share_embeddings": True,
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "embeddings": {
                "word_vec_size": shape.d_model,
                "position_encoding_type": "SinusoidalInterleaved",
            },
        },
    }
    path = work / "eole.yaml"
    path.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    command = [str(python.parent / "eole"), "train", "-config", str(path)]

    def tokens(output: str) -> float:
        sizes = re.findall(r"Average bsz:\s*\d+/\s*(\d+)/", output)
        return float(updates * int(sizes[-1]))

    return command, tokens


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("source", "target", "val-source", "val-target"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--size", choices=("tiny", "small", "base"), default="tiny")
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cutaway-bench-") as place:
        measure(given, chosen(given, Path(place)))


def chosen(given: argparse.Namespace, place: Path) -> dict[str, Path]:
    """The files given, or the embedded corpus as files."""
    if given.source:
        names = ("source", "target", "val-source", "val-target")
        return {name: getattr(given, name.replace("-", "_")).resolve() for name in names}
    files: dict[str, Path] = {}
    for prefix, split in (("", "train"), ("val-", "test")):
        pairs = embedded("en-fr", split)
        for number, name in enumerate(("source", "target")):
            side = [pair[number] for pair in pairs]
            files[prefix + name] = place / f"{prefix}{name}.txt"
            files[prefix + name].write_text("\n".join(side) + "\n", encoding="utf-8")
    return files


def measure(given: argparse.Namespace, files: dict[str, Path]) -> None:
    """Let the commands take turns and print the table."""
    print(
        f"{given.size}; matrix product {gemm():.0f} GFLOP/s, load before {os.getloadavg()[0]:.1f}\n"
    )
    print("| round | command | target tokens | seconds | tokens/s | peak MB |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    rates: dict[str, list[float]] = {}
    for number in range(1, given.rounds + 1):
        for name, make in (("cutaway train", ours), ("eole train", eole)):
            with tempfile.TemporaryDirectory(prefix="cutaway-bench-") as scratch:
                made = make(files, Path(scratch), given.size, given.updates, given.threads)
                if made is None:
                    continue
                command, tokens = made
                threads = str(given.threads)
                limits = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
                begun = time.perf_counter()
                process = subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env={**os.environ, **limits},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                output = process.stdout.read() if process.stdout else ""
                _, status, used = os.wait4(process.pid, 0)
                seconds = time.perf_counter() - begun
                if status:
                    raise SystemExit(f"{name} failed:\n{output[-3000:]}")
                done = tokens(output)
            rates.setdefault(name, []).append(done / seconds)
            print(
                f"| {number} | {name} | {done:,.0f} | {seconds:.1f} | {done / seconds:,.0f} | "
                f"{_megabytes(used):,} |",
                flush=True,
            )
    middle = {name: statistics.median(found) for name, found in rates.items()}
    print()
    for name, found in rates.items():
        ratio = middle["cutaway train"] / middle[name]
        print(f"{name}: {min(found):,.0f}–{max(found):,.0f}, cutaway is {ratio:.2f} times as fast")


def _megabytes(used: resource.struct_rusage) -> int:
    return int(used.ru_maxrss) // 1024


if __name__ == "__main__":
    main()
