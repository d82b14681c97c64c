"""A model folder → ONNX graphs that onnxruntime and others run: ids in, logits out.

encoder-decoder: encoder.onnx (source → memory) and decoder.onnx (target, memory, source → logits);
one-sided families: model.onnx (source → logits) and, for a classifier, classifier.onnx.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from cutaway.artifact.files import write_json
from cutaway.artifact.folder import ModelFolder
from cutaway.export.place import export_folder, extra
from cutaway.model import Transformer, explicit
from cutaway.text import Tokenizer

OPSET = 18


class Part(nn.Module):
    """A part of a model as a module of its own, for a graph of its own."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model


class Encode(Part):
    """source (B, S) → memory (B, S, D)."""

    def forward(self, source: Tensor) -> Tensor:
        return self.model.encode(source)


class Decode(Part):
    """target (B, T), memory (B, S, D), source (B, S) → logits (B, T, V)."""

    def forward(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        states = self.model.decode(target, memory, self.model.padding(source))
        return self.model.project(states)


class Classify(Part):
    """source (B, S) → logits of the classes (B, C)."""

    def forward(self, source: Tensor) -> Tensor:
        return self.model.classify(source)


def export_onnx(folder: ModelFolder, out: Path) -> None:
    """Write the graphs, with the tokenizers and the ids of the special symbols."""
    for package in ("onnx", "onnxscript"):
        extra(package, "onnx")
    config = folder.model.config
    source = torch.ones(2, min(5, config.max_length), dtype=torch.long)
    with _evaluating(folder.model) as model, export_folder(out) as new:
        if config.family == "encoder-decoder":
            target = torch.ones(2, min(7, config.max_length), dtype=torch.long)
            memory = torch.zeros(*source.shape, config.d_model, dtype=model.embedding.weight.dtype)
            inputs = {"target": target, "memory": memory, "source": source}
            _write(new / "encoder.onnx", Encode(model), {"source": source}, "memory")
            _write(new / "decoder.onnx", Decode(model), inputs, "logits")
        else:
            _write(new / "model.onnx", model, {"source": source}, "logits")
        if model.classifier is not None:
            _write(new / "classifier.onnx", Classify(model), {"source": source}, "classes")
        folder.tokenizer.save(new / "tokenizer.model")
        if folder.target_tokenizer is not None:
            folder.target_tokenizer.save(new / "target.model")
        write_json(
            new / "special.json",
            {name: getattr(Tokenizer, name) for name in ("pad", "unk", "start", "end", "mask")}
            | {"max_length": config.max_length, "labels": folder.labels},
        )


@contextmanager
def _evaluating(model: Transformer) -> Iterator[Transformer]:
    """The model without dropout and with explicit attention; restored after the block."""
    training = model.training
    try:
        with explicit():  # every matrix real: local attention and fully masked rows come out right
            yield model.eval()
    finally:
        model.train(training)


def _write(path: Path, module: nn.Module, inputs: dict[str, Tensor], output: str) -> None:
    """One graph, batch and lengths left open."""
    batch = torch.export.Dim("batch")
    lengths = {
        name: torch.export.Dim(f"{side}_length")
        for side in ("source", "target")
        for name in (side, "memory" if side == "source" else side)
    }
    shapes = {name: {0: batch, 1: lengths[name]} for name in inputs}
    with _quiet():
        torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            path,
            input_names=list(inputs),
            output_names=[output],
            dynamic_shapes=shapes,
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's warnings about missing packages and joined names."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


__all__ = ["export_onnx"]
