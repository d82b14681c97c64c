"""What makes a run the same run, and what is said of each thing that is not as it was."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cutaway.config import RunConfig
from cutaway.train.environment import differences
from cutaway.train.prepare import Prepared

# Settings that decide no bit of the weights: a change is told, and no reason to stop. Where the
# sentences lie and how they are read shows in the data's own fingerprint.
HARMLESS = {"save_minutes", "keep", "tensorboard", "threads", "device", "parallel", "log_every"}


def identity(config: RunConfig, prepared: Prepared, processes: int) -> dict[str, Any]:
    """All that decides the weights of a run, and the settings it was begun with."""
    target = prepared.target_tokenizer
    texts = json.dumps(prepared.validation_rows, ensure_ascii=False).encode()
    return {
        "settings": config.to_tables(),
        "batches_an_update": config.train.accumulate * processes,
        "shape": prepared.model.to_dict(),
        "data": {
            "training": prepared.train.fingerprint,
            "validation": prepared.validation.fingerprint if prepared.validation else "",
            "validation_texts": hashlib.sha256(texts).hexdigest(),
        },
        "tokenizer": prepared.tokenizer.fingerprint,
        "target_tokenizer": target.fingerprint if target else "",
    }


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What forbids to go on as if nothing had happened, and what only has to be told.

    An update may be shared among more or fewer processes: as long as it holds as many batches,
    `accumulate` may change with them; a mere change of processes is told.
    """
    serious: list[str] = []
    told: list[str] = []
    found = {line.partition(":")[0]: line for line in differences(dict(before), dict(now))}
    accumulate, together = "settings.train.accumulate", "batches_an_update"
    free = {f"settings.train.{name}" for name in HARMLESS}
    free.add(together)  # when it is `accumulate` that changed it, that stops the run
    if together not in found:
        free.add(accumulate)
    for name, line in found.items():
        harmless = name in free or name.startswith("settings.data.")
        (told if harmless else serious).append(line)
    return serious, told
