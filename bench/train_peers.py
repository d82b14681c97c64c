"""`make bench-train`: updates of this package, torch.nn.Transformer and Hugging Face, in turns.

    python bench/train_peers.py [--source F --target F] [--sizes tiny base] [--threads 2]
        [--rounds 9] [--vocabulary 10000]

All get the same batches (those of `cutaway train`: bucketed, 4,096 tokens), sizes, dropout and
optimizer. The share of the matrix product is computed from multiply-adds of one update, forward and
backward. Data loading and validation are not in these figures.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import torch

from cutaway.config import ModelConfig, RunConfig
from cutaway.corpus import BatchPlan, collate
from cutaway.training.prepare import prepare
from side_by_side import Contestant, environment, gemm, interleaved, table

ROUND = str(Path(__file__).parent / "peers" / "train_round.py")
BATCHES = 24


def flops_per_token(config: ModelConfig, length: float) -> float:
    """Multiply-adds × 2 × 3 (forward, and twice that backward) of one target token.

    A source token of its own is counted with it: both sides have about the same length.
    """
    width, inner = config.d_model, config.d_ff
    attention = 4 * width * width + 2 * length * width
    feed_forward = 2 * width * inner
    encoder = config.encoder_layers * (attention + feed_forward)
    decoder = config.decoder_layers * (2 * attention + feed_forward)
    return 6 * (encoder + decoder + width * config.output_vocabulary)


def main() -> None:
    """Measure and print a table per size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", default="")
    parser.add_argument("--target", default="")
    parser.add_argument("--sizes", nargs="*", default=["tiny", "base"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--vocabulary", type=int, default=10000)
    parser.add_argument("--without", nargs="*", default=[], help="left out, as marian")
    arguments = parser.parse_args()
    files = {"source": arguments.source, "target": arguments.target}
    config = RunConfig.from_tables(
        {
            "data": files if arguments.source else {"embedded": "en-fr"},
            "tokenizer": {"vocabulary": arguments.vocabulary},
        }
    )
    prepared = prepare(config)
    torch.set_num_threads(arguments.threads)
    plan = BatchPlan(prepared.train.lengths, config.train.tokens, seed=1)
    chosen = [collate(prepared.train, plan[number]) for number in range(min(BATCHES, len(plan)))]
    vocabulary = prepared.model.vocabulary
    contestants = {
        "torch.nn.Transformer": ("torch", Path(sys.executable)),
        "cutaway": ("cutaway", Path(sys.executable)),
    }
    if "marian" not in arguments.without:
        found = environment("huggingface", ["transformers==5.22.2", "sentencepiece"])
        if found is not None:
            contestants["Hugging Face Marian"] = ("marian", found)
    with tempfile.TemporaryDirectory(prefix="cutaway-bench-") as scratch:
        data = Path(scratch) / "batches.json"
        rows = [
            {"source": batch.source.tolist(), "target": batch.target.tolist()} for batch in chosen
        ]
        data.write_text(json.dumps({"vocabulary": vocabulary, "batches": rows}))
        length = statistics.mean(batch.source.shape[1] for batch in chosen)
        for size in arguments.sizes:
            limit = gemm()
            running = [
                Contestant(
                    name, [str(python), ROUND, system, str(data), size, str(arguments.threads)]
                )
                for name, (system, python) in contestants.items()
            ]
            kept = interleaved(running, arguments.rounds)
            ours = statistics.median(next(c.rates for c in running if c.name == "cutaway"))
            flops = flops_per_token(ModelConfig.preset(size, vocabulary=vocabulary), length)
            print(
                f"### {size}, vocabulary {vocabulary:,}, {arguments.threads} threads, load before "
                f"{os.getloadavg()[0]:.1f}\n\nmatrix product {limit:.0f} GFLOP/s; cutaway "
                f"{ours * flops / limit / 1e9:.0%} of it\n"
            )
            print(
                table(running, "target tokens/s", "torch.nn.Transformer", kept) + "\n", flush=True
            )


if __name__ == "__main__":
    main()
