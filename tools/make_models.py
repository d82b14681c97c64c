"""Train the models that the package carries: `python -m tools.make_models [--pair en-fr]`.

    python -m tools.make_models                         # on the package's own corpus alone
    python -m tools.make_models --everyday TATOEBA      # on Tatoeba, that corpus and a phrasebook

TATOEBA is a folder with eng-fra.train.tsv.gz, .val and .test, and eng-zho likewise.

An everyday model is trained twice: on Tatoeba and the package's corpus, then, from there and at
half the rate, with the phrasebook added (tools/phrasebook: names, places, greetings and what
else people type first, which is rare in Tatoeba; the everyday sentences of the tests are not in
it). `--first` names a folder with models of the first training, which are then not made again.

Every training has a fixed recipe and seed 1. Nothing is chosen by its BLEU on the test files, which
are read for metrics.json; the second recipe was settled after a look at the everyday sentences and
those of the lessons (docs/decisions.md). The weights are kept
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
from tools import phrasebook
from tools.measures import everyday_right, measures

SEED = 1
LARGEST = 8_000_000  # bytes of a folder
SNAPSHOTS = 3  # the beginning, a moment early on, the end: with the weights 7 MB


# 3.8 million parameters: 7.5 MB in half precision, so no snapshots are carried.
EVERYDAY: dict[str, dict[str, Any]] = {
    "model": {
        "preset": "tiny",
        "encoder_layers": 3,
        "decoder_layers": 3,
        "d_model": 192,
        "heads": 4,
        "d_ff": 512,
    },
    "train": {"seed": SEED, "log_every": 100},  # Muon, as every small model that begins anew
}


# The second training. It is validated once, at its end, for the validation file holds sentences of
# Tatoeba alone: the best of several by their BLEU would be the one that learnt least of the rest.
AGAIN: dict[str, Any] = {
    "tokens": 2048, "learning_rate": 0.001, "seed": SEED, "validate_every": 10**5,
    "log_every": 100,
}  # fmt: skip


@dataclass(frozen=True)
class First:
    """What differs between the pairs in the first training."""

    epochs: int
    dropout: float
    sample: float  # BPE-dropout
    own: float  # weight of the package's corpus, whose sentences are far more alike than Tatoeba's
    precision: str = "float32"  # bfloat16: 1.3 times as fast where the processor multiplies it


@dataclass(frozen=True)
class Second:
    """What differs in the second, where the phrasebook has a weight of 1."""

    epochs: int
    dropout: float
    tatoeba: float  # weights
    own: float


@dataclass(frozen=True)
class Everyday:
    """The recipe of a pair: Tatoeba has 150,100 with French, 25,965 with Chinese."""

    files: str  # how the names of the Tatoeba files begin
    first: First
    second: Second


PAIR = {
    "en-fr": Everyday(
        "eng-fra",
        First(epochs=6, dropout=0.1, sample=0.0, own=0.3),
        Second(epochs=5, dropout=0.1, tatoeba=0.15, own=0.15),
    ),
    "en-zh": Everyday(
        "eng-zho",
        First(epochs=50, dropout=0.2, sample=0.1, own=0.15, precision="bfloat16"),
        Second(epochs=6, dropout=0.2, tatoeba=0.5, own=0.15),
    ),
}

ATTRIBUTION = """
## Data

Trained on sentences of Tatoeba (https://tatoeba.org), as paired by https://www.manythings.org/anki,
licensed CC-BY 2.0 (https://creativecommons.org/licenses/by/2.0/fr/), by their many contributors,
together with the corpus of this package and a phrasebook of its own. The sentences of Tatoeba were
used unchanged but for cleaning.
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
    pair: str, tatoeba: Path, out: Path, work: Path, threads: int, updates: int, first: Path | None
) -> None:
    """Train one everyday model; `updates`: trainings of so many, to try the command."""
    recipe, once, again = PAIR[pair], PAIR[pair].first, PAIR[pair].second
    files = {
        split: tatoeba / f"{recipe.files}.{split}.tsv.gz" for split in ("train", "val", "test")
    }
    length = {"updates": updates, "epochs": 0} if updates else {}
    given = {"threads": threads} | length
    corpus = {"path": str(files["train"]), "val": str(files["val"]), "languages": pair}
    start = first / pair if first else work / f"{pair}-first"
    if not first and not finished(start):
        settings = {
            "tokenizer": {"vocabulary": 6500, "sample": once.sample},
            "model": EVERYDAY["model"] | {"dropout": once.dropout},
            "train": EVERYDAY["train"]
            | {"epochs": once.epochs, "precision": once.precision}
            | given,
            "data": {"sources": [corpus, {"embedded": pair, "weight": once.own}]},
        }
        cutaway.train(start, settings, watch=tell)
    phrases = work / f"phrasebook.{pair}.tsv"
    phrasebook.write(phrases, pair)
    trained = work / f"{pair}-everyday"
    if not finished(trained):
        settings = {
            "model": {"dropout": again.dropout},
            "train": AGAIN | {"start_from": str(start), "epochs": again.epochs} | given,
            "data": {
                "sources": [
                    corpus | {"weight": again.tatoeba},
                    {"embedded": pair, "weight": again.own},
                    {"path": str(phrases), "languages": pair},
                ]
            },
        }
        cutaway.train(trained, settings, watch=tell)
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
        "phrasebook_sha256": sha256(phrases),
        "first_training_sha256": sha256(start / "model.safetensors"),
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
    parser.add_argument("--first", type=Path, help="everyday: models of the first training")
    given = parser.parse_args()
    for pair in given.pair or PAIRS:
        if given.everyday:
            make_everyday(
                pair, given.everyday, given.out / pair, given.work, given.threads, given.updates,
                given.first,
            )  # fmt: skip
        else:
            make(pair, given.out / f"{DEMO}{pair}", given.work, given.threads)


if __name__ == "__main__":
    main()
