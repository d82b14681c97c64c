"""Runs where transformers is installed: loads a folder and answers with what it computes."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer


def main() -> None:
    request: dict[str, Any] = json.load(sys.stdin)
    causal = request["causal"]
    kind = AutoModelForCausalLM if causal else AutoModelForSeq2SeqLM
    model, report = kind.from_pretrained(request["folder"], output_loading_info=True)
    tokenizer = AutoTokenizer.from_pretrained(request["folder"])
    again = request["folder"] + "-again"  # what a fine-tuner would keep
    model.save_pretrained(again)
    second = kind.from_pretrained(again)
    batch = tokenizer(request["texts"], return_tensors="pt", padding=True)
    prompt = torch.tensor([request["target"]])
    with torch.inference_mode():
        if causal:
            logits = model(prompt).logits
            repeated = second(prompt).logits
            written = model.generate(prompt, max_new_tokens=request["limit"])
        else:
            source = torch.tensor([request["source"]])
            logits = model(input_ids=source, decoder_input_ids=prompt).logits
            repeated = second(input_ids=source, decoder_input_ids=prompt).logits
            written = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_new_tokens=request["limit"],
            )
    answer = {
        "class": type(model).__name__,
        "report": {name: sorted(map(str, keys)) for name, keys in report.items() if keys},
        "encoded": [tokenizer(text)["input_ids"] for text in request["texts"]],
        "logits": logits[0].tolist(),
        "repeated": repeated[0].tolist(),
        "written": written.tolist(),
        "texts": tokenizer.batch_decode(written, skip_special_tokens=True),
    }
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")


main()
