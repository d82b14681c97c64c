"""Runs where transformers is installed: records a training step of one of its models, proves it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "src"))

from cutaway import glass

Step = Callable[[Any], Tensor]
IDS = torch.tensor([[5, 9, 2, 7, 3], [4, 8, 6, 1, 1]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def bert() -> tuple[Any, Step]:
    config = transformers.BertConfig(
        vocab_size=31,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=20,
        max_position_embeddings=16,
    )
    model = transformers.BertForMaskedLM(config)
    return model, lambda m: m(input_ids=IDS, attention_mask=MASK, labels=IDS).loss


def gpt2() -> tuple[Any, Step]:
    config = transformers.GPT2Config(
        vocab_size=31,
        n_embd=12,
        n_layer=2,
        n_head=3,
        n_positions=16,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = transformers.GPT2LMHeadModel(config)
    return model, lambda m: m(input_ids=IDS, attention_mask=MASK, labels=IDS).loss


def marian() -> tuple[Any, Step]:
    config = transformers.MarianConfig(
        vocab_size=31,
        d_model=12,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=20,
        decoder_ffn_dim=20,
        max_position_embeddings=16,
        pad_token_id=0,
        decoder_start_token_id=0,
        eos_token_id=2,
        bos_token_id=1,
        forced_eos_token_id=2,
    )
    model = transformers.MarianMTModel(config)
    return model, lambda m: m(input_ids=IDS, attention_mask=MASK, labels=IDS).loss


def t5() -> tuple[Any, Step]:
    config = transformers.T5Config(
        vocab_size=31,
        d_model=12,
        d_kv=4,
        num_layers=2,
        num_heads=3,
        d_ff=20,
        pad_token_id=0,
        decoder_start_token_id=0,
        eos_token_id=2,
    )
    model = transformers.T5ForConditionalGeneration(config)
    return model, lambda m: m(input_ids=IDS, attention_mask=MASK, labels=IDS).loss


def llama() -> tuple[Any, Step]:
    config = transformers.LlamaConfig(
        vocab_size=31,
        hidden_size=12,
        intermediate_size=20,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=1,
        max_position_embeddings=16,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    return model, lambda m: m(input_ids=IDS, attention_mask=MASK, labels=IDS).loss


ZOO = {"bert": bert, "gpt2": gpt2, "marian": marian, "t5": t5, "llama": llama}


def main() -> None:
    """Answer with what the proof found."""
    request = json.load(sys.stdin)
    torch.manual_seed(3)
    model, step = ZOO[request["model"]]()
    model = model.double().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    with glass.record(model) as trace:
        loss = step(model)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    proof = trace.prove()
    answer = {
        "cells": proof.cells,
        "proven": proof.proven,
        "missing": proof.missing,
        "opaque": proof.opaque,
        "failures": [str(failure) for failure in proof.failures[:5]],
        "errors": proof.errors,
        "phases": sorted({value.phase for value in trace}),
        "names": [value.address for value in trace if value.name is not None],
    }
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")


main()
