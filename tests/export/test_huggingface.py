"""A Hugging Face folder: what is in it and what has no equal there; interop loads it for real."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from cutaway.errors import ExportError, InputError
from cutaway.export.huggingface import export_huggingface
from tests.export.helpers import fingerprint, random_folder, tokenizer


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_width_is_reordered_to_sines_then_cosines(tmp_path: Path) -> None:
    folder = random_folder(norm="post")
    before = fingerprint(folder.model)
    export_huggingface(folder, tmp_path / "out")
    assert fingerprint(folder.model) == before
    weights = load_file(tmp_path / "out" / "model.safetensors")
    position, width = np.arange(97)[:, None], 34
    angle = position / 10000 ** (np.arange(0, width, 2) / width)
    expected = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    for side in ("encoder", "decoder"):
        table = weights[f"model.{side}.embed_positions.weight"]
        np.testing.assert_allclose(table, expected, atol=1e-6)
    # Reordered alike, embedding and projection give the same queries.
    rows = torch.tensor(weights["model.shared.weight"])
    matrix = torch.tensor(weights["model.encoder.layers.1.self_attn.q_proj.weight"])
    assert folder.model.encoder is not None
    ours: Any = folder.model.encoder.layers[1]
    torch.testing.assert_close(
        rows @ matrix.T, folder.model.embedding.weight @ ours.self_attention.W_Q.weight.T
    )


@pytest.mark.parametrize(
    ("changes", "name", "kind"),
    [
        ({"norm": "post"}, "MarianMTModel", "marian"),
        ({"norm": "pre"}, "PegasusForConditionalGeneration", "pegasus"),
        ({"family": "decoder", "output_bias": False}, "MarianForCausalLM", "marian"),
        (
            {"family": "decoder", "output_bias": False, "norm": "pre"},
            "PegasusForCausalLM",
            "pegasus",
        ),
    ],
)
def test_the_class_that_computes_the_same(
    changes: dict[str, Any], name: str, kind: str, tmp_path: Path
) -> None:
    export_huggingface(random_folder(**changes), tmp_path / "out")
    config = read(tmp_path / "out" / "config.json")
    assert (config["architectures"], config["model_type"]) == ([name], kind)
    assert "auto_map" not in config
    generation = read(tmp_path / "out" / "generation_config.json")
    assert generation["decoder_start_token_id"] == config["decoder_start_token_id"] == 2
    assert generation["suppress_tokens"] == [0, 1, 2, 4]


def test_language_tags_are_special_and_fixed_on_request(tmp_path: Path) -> None:
    folder = random_folder(tokenizer("bpe", languages=("fr", "de")))
    export_huggingface(folder, tmp_path / "out", language="de")
    settings = read(tmp_path / "out" / "tokenizer.json")
    template = settings["post_processor"]["single"]
    assert [step.get("SpecialToken", {}).get("id") for step in template] == ["<2de>", None, "<end>"]
    assert [token["content"] for token in settings["added_tokens"]][5:] == ["<2fr>", "<2de>"]
    suppressed = read(tmp_path / "out" / "generation_config.json")["suppress_tokens"]
    assert suppressed == [0, 1, 2, 4, 5, 6]
    with pytest.raises(InputError, match="'it'"):
        export_huggingface(folder, tmp_path / "other", language="it")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"family": "encoder"}, "norm on the embeddings"),
        ({"attention": "strided"}, "attention"),
        ({"norm_epsilon": 1e-6}, "norm_epsilon"),
        ({"head_width": 5}, "head_width"),
        ({"norm": "post", "positions": "learned"}, "sines"),
        ({"norm": "post", "position_amplitude": True}, "sines"),
        ({"norm": "pre", "tied": "none"}, "one table"),
        ({"family": "decoder"}, "output_bias false"),
    ],
)
def test_what_has_no_equal_is_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=reason) as caught:
        export_huggingface(random_folder(**changes), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_word_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="word tokenizer"):
        export_huggingface(random_folder(tokenizer("word")), tmp_path / "out")
    assert not list(tmp_path.iterdir())
