"""The tokenizer as `transformers` loads it: tokenizer.json, cut and joined by its own engine.

A model with a vocabulary for each side gets the sentencepiece files of a Marian tokenizer instead.
"""

from pathlib import Path
from typing import Any

from cutaway.artifact.files import write_json
from cutaway.artifact.folder import ModelFolder
from cutaway.errors import ExportError
from cutaway.text import Tokenizer
from cutaway.text.model_file import BYTES, SPACE, ModelFile

NEVER = -1e6  # log-probability of a piece that no text may spell


def write_tokenizer(out: Path, folder: ModelFolder, language: str | None) -> None:
    """Write the files that AutoTokenizer reads."""
    for tokenizer in (folder.tokenizer, folder.target_tokenizer):
        if tokenizer is not None and tokenizer.kind == "word":
            raise ExportError(
                "this model has a word tokenizer, which transformers would cut differently; "
                "train with bpe, unigram or char"
            )
    special = _special(folder.tokenizer)
    settings: dict[str, Any] = {
        "pad_token": special[Tokenizer.pad],
        "unk_token": special[Tokenizer.unk],
        "bos_token": special[Tokenizer.start],
        "eos_token": special[Tokenizer.end],
        "mask_token": special[Tokenizer.mask],
        "model_max_length": folder.model.config.max_length,
        "clean_up_tokenization_spaces": False,
    }
    if folder.target_tokenizer is not None:
        _write_marian(out, folder, settings)
        return
    # No text spells a special symbol, except a language's tag where the caller chooses it.
    settings["split_special_tokens"] = language is not None or not folder.tokenizer.languages
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    settings["model_input_names"] = ["input_ids", "attention_mask"]
    write_json(out / "tokenizer_config.json", settings)
    write_json(
        out / "tokenizer.json",
        tokenizer_json(folder.tokenizer, _template(folder, language)),
    )


def tokenizer_json(tokenizer: Tokenizer, template: list[str]) -> dict[str, Any]:
    """The steps of our tokenizer, in the words of the `tokenizers` library."""
    lower = [{"type": "Lowercase"}] if tokenizer.lowercase else []
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number, text in _special(tokenizer).items()
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                *lower,
                {"type": "Prepend", "prepend": SPACE},
                {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
            ],
        },
        "pre_tokenizer": _pre_tokenizer(tokenizer),
        "post_processor": _post_processor(tokenizer, template),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": _model(tokenizer),
    }


def _special(tokenizer: Tokenizer) -> dict[int, str]:
    """Id → text of the symbols that are no part of a text."""
    tags = list(tokenizer.tags)
    numbers = sorted({*range(Tokenizer.mask + 1), *tags})
    return dict(zip(numbers, tokenizer.pieces(numbers), strict=True))


def _template(folder: ModelFolder, language: str | None) -> list[str]:
    """What is put around a text; "" stands for the text."""
    symbols = _special(folder.tokenizer)
    if folder.model.encoder is None:
        return [symbols[Tokenizer.start], ""]
    tag = [] if language is None else [symbols[folder.tokenizer.tag(language)]]
    return [*tag, "", symbols[Tokenizer.end]]


def _post_processor(tokenizer: Tokenizer, template: list[str]) -> dict[str, Any]:
    numbers = {text: number for number, text in _special(tokenizer).items()}

    def steps(texts: dict[str, int]) -> list[dict[str, Any]]:
        name, kind = next(iter(texts.items()))
        return [
            {"SpecialToken": {"id": part, "type_id": 0}}
            if part
            else {"Sequence": {"id": name, "type_id": kind}}
            for part in template
        ]

    return {
        "type": "TemplateProcessing",
        "single": steps({"A": 0}),
        "pair": steps({"A": 0}) + steps({"B": 1}),
        "special_tokens": {
            part: {"id": part, "ids": [numbers[part]], "tokens": [part]}
            for part in template
            if part
        },
    }


def _pre_tokenizer(tokenizer: Tokenizer) -> dict[str, Any] | None:
    """Cut behind every "<" where no learnt piece spans it, so that no text spells a special piece.

    The unigram engine weighs every piece of the vocabulary, and prefers even `NEVER` to a character
    it does not know.
    """
    pieces = tokenizer.pieces(range(tokenizer.vocabulary))
    spanned = any("<" in text[:-1] for text in pieces if text not in _unspoken(tokenizer))
    if tokenizer.kind != "unigram" or spanned:
        return None
    return {
        "type": "Split",
        "pattern": {"String": "<"},
        "behavior": "MergedWithPrevious",
        "invert": False,
    }


def _unspoken(tokenizer: Tokenizer) -> set[str]:
    """Pieces that stand for themselves only and never occur in text."""
    return {*_special(tokenizer).values(), *BYTES}


def _model(tokenizer: Tokenizer) -> dict[str, Any]:
    """Pieces with their scores (unigram) or with the merges that build them (bpe; char: none)."""
    pieces = ModelFile.from_bytes(tokenizer.to_bytes()).pieces
    unspoken = _unspoken(tokenizer)
    if tokenizer.kind == "unigram":
        return {
            "type": "Unigram",
            "unk_id": Tokenizer.unk,
            "vocab": [[p.text, NEVER if p.text in unspoken else p.score] for p in pieces],
            "byte_fallback": True,
        }
    numbers = {piece.text: number for number, piece in enumerate(pieces)}
    merges: list[tuple[float, int, int, list[str]]] = []
    for piece in pieces if tokenizer.kind == "bpe" else ():
        if piece.text in unspoken:
            continue
        for at in range(1, len(piece.text)):
            left, right = piece.text[:at], piece.text[at:]
            if {left, right} <= numbers.keys() and not {left, right} & unspoken:
                merges.append((-piece.score, numbers[left], numbers[right], [left, right]))
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": pieces[Tokenizer.unk].text,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": numbers,
        "merges": [pair for *_, pair in sorted(merges, key=lambda merge: merge[:3])],
    }


def _write_marian(out: Path, folder: ModelFolder, settings: dict[str, Any]) -> None:
    """Two sentencepiece files, and the id of every piece of either."""
    assert folder.target_tokenizer is not None
    sides = {
        ("source.spm", "vocab.json"): folder.tokenizer,
        ("target.spm", "target_vocab.json"): folder.target_tokenizer,
    }
    for (file, vocabulary), tokenizer in sides.items():
        (out / file).write_bytes(tokenizer.to_bytes())
        texts = tokenizer.pieces(range(tokenizer.vocabulary))
        write_json(out / vocabulary, {text: number for number, text in enumerate(texts)})
    source, target = folder.languages or (None, None)
    write_json(
        out / "tokenizer_config.json",
        {
            **{name: value for name, value in settings.items() if "mask" not in name},
            "tokenizer_class": "MarianTokenizer",
            "separate_vocabs": True,
            "source_lang": source,
            "target_lang": target,
        },
    )
