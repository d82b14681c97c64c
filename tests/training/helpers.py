"""A corpus and a model so small that a whole run takes a second, and processes to run them in."""

import hashlib
import itertools
import json
import multiprocessing
import os
import random
import signal
import threading
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from cutaway.config import RunConfig
from cutaway.training.checkpoint import saved
from cutaway.training.events import Event, Started
from cutaway.training.run import run_folder, train

ADJECTIVES = ("red", "old", "tall", "kind", "slow", "loud", "wet")
NOUNS = ("cat", "tree", "river", "king", "boat", "cloud", "stone", "child")
VERBS = ("sleeps", "falls", "sings", "waits", "burns")


def corpus() -> list[tuple[str, str]]:
    """All 280 sentences, each with its words turned round."""
    sentences = [f"the {a} {n} {v}" for a, n, v in itertools.product(ADJECTIVES, NOUNS, VERBS)]
    random.Random(5).shuffle(sentences)
    return [(sentence, " ".join(reversed(sentence.split()))) for sentence in sentences]


def write_corpus(folder: Path) -> tuple[Path, Path]:
    """Training and validation TSV."""
    pairs = corpus()
    paths = folder / "train.tsv", folder / "validation.tsv"
    for path, rows in zip(paths, (pairs[:240], pairs[240:]), strict=True):
        path.write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    return paths


def tables(folder: Path, **train_settings: Any) -> dict[str, Any]:
    """Settings of a one-second run with every source of chance on: dropout and BPE-dropout."""
    training, validation = write_corpus(folder)
    return {
        "data": {"data": str(training), "val_data": str(validation)},
        "tokenizer": {"vocabulary": 330, "sample": 0.2},
        "model": {
            "preset": "tiny",
            "encoder_layers": 1,
            "decoder_layers": 1,
            "d_model": 16,
            "heads": 2,
            "d_ff": 24,
            "dropout": 0.2,
        },
        "train": {
            "updates": 24,
            "tokens": 256,
            "log_every": 3,
            "validate_every": 8,
            "warmup": 4,
            "threads": 1,
            "device": "cpu",
            **train_settings,
        },
    }


def run_here(values: dict[str, Any], out: Path, **options: Any) -> list[Event]:
    """Train in this process; returns the events."""
    events: list[Event] = []
    train(RunConfig.from_tables(values), out, watch=events.append, **options)
    return events


def results(out: Path) -> dict[str, str]:
    """SHA-256 of all that two equal runs must agree on to the last bit."""
    last = saved(run_folder(out) / "checkpoints")[-1]
    files = [
        out / "model.safetensors",
        run_folder(out) / "log.jsonl",
        *(
            path
            for path in sorted(last.iterdir())
            if path.name not in ("state.json", "manifest.json")
        ),
    ]
    progress = json.loads((last / "state.json").read_text())["progress"]
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return {**digests, "progress": json.dumps(progress)}


_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(  # what every process would else load for itself, in seconds
    [
        "tests.training.helpers",
        "torch.distributed.fsdp",
        "torch.distributed.tensor",
        "torch._dynamo",
    ]
)


def start(target: Any, *arguments: Any) -> BaseProcess:
    """Run a function of this module in a process of its own, which has torch loaded already."""
    process = _context.Process(target=target, args=arguments)
    process.start()
    return process


def child_run(values: dict[str, Any], out: str, kill_after: float) -> None:
    """Train; SIGKILL strikes so many seconds after training has begun."""
    torch.set_num_threads(1)

    def watch(event: Event) -> None:
        if isinstance(event, Started):
            strike = threading.Timer(kill_after, os.kill, (os.getpid(), signal.SIGKILL))
            strike.daemon = True
            strike.start()

    train(RunConfig.from_tables(values), Path(out), watch=watch)
