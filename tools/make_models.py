"""Train the models that the package carries: `python -m tools.make_models [--pair en-fr]`.

    python -m tools.make_models                         # on the package's own corpus alone
    python -m tools.make_models --everyday TATOEBA      # on Tatoeba and the package's corpus

TATOEBA is a folder with eng-fra.train.tsv.gz, .val and .test, and eng-zho likewise.

One training per pair and kind, with a fixed recipe and seed 1, whatever comes out; nothing is
chosen by its result on the test files, which are read once, for metrics.json. The weights are kept
in half precision, as the snapshots are; metrics.json tells what they score, on which corpus, with
which torch. On another processor the bits may differ: the models in the repository are the ones
that lessons and tests speak of.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import cutaway
from cutaway.artifact.files import sha256
from cutaway.artifact.folder import ModelFolder, read_model_folder, write_model_folder
from cutaway.artifact.places import finished
from cutaway.artifact.snapshots import read_index
from cutaway.cli.demo import RECIPE
from cutaway.corpus.embedded import PAIRS
from cutaway.corpus.reading import read_pairs
from cutaway.data import CORPUS, DEMO, MODELS
from cutaway.errors import CutawayError
from tools.measures import everyday_right, measures

SEED = 1
LARGEST = 8_000_000  # bytes of a folder
SNAPSHOTS = 3  # the beginning, a moment early on, the end: with the weights 7 MB


# 3.8 million parameters: 7.5 MB in half precision, so no snapshots are carried.
EVERYDAY: dict[str, dict[str, Any]] = {
    "model": {
        "preset": "tiny", "encoder_layers": 3, "decoder_layers": 3, "d_model": 192, "heads": 4,
        "d_ff": 512,
    },
    "train": {"tokens": 2048, "learning_rate": 0.002, "seed": SEED, "average": 5, "log_every": 100},
}  # fmt: skip


@dataclass(frozen=True)
class Everyday:
    """What differs between the pairs: Tatoeba has 150,100 with French, 25,965 with Chinese."""

    files: str  # how the names of the Tatoeba files begin
    epochs: int
    dropout: float
    sample: float  # BPE-dropout
    own: float  # weight of the package's corpus, whose sentences are far more alike than Tatoeba's


PAIR = {
    "en-fr": Everyday("eng-fra", epochs=8, dropout=0.1, sample=0.0, own=0.3),
    "en-zh": Everyday("eng-zho", epochs=28, dropout=0.3, sample=0.1, own=0.15),
}

ATTRIBUTION = """
## Data

Trained on sentences of Tatoeba (https://tatoeba.org), as paired by https://www.manythings.org/anki,
licensed CC-BY 2.0 (https://creativecommons.org/licenses/by/2.0/fr/), by their many contributors,
together with the corpus of this package. The sentences were used unchanged but for cleaning.
"""


def make(pair: str, out: Path, work: Path, threads: int) -> None:
    """Train one model in `work`, unless it is trained there already, and write its folder."""
    trained = work / pair
    if not finished(trained):
        train = {**RECIPE["train"], "seed": SEED, "threads": threads, "keep": SNAPSHOTS}
        cutaway.train(trained, {**RECIPE, "data": {"embedded": pair}, "train": train})
    folder = halved(trained)
    folder.metrics |= measures(cutaway.load(folder), pair) | origin()
    extras = {"log.jsonl": trained / "log.jsonl"}
    extras["snapshots/index.json"] = trained / "snapshots" / "index.json"
    for entry in read_index(trained / "snapshots"):
        extras[f"snapshots/{entry['file']}"] = trained / "snapshots" / entry["file"]
    write(out, folder, extras)


def make_everyday(
    pair: str, tatoeba: Path, out: Path, work: Path, threads: int, updates: int = 0
) -> None:
    """Train one everyday model; `updates`: a run of so many, to try the command."""
    recipe = PAIR[pair]
    files = {
        split: tatoeba / f"{recipe.files}.{split}.tsv.gz" for split in ("train", "val", "test")
    }
    trained = work / f"{pair}-everyday"
    if not finished(trained):
        length = {"updates": updates, "epochs": 0} if updates else {}
        settings = {
            "tokenizer": {"vocabulary": 6500, "sample": recipe.sample},
            "model": EVERYDAY["model"] | {"dropout": recipe.dropout},
            "train": EVERYDAY["train"] | {"epochs": recipe.epochs, "threads": threads} | length,
        }
        data = {
            "sources": [
                {"path": str(files["train"]), "val": str(files["val"]), "languages": pair},
                {"embedded": pair, "weight": recipe.own},
            ]
        }
        cutaway.train(trained, {**settings, "data": data}, watch=tell)
    folder = halved(trained)
    translator = cutaway.load(folder)
    scores = cutaway.evaluate(translator, read_pairs(files["test"])).scores
    right, sentences = everyday_right(translator, pair)
    folder.metrics |= {
        "tatoeba_test_bleu": round(scores.bleu.score, 2),
        "tatoeba_test_chrf": round(scores.chrf.score, 2),
        "bleu_signature": scores.bleu.signature,
        "everyday_right": right,
        "everyday_sentences": sentences,
        **measures(translator, pair),
        **{f"tatoeba_{split}_sha256": sha256(file) for split, file in files.items()},
        **origin(),
    }
    write(out, folder, {"log.jsonl": trained / "log.jsonl"}, ATTRIBUTION)


def halved(trained: Path) -> ModelFolder:
    """A trained folder with the weights that a file of half precision will hold."""
    folder = read_model_folder(trained)
    for parameter in folder.model.parameters():
        parameter.data = parameter.data.half().float()
    return folder


def origin() -> dict[str, Any]:
    """What the model was made of."""
    return {
        "corpus_sha256": sha256(CORPUS),
        "seed": SEED,
        "torch": torch.__version__.split("+")[0],
    }


def write(out: Path, folder: ModelFolder, extras: dict[str, Path], attribution: str = "") -> None:
    """Write a folder of half-precision weights, with its card; refuse one that is too large."""
    folder.card = ""
    folder.model.half()
    write_model_folder(out, folder, extras)
    if attribution:  # the card is made from the folder; then written once more, with the source
        folder.card = (out / "README.md").read_text(encoding="utf-8") + attribution
        write_model_folder(out, folder, extras)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    if size > LARGEST:
        raise CutawayError(f"{out} has {size:,} bytes; expected at most {LARGEST:,}")
    print(out, f"{size:,} bytes", folder.metrics)


def tell(event: object) -> None:
    """Print notes and validations as they come."""
    if type(event).__name__ in ("Note", "Validated"):
        print(event, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pair", choices=PAIRS, action="append", help="both unless given")
    parser.add_argument("--everyday", type=Path, metavar="TATOEBA", help="folder of the corpus")
    parser.add_argument("--updates", type=int, default=0, help="everyday: a short run, to try it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=MODELS, help="folder of the model folders")
    parser.add_argument("--work", type=Path, default=Path("runs"), help="folder of the trainings")
    given = parser.parse_args()
    for pair in given.pair or PAIRS:
        if given.everyday:
            make_everyday(
                pair, given.everyday, given.out / pair, given.work, given.threads, given.updates
            )
        else:
            make(pair, given.out / f"{DEMO}{pair}", given.work, given.threads)


if __name__ == "__main__":
    main()
