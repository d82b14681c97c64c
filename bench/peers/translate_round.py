"""One contestant of `make bench-translate`: a model over sentences, text in, text out.

    python bench/peers/translate_round.py SYSTEM MODEL SOURCES REFERENCES BEAM BATCH

BATCH 0: all sentences at once; 1: one after the other, as a reader types them.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serve_rounds import serve


def cutaway_engine(model: str, beam: int, quantization: Any) -> Callable[[list[str]], list[str]]:
    """This package, as `cutaway translate` uses it."""
    from cutaway.artifact.folder import open_model_folder
    from cutaway.data import located
    from cutaway.decode import CTranslate2Engine, TorchEngine, Translator

    folder = open_model_folder(located(model))
    if quantization == "torch":
        translator = Translator(folder, TorchEngine(folder.model))
    else:
        translator = Translator(folder, CTranslate2Engine(folder, quantization=quantization))
    options: dict[str, Any] = {"beam": beam, "n_best": 1, "costs": False}
    return lambda texts: [each.text for each in translator.translate(texts, **options)]


def plain_ctranslate2(
    model: str, beam: int, kind: str, *, tuned: bool
) -> Callable[[list[str]], list[str]]:
    """CTranslate2 on an exported folder: as its own examples call it, or at its best settings."""
    import os

    import ctranslate2
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{model}/tokenizer.model")
    threads: dict[str, Any] = {"inter_threads": os.cpu_count(), "intra_threads": 1} if tuned else {}
    translator = ctranslate2.Translator(model, compute_type=kind, **threads)
    batch: dict[str, Any] = (
        {"max_batch_size": 2048, "batch_type": "tokens"} if tuned else {"max_batch_size": 64}
    )

    def translate(texts: list[str]) -> list[str]:
        sources = pieces.encode(texts, out_type=str)
        results = translator.translate_batch(
            sources, beam_size=beam, max_decoding_length=200, **batch
        )
        return [pieces.decode_pieces(result.hypotheses[0]) for result in results]

    return translate


def huggingface(model: str, beam: int) -> Callable[[list[str]], list[str]]:
    """`generate` of transformers on an exported folder, 64 sentences of like length at a time."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    net = transformers.AutoModelForSeq2SeqLM.from_pretrained(model).eval()

    def translate(texts: list[str]) -> list[str]:
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = [""] * len(texts)
        with torch.inference_mode():
            for start in range(0, len(order), 64):
                places = order[start : start + 64]
                batch = tokenizer(
                    [texts[place] for place in places], return_tensors="pt", padding=True
                )
                ids = net.generate(**batch, num_beams=beam, do_sample=False, max_new_tokens=200)
                outputs = tokenizer.batch_decode(ids, skip_special_tokens=True)
                for place, text in zip(places, outputs, strict=True):
                    found[place] = text
        return found

    return translate


def main() -> None:
    """Translate all sources whenever asked, and tell BLEU where sacreBLEU is installed."""
    system, model, sources, references, beam, batch = sys.argv[1:]
    if system in ("float32", "int8", "torch"):
        translate = cutaway_engine(model, int(beam), system)
    elif system == "huggingface":
        translate = huggingface(model, int(beam))
    else:
        kind, _, how = system.removeprefix("ctranslate2-").partition("-")
        translate = plain_ctranslate2(model, int(beam), kind, tuned=how == "tuned")
    texts = Path(sources).read_text(encoding="utf-8").splitlines()
    wanted = Path(references).read_text(encoding="utf-8").splitlines()
    found: list[str] = []

    def work() -> float:
        if int(batch) == 1:
            found[:] = [translate([text])[0] for text in texts]
        else:
            found[:] = translate(texts)
        return float(len(texts))

    def facts() -> dict[str, Any]:
        try:
            import sacrebleu
        except ImportError:
            return {"BLEU": ""}
        bleu = sacrebleu.corpus_bleu(found, [wanted], force=True)
        return {"BLEU": f"{bleu.score:.2f}"}

    serve(work, facts)


if __name__ == "__main__":
    main()
