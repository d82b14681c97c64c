"""An exported CTranslate2 model says what the model says, and leaves it as it was."""

import json
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.decode import DecodeOptions, Special, Task, TorchEngine
from cutaway.errors import ExportError
from cutaway.export.ctranslate2 import export_ctranslate2
from cutaway.text import Tokenizer
from tests.export.helpers import fingerprint, phrases, random_folder, tokenizer

VARIANTS: list[dict[str, Any]] = [
    {"norm": "post"},
    {"norm": "pre"},
    {"norm": "pre", "activation": "gelu", "positions": "learned", "bias": False},
    {"head_width": 5, "heads": 3},
    {"tied": "none", "scale_embedding": False, "positions": "none"},
    {"tied": "output", "position_amplitude": True, "norm_epsilon": 1e-3},
]
SPECIAL = Special(Tokenizer.start, Tokenizer.end, (0, 1, 2, 4))


def opened(path: Path) -> Any:
    return ctranslate2.Translator(str(path), intra_threads=1)


def greedy(folder: ModelFolder, texts: list[str], limit: int) -> list[tuple[int, ...]]:
    tasks = [Task(tuple(folder.tokenizer.encode(text, end=True))) for text in texts]
    results = TorchEngine(folder.model).search(
        tasks, DecodeOptions(min_length=4, max_length=limit, no_repeat=1), SPECIAL
    )
    assert not any(result.near_tie for result in results), "the model is unsure: change its seed"
    return [result.hypotheses[0].ids for result in results]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_greedy_output_and_log_probabilities(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = random_folder(**changes)
    target = folder.target_tokenizer or folder.tokenizer
    export_ctranslate2(folder, tmp_path / "out")
    texts = phrases(23, seed=11)
    pieces = [folder.tokenizer.pieces(folder.tokenizer.encode(text)) for text in texts]
    translator = opened(tmp_path / "out")
    expected = greedy(folder, texts, 29)
    results = translator.translate_batch(
        pieces,
        beam_size=1,
        min_decoding_length=4,
        max_decoding_length=29,
        no_repeat_ngram_size=1,  # random models like to repeat themselves
        return_end_token=True,
    )
    assert [result.hypotheses[0] for result in results] == [target.pieces(ids) for ids in expected]
    assert len(set(expected)) > 11  # not one answer to everything

    bodies = [[number for number in ids if number != Tokenizer.end] for ids in expected]
    scored = translator.score_batch(pieces, [target.pieces(ids) for ids in bodies])
    for text, ids, score in zip(texts, bodies, scored, strict=True):
        source = torch.tensor([folder.tokenizer.encode(text, end=True)])
        with torch.inference_mode():
            logits = folder.model(source, torch.tensor([[Tokenizer.start, *ids]]))
        log_p = torch.log_softmax(logits[0], -1)
        wanted = log_p.gather(1, torch.tensor([*ids, Tokenizer.end])[:, None])[:, 0]
        # log p is a difference of numbers as large as the largest logit: 8 roundings of that
        assert (wanted - torch.tensor(score.log_probs)).abs().max() < 1e-6 * logits.abs().max()


@pytest.mark.parametrize("quantization", ["float32", "int8"])
def test_the_live_model_is_untouched(quantization: Any, tmp_path: Path) -> None:
    folder = random_folder()
    before = fingerprint(folder.model)
    export_ctranslate2(folder, tmp_path / "out", quantization=quantization)
    assert fingerprint(folder.model) == before


def test_int8_is_a_quarter_of_the_size_and_near_in_value(tmp_path: Path) -> None:
    folder = random_folder(d_model=64, d_ff=257, max_length=17)
    sizes = {}
    scores = {}
    pieces = [folder.tokenizer.pieces(folder.tokenizer.encode(text)) for text in phrases(7)]
    for quantization in ("float32", "int8"):
        path = tmp_path / quantization
        export_ctranslate2(folder, path, quantization=quantization)
        weights = (path / "model.bin").stat().st_size
        sizes[quantization] = weights - 4 * 2 * 1024 * 64  # without the two tables of positions
        result = opened(path).score_batch(pieces, pieces)
        scores[quantization] = torch.tensor([sum(each.log_probs) for each in result])
    assert sizes["int8"] < 0.35 * sizes["float32"]
    gap = (scores["int8"] - scores["float32"]).abs() / scores["float32"].abs()
    assert 0 < gap.max() < 0.25


def test_token_strings_and_conventions(tmp_path: Path) -> None:
    folder = random_folder()
    export_ctranslate2(folder, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["decoder_start_token"] == config["bos_token"] == "<start>"
    assert (config["eos_token"], config["unk_token"]) == ("<end>", "<unk>")
    assert config["add_source_eos"]
    assert not config["add_source_bos"]
    tokens = json.loads((tmp_path / "out" / "shared_vocabulary.json").read_text())
    assert tokens[:5] == ["<pad>", "<unk>", "<start>", "<end>", "<mask>"]
    assert tokens == folder.tokenizer.pieces(range(folder.tokenizer.vocabulary))
    kept = Tokenizer.load(tmp_path / "out" / "tokenizer.model")
    assert kept.fingerprint == folder.tokenizer.fingerprint


def test_a_vocabulary_for_each_side(tmp_path: Path) -> None:
    target = tokenizer("unigram")
    folder = random_folder(target=target, tied="none")
    export_ctranslate2(folder, tmp_path / "out")
    texts = phrases(7, seed=3)
    pieces = [folder.tokenizer.pieces(folder.tokenizer.encode(text)) for text in texts]
    results = opened(tmp_path / "out").translate_batch(
        pieces,
        beam_size=1,
        min_decoding_length=4,
        max_decoding_length=13,
        no_repeat_ngram_size=1,
        return_end_token=True,
    )
    expected = [target.pieces(ids) for ids in greedy(folder, texts, 13)]
    assert [result.hypotheses[0] for result in results] == expected
    assert (tmp_path / "out" / "target.model").is_file()


def test_a_fixed_language_puts_its_tag_before_every_source(tmp_path: Path) -> None:
    folder = random_folder(tokenizer("bpe", languages=("fr", "de")))
    export_ctranslate2(folder, tmp_path / "fixed", language="de")
    export_ctranslate2(folder, tmp_path / "open")
    pieces = [folder.tokenizer.pieces(folder.tokenizer.encode(text)) for text in phrases(5)]
    fixed = opened(tmp_path / "fixed").score_batch(pieces, pieces)
    tagged = opened(tmp_path / "open").score_batch([["<2de>", *each] for each in pieces], pieces)
    other = opened(tmp_path / "open").score_batch([["<2fr>", *each] for each in pieces], pieces)
    assert [each.log_probs for each in fixed] == [each.log_probs for each in tagged]
    assert [each.log_probs for each in fixed] != [each.log_probs for each in other]


def test_a_language_model(tmp_path: Path) -> None:
    folder = random_folder(family="decoder", norm="pre")
    export_ctranslate2(folder, tmp_path / "out")
    generator = ctranslate2.Generator(str(tmp_path / "out"), intra_threads=1)
    ids = [Tokenizer.start, *folder.tokenizer.encode(phrases(1)[0])]
    (result,) = generator.score_batch([folder.tokenizer.pieces(ids)])
    with torch.inference_mode():
        log_p = torch.log_softmax(folder.model(torch.tensor([ids]))[0], -1)
    wanted = log_p[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    assert (wanted - torch.tensor(result.log_probs)).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"family": "encoder"}, "family 'encoder'"),
        ({"attention": "local"}, "local attention"),
        ({"attention": "strided"}, "strided attention"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=reason):
        export_ctranslate2(random_folder(**changes), tmp_path / "out")
    assert not list(tmp_path.iterdir())
