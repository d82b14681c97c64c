"""What a corpus of a million pairs costs before and during training: time and memory per stage.

    python bench/scale_data.py --data PAIRS.tsv [--pairs 1000000] [--folder DIR] [--updates 200]

Pairs are put together two by two from those of the file, so that no pair comes twice. Every stage
runs in a process of its own. CPU seconds are those of all threads; memory is the most that was not
file pages of the mapped store (RssAnon), which the system can drop at any time, less what importing
took. Bytes per pair times ten or a hundred give the sizes that a machine like this cannot hold.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from cutaway.corpus import Cleaner, Stream, build_store, open_store
from cutaway.corpus.batches import BatchPlan
from cutaway.corpus.reading import iterate_pairs
from cutaway.text import Tokenizer

PLAIN = "sentencepiece alone: "  # the library as its own examples call it, for comparison
STAGES = (
    "read", "clean", "tokenizer", f"{PLAIN}learning", "store", f"{PLAIN}encoding",
    "open", "plan", "train", "checkpoint",
)  # fmt: skip


def recombined(path: Path, pairs: int, out: Path) -> None:
    """So many different pairs of two sentences each."""
    rows = list(iterate_pairs(path))
    chance = random.Random(1)
    made: set[int] = set()
    with out.open("w", encoding="utf-8") as file:
        while len(made) < pairs:
            one, other = chance.randrange(len(rows)), chance.randrange(len(rows))
            if (number := one * len(rows) + other) not in made:
                made.add(number)
                (s, t), (u, v) = rows[one], rows[other]
                file.write(f"{s} {u}\t{t} {v}\n")


def anonymous() -> int:
    """Bytes of this process that no file backs."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


class Measured:
    """Time and memory of a block."""

    def __enter__(self) -> "Measured":
        self.peak = self.before = anonymous()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self._cpu
        self.wall = time.perf_counter() - self._wall
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self.peak = max(self.peak, anonymous())

    def facts(self) -> dict[str, float]:
        """Seconds and bytes."""
        return {"cpu": self.cpu, "wall": self.wall, "bytes": self.peak - self.before}


def read(folder: Path) -> Iterator[tuple[str, str]]:
    """The pairs as the commands read them."""
    return iterate_pairs(folder / "pairs.tsv")


def stage(name: str, folder: Path, updates: int) -> dict[str, Any]:
    """Run one stage and measure it."""
    if name in ("train", "checkpoint"):
        return train(folder, updates) if name == "train" else checkpoint(folder)
    from cutaway.config import TokenizerConfig
    from cutaway.training.prepare import learn_tokenizers

    result: Any = None
    work: dict[str, Callable[[], Any]] = {
        "read": lambda: sum(1 for _ in read(folder)),
        "clean": lambda: sum(1 for _ in Cleaner().passing(read(folder))),
        "tokenizer": lambda: learn_tokenizers(
            TokenizerConfig(), [Stream(Cleaner().passing(read(folder)))], seed=1
        ),
        "store": lambda: build_store(
            folder / "store",
            [Stream(Cleaner().passing(read(folder)))],
            Tokenizer.load(folder / "tokenizer.model"),
            max_length=256,
            long="skip",
        ),
        "open": lambda: open_store(folder / "store").lengths,
        "plan": lambda: len(BatchPlan(lengths, 4096, seed=1, epoch=1)),
        f"{PLAIN}learning": lambda: plain_learning(folder),
        f"{PLAIN}encoding": lambda: plain_encoding(folder),
    }
    if name == "plan":
        lengths = open_store(folder / "store", verify=False).lengths
    with Measured() as measured:
        result = work[name]()
    if name == "tokenizer":
        result[0].save(folder / "tokenizer.model")
    return measured.facts()


def lines(folder: Path) -> Iterator[str]:
    """Both sides of the pairs, as they stand in the file."""
    with (folder / "pairs.tsv").open(encoding="utf-8") as file:
        for line in file:
            yield from line.rstrip("\n").split("\t")


