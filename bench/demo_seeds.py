"""What holds of the demo whatever its seed: python bench/demo_seeds.py --seeds 1 2 3 4 5

Each seed trains the demo anew (the recipe of `cutaway demo`), then test sentences, the sentences in
the training data, the unseen ones and the order of number words are measured. The rows are added to
src/cutaway/data/demo_seeds.json, which the lesson on words as directions reads, and the table is
printed as docs/benchmarks.md has it. A seed that is there already is not trained again; that of the
model in the package is measured on it.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.make_models import SEED
from tools.measures import measures

import cutaway
from cutaway.artifact.files import sha256, write_json
from cutaway.cli.demo import RECIPE
from cutaway.corpus.embedded import PAIRS
from cutaway.data import CORPUS, SEEDS, demo_model


def row(pair: str, seed: int, threads: int) -> dict[str, Any]:
    """Train one seed and measure it; the model of the package is one of them."""
    if seed == SEED:
        return {"pair": pair, "seed": seed, **measures(cutaway.load(demo_model(pair)), pair)}
    with tempfile.TemporaryDirectory() as place:
        train = {**RECIPE["train"], "seed": seed, "threads": threads, "keep": 0}
        out = Path(place) / "model"
        cutaway.train(out, {**RECIPE, "data": {"embedded": pair}, "train": train})
        return {"pair": pair, "seed": seed, **measures(cutaway.load(out), pair)}


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| pair | seed | exact test sentences | in training | unseen | along cats − cat "
        "| along the mean plural | single nouns in order |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- | ---: |",
    ]
    for one in rows:
        words = one["number_words"]
        share = 100 * one["exact_test"] / one["sentences_test"]
        lines.append(
            f"| {one['pair']} | {one['seed']} | {share:.1f} % "
            f"| {one['right_in_training']} of {one['sentences_in_training']} "
            f"| {one['right_unseen']} of {one['sentences_unseen']} "
            f"| {ordered(words['along_cats_minus_cat'])} "
            f"| {ordered(words['along_mean_plural'])} "
            f"| {words['nouns_in_order']} of {words['nouns']} |"
        )
    return "\n".join(lines)


def ordered(values: list[float]) -> str:
    """The four numbers from the lowest to the highest: "1 < 2 < 4 < 3"."""
    return " < ".join(str(1 + place) for place in sorted(range(4), key=values.__getitem__))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pair", choices=PAIRS, default="en-fr")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=SEEDS)
    arguments = parser.parse_args()
    known = json.loads(arguments.out.read_text("utf-8")) if arguments.out.exists() else {}
    if known.get("corpus_sha256") != sha256(CORPUS):
        known = {"corpus_sha256": sha256(CORPUS), "rows": []}
    for seed in arguments.seeds:
        if not any((one["pair"], one["seed"]) == (arguments.pair, seed) for one in known["rows"]):
            known["rows"].append(row(arguments.pair, seed, arguments.threads))
            known["rows"].sort(key=lambda one: (one["pair"], one["seed"]))
            write_json(arguments.out, known)
    print(table(known["rows"]))


if __name__ == "__main__":
    main()
