"""onnxruntime computes the same logits, for lengths and batches the export never saw."""

from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch

from cutaway.export.onnx import export_onnx
from tests.export.helpers import fingerprint, random_folder

pytestmark = pytest.mark.interop

SHAPES = [(1, 1, 1), (3, 11, 13), (2, 41, 41), (1, 5, 7)]


def run(path: Path, **inputs: torch.Tensor) -> torch.Tensor:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), settings)
    (output,) = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
    return torch.from_numpy(output)


def ids(batch: int, length: int, vocabulary: int) -> torch.Tensor:
    """Random ids, the first row padded."""
    torch.manual_seed(batch * length)
    rows = torch.randint(1, vocabulary, (batch, length))
    rows[0, length // 2 + 1 :] = 0
    return rows


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=3e-5, rtol=0)


def test_encoder_and_decoder(tmp_path: Path) -> None:
    folder = random_folder(norm="pre", max_length=41, encoder_layers=1, decoder_layers=1)
    before = fingerprint(folder.model)
    export_onnx(folder, tmp_path / "out")
    assert fingerprint(folder.model) == before
    for batch, source_length, target_length in SHAPES:
        source = ids(batch, source_length, folder.tokenizer.vocabulary)
        target = ids(batch, target_length, folder.tokenizer.vocabulary)
        memory = run(tmp_path / "out" / "encoder.onnx", source=source)
        logits = run(tmp_path / "out" / "decoder.onnx", target=target, memory=memory, source=source)
        with torch.inference_mode():
            close(memory, folder.model.encode(source))
            close(logits, folder.model(source, target))


@pytest.mark.parametrize(
    "changes",
    [
        {"family": "decoder", "attention": "local", "window": 3, "decoder_layers": 1},
        {"family": "encoder", "classes": 3, "activation": "gelu", "encoder_layers": 1},
    ],
    ids=str,
)
def test_one_sided_families(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = random_folder(max_length=41, **changes)
    export_onnx(folder, tmp_path / "out")
    for batch, length, _ in SHAPES:
        source = ids(batch, length, folder.tokenizer.vocabulary)
        with torch.inference_mode():
            close(run(tmp_path / "out" / "model.onnx", source=source), folder.model(source))
            if folder.model.classifier is not None:
                classes = run(tmp_path / "out" / "classifier.onnx", source=source)
                close(classes, folder.model.classify(source))
