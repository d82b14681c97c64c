"""Data in the package: the embedded corpus and two trained models, made by tools/."""

import json
import os
from pathlib import Path
from typing import Any

from cutaway.errors import InputError

CORPUS = Path(__file__).parent / "corpus.tsv.xz"
SENTENCES = Path(__file__).parent / "sentences.tsv"
MODELS = Path(__file__).parent / "models"
SEEDS = Path(__file__).parent / "demo_seeds.json"
PAIRS = ("en-fr", "en-zh")


def bundled_model(pair: str = "en-fr") -> Path:
    """The model folder inside the package for a pair of languages: "en-fr" or "en-zh"."""
    if pair not in PAIRS:
        raise InputError(f"no model for {pair!r} in the package; expected {' or '.join(PAIRS)}")
    return MODELS / pair


def name_of(folder: Path, here: Path) -> str:
    """What `located` finds a folder by from the folder `here`: en-fr, or a relative path."""
    return folder.name if folder.parent == MODELS else os.path.relpath(folder, here)


def located(folder: str | Path) -> Path:
    """A model folder by its path; en-fr and en-zh are the bundled models, if no such path exists.

    A path that does not exist is returned as it is.
    """
    path = Path(folder)
    return bundled_model(str(folder)) if str(folder) in PAIRS and not path.exists() else path


def demo_seeds(pair: str = "en-fr") -> list[dict[str, Any]]:
    """Measures of the demo trained with several seeds, one row each: from bench/demo_seeds.py."""
    rows = json.loads(SEEDS.read_text(encoding="utf-8"))["rows"]
    return [row for row in rows if row["pair"] == pair]
