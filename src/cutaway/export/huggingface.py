"""A model folder → a folder that `transformers` loads offline, without code of ours.

Post-norm is its Marian, pre-norm its Pegasus: Marian's layers with the norm first. Both keep the
sines in the first half of the width and the cosines in the second, so the axis D is reordered.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from cutaway.artifact.files import write_json
from cutaway.artifact.folder import ModelFolder
from cutaway.config import ModelConfig
from cutaway.errors import ExportError
from cutaway.export.huggingface_tokenizer import write_tokenizer
from cutaway.export.place import export_folder
from cutaway.model import Transformer
from cutaway.text import Tokenizer

Weights = dict[str, Tensor]

EPSILON = 1e-5  # of every layer norm in Marian and Pegasus, where it is no setting


def export_huggingface(folder: ModelFolder, out: Path, *, language: str | None = None) -> None:
    """Write config, weights, generation settings and tokenizer of a Hugging Face model."""
    check(folder)
    if language is not None:
        folder.tokenizer.tag(language)  # an unknown one is refused here
    with export_folder(out) as new:
        write_json(new / "config.json", config_of(folder))
        weights = {name: tensor.contiguous() for name, tensor in weights_of(folder.model).items()}
        save_file(weights, new / "model.safetensors", metadata={"format": "pt"})
        write_json(new / "generation_config.json", generation_of(folder))
        write_tokenizer(new, folder, language)
        (new / "README.md").write_text(folder.card, encoding="utf-8")


def check(folder: ModelFolder) -> None:
    """Refuse a model that no class of transformers computes as it is."""
    model, config = folder.model, folder.model.config
    refusals = {
        "family is 'encoder', but every encoder class of transformers puts a norm on the "
        "embeddings; export it to onnx": config.family == "encoder",
        f"attention is {config.attention!r}, but Marian and Pegasus attend to all tokens; "
        "train with attention 'full'": config.attention != "full",
        f"norm_epsilon is {config.norm_epsilon}, but Marian and Pegasus have {EPSILON}; "
        "train with that": config.norm_epsilon != EPSILON,
        f"a head has width {config.d_k}, but Marian and Pegasus have d_model / heads; "
        "train without head_width": config.d_k * config.heads != config.d_model,
        "positions are not plain sines, but Marian computes its own; train with positions "
        "'sinusoidal' and no position_amplitude, or with norm 'pre'": config.norm == "post"
        and not _plain_sines(config),
        f"tied is {config.tied!r}, but Pegasus has one table for both sides; train with tied "
        "'all', or with norm 'post'": config.norm == "pre"
        and config.family == "encoder-decoder"
        and config.tied != "all",
        "the output has a bias, but the language models of transformers that fit have none; "
        "train with output_bias false": config.family == "decoder"
        and model.output.bias is not None
        and bool(model.output.bias.any()),
    }
    for reason, refused in refusals.items():
        if refused:
            raise ExportError(f"no class of transformers computes this model: its {reason}")


def _plain_sines(config: ModelConfig) -> bool:
    return config.positions == "sinusoidal" and not config.position_amplitude


def config_of(folder: ModelFolder) -> dict[str, Any]:
    """What config.json says."""
    config = folder.model.config
    kind = "marian" if config.norm == "post" else "pegasus"
    translates = config.family == "encoder-decoder"
    head = {"marian": "MarianMTModel", "pegasus": "PegasusForConditionalGeneration"}[kind]
    return {
        "architectures": [head if translates else f"{kind.capitalize()}ForCausalLM"],
        "model_type": kind,
        "is_encoder_decoder": translates,
        "is_decoder": not translates,
        "vocab_size": config.vocabulary,
        "decoder_vocab_size": config.output_vocabulary,
        "share_encoder_decoder_embeddings": config.tied == "all" or not translates,
        "tie_word_embeddings": config.tied != "none",
        "max_position_embeddings": config.max_length,
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers if translates else config.decoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": config.activation,
        "scale_embedding": config.scale_embedding,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "pad_token_id": Tokenizer.pad,
        "bos_token_id": Tokenizer.start,
        "eos_token_id": Tokenizer.end,
        "decoder_start_token_id": Tokenizer.start,
        "forced_eos_token_id": None,
        "torch_dtype": "float32",
    }


def generation_of(folder: ModelFolder) -> dict[str, Any]:
    """Greedy, with the special symbols never written, as this package decodes by default."""
    tokenizer = folder.target_tokenizer or folder.tokenizer
    special = [Tokenizer.pad, Tokenizer.unk, Tokenizer.start, Tokenizer.mask]
    return {
        "pad_token_id": Tokenizer.pad,
        "bos_token_id": Tokenizer.start,
        "eos_token_id": Tokenizer.end,
        "decoder_start_token_id": Tokenizer.start,
        "forced_eos_token_id": None,
        "num_beams": 1,
        "do_sample": False,
        "max_length": folder.model.config.max_length,
        "suppress_tokens": special + list(tokenizer.tags),
    }


def weights_of(model: Transformer) -> Weights:
    """Every parameter under the name and in the order of D that Marian and Pegasus expect."""
    config = model.config
    order = _order(config)
    weights: Weights = {}
    if model.encoder is not None:
        weights |= _stack("model.encoder", model.encoder, order)
    assert model.decoder is not None
    weights |= _stack("model.decoder", model.decoder, order)
    source = model.embedding.weight.detach()[:, order]
    target = source
    if model.target_embedding is not None:
        target = model.target_embedding.weight.detach()[:, order]
    if model.encoder is None:
        weights["model.decoder.embed_tokens.weight"] = target
    elif config.tied == "all":
        weights["model.shared.weight"] = source
    else:
        weights["model.encoder.embed_tokens.weight"] = source
        weights["model.decoder.embed_tokens.weight"] = target
    if model.output.weight is not None:
        weights["lm_head.weight"] = model.output.weight.detach()[:, order]
    if model.encoder is not None:
        bias = model.output.bias
        weights["final_logits_bias"] = (
            torch.zeros(1, config.output_vocabulary) if bias is None else bias.detach()[None]
        )
    return {name: tensor.float().cpu().clone() for name, tensor in weights.items()}


def _order(config: ModelConfig) -> Tensor:
    """Where each place of their axis D is on ours: even places (sines) first, then odd."""
    place = torch.arange(config.d_model)
    return torch.cat([place[::2], place[1::2]]) if _plain_sines(config) else place


def _stack(name: str, stack: Any, order: Tensor) -> Weights:
    """One side: positions, layers, last norm."""
    weights: Weights = {f"{name}.embed_positions.weight": _positions(stack, order)}
    if stack.norm is not None:
        weights |= _norm(f"{name}.layer_norm", stack.norm, order)
    for number, layer in enumerate(stack.layers):
        prefix = f"{name}.layers.{number}"
        weights |= _attention(f"{prefix}.self_attn", layer.self_attention, order)
        weights |= _norm(
            f"{prefix}.self_attn_layer_norm", layer.self_attention_add_norm.norm, order
        )
        if hasattr(layer, "cross_attention"):
            cross = layer.cross_attention
            # A language model's layers have the place of a cross-attention there, never used.
            attention = _attention(f"{prefix}.encoder_attn", cross or layer.self_attention, order)
            norm = (layer.cross_attention_add_norm or layer.self_attention_add_norm).norm
            attention |= _norm(f"{prefix}.encoder_attn_layer_norm", norm, order)
            weights |= attention if cross is not None else _zeros(attention)
        weights |= _linear(f"{prefix}.fc1", layer.feed_forward.W_1, inputs=order)
        weights |= _linear(f"{prefix}.fc2", layer.feed_forward.W_2, outputs=order)
        weights |= _norm(f"{prefix}.final_layer_norm", layer.feed_forward_add_norm.norm, order)
    return weights


def _positions(stack: Any, order: Tensor) -> Tensor:
    """The position table, amplitude included; zeros where there is none."""
    table: Tensor | None = stack.positions.table
    if table is None:
        return torch.zeros(stack.positions.max_length, stack.positions.width)
    if stack.positions.amplitude is not None:
        table = table * stack.positions.amplitude
    return table.detach()[:, order]


def _attention(name: str, attention: Any, order: Tensor) -> Weights:
    return {
        **_linear(f"{name}.q_proj", attention.W_Q, inputs=order),
        **_linear(f"{name}.k_proj", attention.W_K, inputs=order),
        **_linear(f"{name}.v_proj", attention.W_V, inputs=order),
        **_linear(f"{name}.out_proj", attention.W_O, outputs=order),
    }


def _linear(
    name: str, linear: nn.Linear, *, inputs: Tensor | None = None, outputs: Tensor | None = None
) -> Weights:
    """A matrix (outputs, inputs) with the side that is D reordered; no bias is a bias of zeros."""
    weight = linear.weight.detach()
    bias = torch.zeros(len(weight)) if linear.bias is None else linear.bias.detach()
    if inputs is not None:
        weight = weight[:, inputs]
    if outputs is not None:
        weight, bias = weight[outputs], bias[outputs]
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def _norm(name: str, norm: nn.LayerNorm, order: Tensor) -> Weights:
    return {
        f"{name}.weight": norm.weight.detach()[order],
        f"{name}.bias": norm.bias.detach()[order],
    }


def _zeros(weights: Weights) -> Weights:
    return {name: torch.zeros_like(tensor) for name, tensor in weights.items()}


__all__ = ["export_huggingface"]
