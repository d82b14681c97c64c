"""transformers, offline and without code of ours, loads an export and writes the same."""

from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.decode import DecodeOptions, Task, TorchEngine, Translator
from cutaway.export.huggingface import export_huggingface
from cutaway.text import Tokenizer
from tests.export.helpers import phrases, random_folder, tokenizer, trained_folder
from tests.interop.conftest import Ask

pytestmark = pytest.mark.interop

STRANGE = ["Zażółć <end> gęślą 猫 <0x41>!", "  two  spaces ", "ÀÉ <unk> 'x' a < b > c", "\ttab"]


def asked(folder: ModelFolder, path: Path, ask: Ask, **changes: Any) -> Any:
    target = folder.target_tokenizer or folder.tokenizer
    body = target.encode("le chat voit")
    request = {
        "folder": str(path),
        "causal": folder.model.encoder is None,
        "texts": phrases(11, seed=8) + STRANGE,
        "source": folder.tokenizer.encode(phrases(1)[0], end=True),
        "target": [Tokenizer.start, *body],
        "limit": 17,
        **changes,
    }
    answer = ask("huggingface", "run_huggingface.py", request)
    assert answer["report"] == {}, "weights missing, unused or of another shape"
    prompt = torch.tensor([request["target"]])
    with torch.inference_mode():
        if request["causal"]:
            expected = folder.model(prompt)[0]
        else:
            expected = folder.model(torch.tensor([request["source"]]), prompt)[0]
    for logits in (answer["logits"], answer["repeated"]):
        torch.testing.assert_close(torch.tensor(logits), expected, atol=3e-5, rtol=0)
    return answer | {"request": request}


def same_greedy(folder: ModelFolder, answer: Any, language: str | None = None) -> None:
    texts = answer["request"]["texts"]
    encoded = [folder.tokenizer.encode(text, end=True, language=language) for text in texts]
    assert answer["encoded"] == encoded
    special = Translator(folder).special
    results = TorchEngine(folder.model).search(
        [Task(tuple(ids)) for ids in encoded], DecodeOptions(max_length=17), special
    )
    certain = 0
    for result, written in zip(results, answer["written"], strict=True):
        if not result.near_tie:
            certain += 1
            while written[-1] == Tokenizer.pad:
                written.pop()
            assert written == [Tokenizer.start, *result.hypotheses[0].ids]
    assert certain > len(texts) / 2


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_trained_translator(norm: Any, tmp_path: Path, ask: Ask) -> None:
    folder = trained_folder(norm)
    export_huggingface(folder, tmp_path / "out")
    answer = asked(folder, tmp_path / "out", ask)
    same_greedy(folder, answer)
    assert answer["texts"] == [folder.tokenizer.decode(ids) for ids in answer["written"]]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"norm": "post", "tied": "none", "bias": False}, "MarianMTModel"),
        (
            {"norm": "pre", "activation": "gelu", "positions": "learned", "bias": False},
            "PegasusForConditionalGeneration",
        ),
        ({"norm": "pre", "scale_embedding": False}, "PegasusForConditionalGeneration"),
    ],
)
def test_other_shapes(changes: dict[str, Any], name: str, tmp_path: Path, ask: Ask) -> None:
    folder = random_folder(**changes)
    export_huggingface(folder, tmp_path / "out")
    answer = asked(folder, tmp_path / "out", ask)
    assert answer["class"] == name
    same_greedy(folder, answer)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_tokenizers_cut_alike(kind: Any, tmp_path: Path, ask: Ask) -> None:
    cut = tokenizer(kind, languages=("fr", "de"), lowercase=True)
    folder = random_folder(cut)
    export_huggingface(folder, tmp_path / "out", language="de")
    same_greedy(folder, asked(folder, tmp_path / "out", ask), language="de")


def test_a_vocabulary_for_each_side(tmp_path: Path, ask: Ask) -> None:
    folder = random_folder(target=tokenizer("unigram"), tied="output", norm="post")
    export_huggingface(folder, tmp_path / "out")
    answer = asked(folder, tmp_path / "out", ask, texts=phrases(11, seed=8))
    assert answer["class"] == "MarianMTModel"
    same_greedy(folder, answer)


@pytest.mark.parametrize(("norm", "tied"), [("pre", "all"), ("post", "none")])
def test_a_language_model(norm: str, tied: str, tmp_path: Path, ask: Ask) -> None:
    folder = random_folder(family="decoder", norm=norm, tied=tied, output_bias=False)
    export_huggingface(folder, tmp_path / "out")
    answer = asked(folder, tmp_path / "out", ask)
    texts = answer["request"]["texts"]
    assert answer["encoded"] == [folder.tokenizer.encode(text, start=True) for text in texts]
    ids = list(answer["request"]["target"])
    forbidden = torch.tensor([0, 1, 2, 4])
    with torch.inference_mode():
        for _ in range(17):
            logits = folder.model(torch.tensor([ids]))[0, -1]
            logits[forbidden] = -torch.inf
            ids.append(int(logits.argmax()))
            if ids[-1] == Tokenizer.end:
                break
    assert answer["written"] == [ids]
