"""What decides a run's weights, and which changes a resumed run refuses or only reports."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cutaway.config import RunConfig
from cutaway.text import Tokenizer
from cutaway.training.environment import differences
from cutaway.training.prepare import Prepared
from cutaway.training.recipe import resolved

# Settings that decide no bit of the weights so far: a change is reported and does not stop the
# run. The files of the data may move: its content has a fingerprint of its own.
HARMLESS = {
    "save_minutes", "keep", "keep_states", "private", "tensorboard", "threads", "device",
    "parallel", "log_every", "skip_nonfinite",
}  # fmt: skip


def identity(config: RunConfig, prepared: Prepared, processes: int) -> dict[str, Any]:
    """All that decides the weights of a run, and the settings it started with."""
    target = prepared.target_tokenizer
    settings = resolved(config.train, prepared.model, processes, len(prepared.train))
    texts = json.dumps(prepared.validation_rows, ensure_ascii=False).encode()
    itself = replace(config, train=replace(config.train, diversify=0))  # teachers were before it
    return {
        "settings": itself.to_tables(),
        "batches_an_update": settings.accumulate * settings.parts * processes,
        "parts": settings.parts,
        "shape": prepared.model.to_dict(),
        "data": ({"weights": [list(part) for part in prepared.weights]} if prepared.weights else {})
        | {
            "training": prepared.train.fingerprint,
            "validation": prepared.validation.fingerprint if prepared.validation else "",
            "validation_texts": hashlib.sha256(texts).hexdigest(),
        },
        "tokenizer": prepared.tokenizer.fingerprint,
        "target_tokenizer": target.fingerprint if target else "",
    }


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The changes that forbid resuming, and those that are only reported.

    An update may be shared among more or fewer processes: as long as it holds as many batches,
    `accumulate` may change with them; another number of processes alone is only reported.
    """
    serious: list[str] = []
    reported: list[str] = []
    found = {line.partition(":")[0]: line for line in differences(dict(before), dict(now))}
    accumulate, together = "settings.train.accumulate", "batches_an_update"
    free = {f"settings.train.{name}" for name in HARMLESS}
    free.add(together)  # when it is `accumulate` that changed it, that stops the run
    if together not in found:
        free.add(accumulate)
    if "parts" not in found:
        free.add("settings.train.parts")
    for name, line in found.items():
        harmless = name in free or name.startswith("settings.data.")
        (reported if harmless else serious).append(line)
    return serious, reported


def kept_tokenizers(work: Path) -> tuple[Tokenizer, Tokenizer | None] | None:
    """The tokenizers saved in a run folder, so that a resumed run need not learn them again."""
    source, target = work / "tokenizer.model", work / "target.model"
    if not source.is_file():
        return None
    return Tokenizer.load(source), Tokenizer.load(target) if target.is_file() else None
