"""Train the models that the package carries: `python -m tools.make_models [--pair en-fr]`.

One training per pair with the demo's recipe and seed 1, whatever comes out; nothing is chosen by
its result. The weights are kept in half precision, as the snapshots are; metrics.json tells what
they score, on which corpus, with which torch. On another processor the bits may differ: the
models in the repository are the ones that lessons and tests speak of.
"""

import argparse
from pathlib import Path

import torch

import cutaway
from cutaway.artifact.files import sha256
from cutaway.artifact.folder import read_model_folder, write_model_folder
from cutaway.artifact.places import finished
from cutaway.artifact.snapshots import read_index
from cutaway.cli.demo import RECIPE
from cutaway.corpus.embedded import PAIRS
from cutaway.data import CORPUS, MODELS
from tools.measures import measures

SEED = 1
SNAPSHOTS = 3  # the beginning, a moment early on, the end: with the weights 7 MB


def make(pair: str, out: Path, work: Path, threads: int) -> None:
    """Train one model in `work`, unless it is trained there already, and write its folder."""
    trained = work / pair
    if not finished(trained):
        train = {**RECIPE["train"], "seed": SEED, "threads": threads, "keep": SNAPSHOTS}
        cutaway.train(trained, {**RECIPE, "data": {"embedded": pair}, "train": train})
    folder = read_model_folder(trained)
    for parameter in folder.model.parameters():
        parameter.data = parameter.data.half().float()  # what the file will hold
    folder.metrics |= {
        **measures(cutaway.load(folder), pair),
        "corpus_sha256": sha256(CORPUS),
        "seed": SEED,
        "torch": torch.__version__.split("+")[0],
    }
    folder.card = ""
    folder.model.half()
    extras = {"log.jsonl": trained / "log.jsonl"}
    extras["snapshots/index.json"] = trained / "snapshots" / "index.json"
    for entry in read_index(trained / "snapshots"):
        extras[f"snapshots/{entry['file']}"] = trained / "snapshots" / entry["file"]
    write_model_folder(out, folder, extras)
    print(out, folder.metrics)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pair", choices=PAIRS, action="append", help="both unless given")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=MODELS, help="folder of the model folders")
    parser.add_argument("--work", type=Path, default=Path("runs"), help="folder of the trainings")
    arguments = parser.parse_args()
    for pair in arguments.pair or PAIRS:
        make(pair, arguments.out / pair, arguments.work, arguments.threads)


if __name__ == "__main__":
    main()
