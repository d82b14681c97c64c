"""Data in the package: the embedded corpus and the trained models, made by tools/."""

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
DEMO = "demo-"  # how the names of the demo's models begin
NAMES = (*PAIRS, *(f"{DEMO}{pair}" for pair in PAIRS))


def bundled_model(pair: str = "en-fr") -> Path:
    """The everyday model inside the package for a pair of languages: "en-fr" or "en-zh"."""
    if pair not in PAIRS:
        raise InputError(f"no model for {pair!r} in the package; expected {' or '.join(PAIRS)}")
    return MODELS / pair


def demo_model(pair: str = "en-fr") -> Path:
    """The model that `cutaway demo` trains, with snapshots of its training: the lessons' model."""
    return MODELS / f"{DEMO}{bundled_model(pair).name}"


def model_for(target: str | None = None) -> Path:
    """The everyday model into a language; by default the reader's, French unless it is Chinese."""
    if target is None:
        variables = ("LC_ALL", "LC_MESSAGES", "LANG")
        locale = next((os.environ[name] for name in variables if os.environ.get(name)), "")
        target = "zh" if locale.startswith("zh") else "fr"
    pair = f"en-{target}"
    if pair not in PAIRS:
        raise InputError(
            f"no model into {target!r} in the package; it has fr and zh: name a model folder"
        )
    return bundled_model(pair)


def name_of(folder: Path, here: Path) -> str:
    """What `located` finds a folder by from the folder `here`: en-fr, or a relative path."""
    return folder.name if folder.parent == MODELS else os.path.relpath(folder, here)


def located(folder: str | Path) -> Path:
    """A model folder by its path; en-fr, demo-en-fr, … are bundled, if no such path exists.

    A path that does not exist is returned as it is.
    """
    path = Path(folder)
    return MODELS / path if str(folder) in NAMES and not path.exists() else path


def demo_seeds(pair: str = "en-fr") -> list[dict[str, Any]]:
    """Measures of the demo trained with several seeds, one row each: from bench/demo_seeds.py."""
    rows = json.loads(SEEDS.read_text(encoding="utf-8"))["rows"]
    return [row for row in rows if row["pair"] == pair]