def plain_learning(folder: Path) -> None:
    """A vocabulary of the same size, from as many sentences, of text that nobody has cleaned."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines(folder),
        model_prefix=str(folder / "plain"),
        model_type="bpe",
        vocab_size=Tokenizer.load(folder / "tokenizer.model").vocabulary,
        input_sentence_size=1_000_000,
        shuffle_input_sentence=True,
        num_threads=os.cpu_count(),
        minloglevel=2,
    )


def plain_encoding(folder: Path) -> None:
    """Ids of the same text, 10,000 lines at a time, behind each other in one file."""
    import numpy as np
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "plain.model"))
    text = lines(folder)
    with (folder / "plain.ids").open("wb") as out:
        while some := list(islice(text, 10_000)):
            for ids in processor.encode(some, num_threads=os.cpu_count()):
                out.write(np.array(ids, dtype=np.uint16).tobytes())


def trainer_of(folder: Path, **changes: Any) -> Any:
    """A trainer on the store, as `cutaway train --store` makes it."""
    import torch

    from cutaway.config import RunConfig
    from cutaway.training.interrupts import Interrupts
    from cutaway.training.loop import Trainer
    from cutaway.training.prepare import prepare
    from cutaway.training.processes import Processes

    torch.set_num_threads(1)
    tables = {"data": {"store": str(folder / "store")}, **changes}
    config = RunConfig.from_tables(tables)
    return Trainer(
        prepare(config),
        config,
        processes=Processes(),
        device=torch.device("cpu"),
        watch=lambda event: None,
        interrupts=Interrupts(),
    )


def train(folder: Path, updates: int) -> dict[str, Any]:
    """Time to the first update, and memory as updates go by: it must not grow."""
    import cutaway.training.loop  # noqa: F401 - imported before the clock starts

    small = {"preset": "tiny", "d_model": 32, "heads": 2, "d_ff": 32, "encoder_layers": 1}
    settings = {"tokens": 1024, "log_every": 10**9}
    with Measured() as first:
        trainer = trainer_of(folder, model={**small, "decoder_layers": 1}, train=settings)
        work = trainer.work()
        batches, cursor, _ = next(work)
        trainer.update(batches, cursor)
    seen: list[int] = []
    with Measured() as rest:
        for _ in range(updates):
            batches, cursor, _ = next(work)
            trainer.update(batches, cursor)
            seen.append(anonymous())
    work.close()
    half = len(seen) // 2
    grown = max(seen[half:]) - max(seen[:half])
    return {**first.facts(), "updates": updates, "update_cpu": rest.cpu / updates, "grown": grown}


def checkpoint(folder: Path) -> dict[str, Any]:
    """A checkpoint of `base`: what stops training (the copy), and what runs alongside."""
    from cutaway.training.checkpoint import save_checkpoint
    from cutaway.training.outputs import copied

    trainer = trainer_of(folder, model={"preset": "base"}, train={"tokens": 64, "accumulate": 1})
    work = trainer.work()
    batches, cursor, _ = next(work)
    trainer.update(batches, cursor)
    work.close()
    state, groups = trainer.state()
    with Measured() as copying:
        groups = {group: copied(tensors) for group, tensors in groups.items()}
    size = sum(t.numel() * t.element_size() for group in groups.values() for t in group.values())
    with Measured() as writing:
        save_checkpoint(folder / "checkpoints", 1, {"progress": state}, groups)
    return {**copying.facts(), "written": size, "beside_cpu": writing.cpu}


def main() -> None:
    """Make the pairs, run every stage, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", help="TSV of pairs to put together")
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--folder", default="")
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--stage", default="")
    arguments = parser.parse_args()
    if arguments.stage:
        facts = stage(arguments.stage, Path(arguments.folder), arguments.updates)
        print(json.dumps(facts))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "pairs.tsv").is_file():
            recombined(Path(arguments.data), arguments.pairs, folder / "pairs.tsv")
        print("| stage | CPU s | s | MB | bytes per pair | also |")
        print("| --- | ---: | ---: | ---: | ---: | --- |", flush=True)
        for name in STAGES:
            command = [sys.executable, __file__, "--stage", name, "--folder", str(folder)]
            command += ["--updates", str(arguments.updates)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            facts = json.loads(printed.splitlines()[-1])
            also = {k: v for k, v in facts.items() if k not in ("cpu", "wall", "bytes")}
            rest = ", ".join(f"{key} {value:,.4g}" for key, value in also.items())
            print(
                f"| {name} | {facts['cpu']:.1f} | {facts['wall']:.1f} | {facts['bytes'] / 1e6:.0f} "
                f"| {facts['bytes'] / arguments.pairs:.0f} | {rest} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
