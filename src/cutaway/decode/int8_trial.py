"""The child process that tests int8 of CTranslate2: a small model, compared with float32.

    python int8_trial.py int8 cpu

It may die, where a processor lists instructions that its hypervisor forbids; its parent,
`system/trial.py`, reads the outcome.
"""

import sys
from pathlib import Path
from statistics import correlation
from types import SimpleNamespace
from typing import Any

WRONG = 3  # as system/trial.py expects it
NEAR = 0.9  # least correlation with float32: int8 measured 0.97 to 0.99, wrong products give 0
SHAPES = [(64, 5, 37), (128, 33, 41), (256, 17, 31)]  # width, tokens of source and target
VOCABULARY = 131


def scores(width: int, source: list[str], target: list[str], kind: str) -> list[float]:
    """log P of each target token, by CTranslate2 with weights of `kind`."""
    import ctranslate2
    import torch

    from cutaway.artifact.weights import arrays_of
    from cutaway.config import ModelConfig
    from cutaway.decode.ctranslate2_layout import model_files
    from cutaway.model import Transformer

    torch.manual_seed(1)
    config = ModelConfig(
        vocabulary=VOCABULARY, d_model=width, heads=2, d_ff=4 * width, encoder_layers=1,
        decoder_layers=1,
    )  # fmt: skip
    tokenizer: Any = SimpleNamespace(
        vocabulary=VOCABULARY, pieces=lambda ids: [f"piece{number}" for number in ids]
    )
    files = model_files(config, arrays_of(Transformer(config)), tokenizer, tokenizer)
    translator = ctranslate2.Translator("trial", files=files, compute_type=kind, intra_threads=1)
    (result,) = translator.score_batch([source], [target])
    return list(result.log_probs)


def main(kind: str, device: str) -> int:
    """Exit code: 0 where the log-probabilities follow those of float32, else WRONG."""
    for width, source_length, target_length in SHAPES:
        source = [f"piece{4 + (7 * n) % 127}" for n in range(source_length)]
        target = [f"piece{4 + (11 * n) % 127}" for n in range(target_length)]
        given = scores(width, source, target, kind)
        expected = scores(width, source, target, "float32")
        agreement = correlation(given, expected)
        if not agreement > NEAR:  # NaN is not
            sys.stderr.write(f"wrong result: correlation with float32 {agreement:.2f}\n")
            return WRONG
    return 0


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))  # where the parent found cutaway
    sys.exit(main(*sys.argv[1:]))
