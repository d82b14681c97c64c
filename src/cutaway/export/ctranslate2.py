"""A model folder → a CTranslate2 model: the same arithmetic in a fast runtime.

The layout it expects: self-attention holds [W_Q W_K W_V] and W_O, cross-attention W_Q, [W_K W_V]
and W_O; positions are a table, so that every kind of ours fits.
"""

import importlib
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from cutaway.artifact.folder import ModelFolder
from cutaway.config import ModelConfig
from cutaway.errors import ExportError
from cutaway.export.place import export_folder
from cutaway.model import MultiHeadAttention, sinusoidal
from cutaway.text import Tokenizer

Quantization = Literal["float32", "int8"]
Array = NDArray[np.float32]

# CTranslate2 cuts sources at 1024 tokens; a shorter table of sines would fail before that.
LEAST_POSITIONS = 1024


def export_ctranslate2(
    folder: ModelFolder,
    out: Path,
    *,
    quantization: Quantization = "float32",
    language: str | None = None,
) -> None:
    """Write a CTranslate2 model folder, with the tokenizers next to it.

    `language` names the tag that every source gets in a model of several target languages;
    without it the caller puts the tag before the source's pieces.
    """
    if quantization not in get_args(Quantization):
        raise ExportError(f"quantization {quantization!r}: expected float32 or int8")
    spec = specification(folder, language=language)
    with export_folder(out) as new:
        save(spec, new, quantization)
        folder.tokenizer.save(new / "tokenizer.model")
        if folder.target_tokenizer is not None:
            folder.target_tokenizer.save(new / "target.model")


def save(spec: Any, folder: Path, quantization: Quantization) -> None:
    """Quantize a specification, which holds copies of the weights, and write its files."""
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def specification(folder: ModelFolder, *, language: str | None = None) -> Any:
    """The model as CTranslate2 describes it, filled with copies of the weights."""
    model, config = folder.model, folder.model.config
    check(config)
    specs: Any = importlib.import_module("ctranslate2.specs")
    activation = {"relu": specs.Activation.RELU, "gelu": specs.Activation.GELU}[config.activation]
    shape = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": activation,
        "head_dim": config.head_width,
    }
    decoder = specs.transformer_spec.TransformerDecoderSpec(
        config.decoder_layers, **shape, with_encoder_attention=model.encoder is not None
    )
    table = model.embedding if model.target_embedding is None else model.target_embedding
    _fill_stack(decoder, model.decoder, config)
    _fill_table(decoder.embeddings, table.weight)
    decoder.scale_embeddings = config.scale_embedding
    output = table.weight if model.output.weight is None else model.output.weight
    _fill_table(decoder.projection, output)
    if model.output.bias is not None:
        decoder.projection.bias = copied(model.output.bias)

    tokens = vocabulary(folder.tokenizer)
    if model.encoder is None:
        spec = specs.TransformerDecoderModelSpec(decoder)
        spec.register_vocabulary(tokens)
    else:
        encoder = specs.transformer_spec.TransformerEncoderSpec(config.encoder_layers, **shape)
        _fill_stack(encoder, model.encoder, config)
        _fill_table(encoder.embeddings[0], model.embedding.weight)
        encoder.scale_embeddings = config.scale_embedding
        spec = specs.TransformerSpec(encoder, decoder)
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(vocabulary(folder.target_tokenizer or folder.tokenizer))
        spec.config.decoder_start_token = tokens[Tokenizer.start]
        spec.config.add_source_eos = True  # a source is `[<2language>] pieces… <end>`
    spec.config.unk_token = tokens[Tokenizer.unk]
    spec.config.bos_token = tokens[Tokenizer.start]
    spec.config.eos_token = tokens[Tokenizer.end]
    if language is not None and model.encoder is not None:
        # Nothing else uses the bos token: decoding starts with decoder_start_token.
        spec.config.bos_token = tokens[folder.tokenizer.tag(language)]
        spec.config.add_source_bos = True
    spec.config.layer_norm_epsilon = config.norm_epsilon
    return spec


def check(config: ModelConfig) -> None:
    """Refuse a model whose arithmetic CTranslate2 does not have."""
    if config.family == "encoder":
        raise ExportError(
            "the model is of family 'encoder', for which CTranslate2 has no output layer; "
            "export it to onnx"
        )
    if config.attention != "full":
        raise ExportError(
            f"the model has {config.attention} attention, which CTranslate2 does not support; "
            "train with attention 'full'"
        )


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """The piece of every id."""
    return tokenizer.pieces(range(tokenizer.vocabulary))


def copied(tensor: Tensor) -> Array:
    """The numbers in memory of their own: quantizing scales its input in place."""
    array: Array = tensor.detach().cpu().float().numpy().copy()
    return array


def positions(stack: Any, config: ModelConfig) -> Array:
    """The table that is added to the tokens: sines, learned rows or zeros, amplitude included."""
    table: Tensor | None = stack.positions.table
    if table is None:
        return np.zeros((max(config.max_length, LEAST_POSITIONS), config.d_model), np.float32)
    if config.positions == "sinusoidal":
        length = max(config.max_length, LEAST_POSITIONS)
        table = sinusoidal(length, config.d_model).to(table)
    if stack.positions.amplitude is not None:
        table = table * stack.positions.amplitude
    return copied(table)


def _fill_stack(spec: Any, stack: Any, config: ModelConfig) -> None:
    spec.position_encodings.encodings = positions(stack, config)
    if stack.norm is not None:
        _fill_norm(spec.layer_norm, stack.norm)
    for to, layer in zip(spec.layer, stack.layers, strict=True):
        attention = layer.self_attention
        _fill_linear(to.self_attention.linear[0], attention.W_Q, attention.W_K, attention.W_V)
        _fill_linear(to.self_attention.linear[1], attention.W_O)
        _fill_norm(to.self_attention.layer_norm, layer.self_attention_add_norm.norm)
        cross: MultiHeadAttention | None = getattr(layer, "cross_attention", None)
        if cross is not None:
            _fill_linear(to.attention.linear[0], cross.W_Q)
            _fill_linear(to.attention.linear[1], cross.W_K, cross.W_V)
            _fill_linear(to.attention.linear[2], cross.W_O)
            _fill_norm(to.attention.layer_norm, layer.cross_attention_add_norm.norm)
        _fill_linear(to.ffn.linear_0, layer.feed_forward.W_1)
        _fill_linear(to.ffn.linear_1, layer.feed_forward.W_2)
        _fill_norm(to.ffn.layer_norm, layer.feed_forward_add_norm.norm)


def _fill_linear(spec: Any, *parts: nn.Linear) -> None:
    """One matrix, or several that read the same input, stacked."""
    spec.weight = np.concatenate([copied(part.weight) for part in parts])
    if parts[0].bias is not None:
        spec.bias = np.concatenate([copied(part.bias) for part in parts])


def _fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma = copied(norm.weight)
    spec.beta = copied(norm.bias)


def _fill_table(spec: Any, weight: Tensor) -> None:
    spec.weight = copied(weight)


__all__ = ["Quantization", "export_ctranslate2", "specification"]
