"""`make bench-translate`: this package, CTranslate2 used plainly, Hugging Face; in turns.

    python bench/translate_peers.py [--folder en-fr] [--source F --target F] [--sentences 1000]
        [--rounds 5] [--beams 1 5] [--without huggingface]

Text in, text out, tokenizing included; the same weights for all, exported from the folder. Without
files, sentences of the embedded corpus are translated. BLEU stands next to the speed: a faster one
of another output is another system.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from cutaway.artifact.folder import read_model_folder
from cutaway.corpus import read_pairs
from cutaway.corpus.embedded import embedded
from cutaway.data import located
from cutaway.export.ctranslate2 import export_ctranslate2
from cutaway.export.huggingface import export_huggingface
from side_by_side import Contestant, environment, gemm, interleaved, table

ROUND = str(Path(__file__).parent / "peers" / "translate_round.py")
PLAIN = "CTranslate2, its defaults"
SYSTEMS = {
    PLAIN: "ctranslate2-float32",
    "CTranslate2, one worker per core": "ctranslate2-float32-tuned",
    "CTranslate2 int8, one worker per core": "ctranslate2-int8-tuned",
    "Hugging Face generate": "huggingface",
    "cutaway": "float32",
    "cutaway int8": "int8",
    "cutaway, torch engine": "torch",
}


def main() -> None:
    """Measure and print a table per beam and batch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default="en-fr")
    parser.add_argument("--source", default="")
    parser.add_argument("--target", default="")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--single", type=int, default=50, help="sentences of the tables of batch 1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 5])
    parser.add_argument("--without", nargs="*", default=[], help="systems left out, as huggingface")
    arguments = parser.parse_args()
    if arguments.source:
        pairs = read_pairs((arguments.source, arguments.target), "text")
    else:
        pairs = embedded(arguments.folder, "train")
    pairs = [(s, t) for s, t in pairs if s and t][: arguments.sentences]
    folder = read_model_folder(located(arguments.folder))
    print(
        f"{len(pairs)} sentences, {len(set(pairs))} different, {os.cpu_count()} processors, "
        f"matrix product {gemm():.0f} GFLOP/s, load before {os.getloadavg()[0]:.1f}\n"
    )
    with tempfile.TemporaryDirectory(prefix="cutaway-bench-") as scratch:
        place = Path(scratch)
        export_ctranslate2(folder, place / "ctranslate2")
        pythons = {"": Path(sys.executable)}
        if "huggingface" not in arguments.without:
            found = environment("huggingface", ["transformers==5.22.2", "sentencepiece"])
            if found is not None:
                pythons["huggingface"] = found
                export_huggingface(folder, place / "huggingface")
        for single in (False, True):
            some = pairs[: arguments.single] if single else pairs
            name = "single" if single else "all"
            sources, references = place / f"{name}.source", place / f"{name}.target"
            sources.write_text("".join(f"{s}\n" for s, _ in some), encoding="utf-8")
            references.write_text("".join(f"{t}\n" for _, t in some), encoding="utf-8")
            for beam in arguments.beams:
                contestants = []
                for label, system in SYSTEMS.items():
                    if system in arguments.without or (
                        system == "huggingface" and "huggingface" not in pythons
                    ):
                        continue
                    model = {"ctranslate2": "ctranslate2", "huggingface": "huggingface"}.get(
                        system.partition("-")[0]
                    )
                    command = [
                        str(pythons["huggingface" if system == "huggingface" else ""]),
                        ROUND,
                        system,
                        str(place / model) if model else arguments.folder,
                        str(sources),
                        str(references),
                        str(beam),
                        str(int(single)),
                    ]
                    contestants.append(Contestant(label, command))
                kept = interleaved(contestants, arguments.rounds)
                how = "one at a time" if single else "all at once"
                print(f"### {'greedy' if beam == 1 else f'beam {beam}'}, {how}\n")
                print(table(contestants, "sentences/s", PLAIN, kept) + "\n", flush=True)


if __name__ == "__main__":
    main()
