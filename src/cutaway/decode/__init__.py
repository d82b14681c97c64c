"""Weights → sentences: greedy, beam and sampling with a cache, and the Translator around them.

A name is imported when it is first used: translating with CTranslate2 needs no torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutaway.config import DecodeOptions
    from cutaway.decode.batch_translator import BatchTranslator
    from cutaway.decode.cross_attention import attention_maps
    from cutaway.decode.ctranslate2_engine import CTranslate2Engine
    from cutaway.decode.encoder_models import Classified, Classifier, Filled, Filler
    from cutaway.decode.engine import Engine, TorchEngine
    from cutaway.decode.forced import Forced, force
    from cutaway.decode.generator import Generation, Generator
    from cutaway.decode.guards import Notice
    from cutaway.decode.hypothesis import BeamTree, Hypothesis, SearchResult, TreeNode
    from cutaway.decode.tasks import Special, Task
    from cutaway.decode.translation import Alternative, Rival, Token, Translation
    from cutaway.decode.translator import Translator, special_ids
    from cutaway.decode.walk import Candidate, Step, Walk

__all__ = [
    "Alternative",
    "BatchTranslator",
    "BeamTree",
    "CTranslate2Engine",
    "Candidate",
    "Classified",
    "Classifier",
    "DecodeOptions",
    "Engine",
    "Filled",
    "Filler",
    "Forced",
    "Generation",
    "Generator",
    "Hypothesis",
    "Notice",
    "Rival",
    "SearchResult",
    "Special",
    "Step",
    "Task",
    "Token",
    "TorchEngine",
    "Translation",
    "Translator",
    "TreeNode",
    "Walk",
    "attention_maps",
    "force",
    "special_ids",
]

_HOME = {
    "config": ("DecodeOptions",),
    "decode.batch_translator": ("BatchTranslator",),
    "decode.cross_attention": ("attention_maps",),
    "decode.ctranslate2_engine": ("CTranslate2Engine",),
    "decode.encoder_models": (
        "Classified",
        "Classifier",
        "Filled",
        "Filler",
    ),
    "decode.engine": (
        "Engine",
        "TorchEngine",
    ),
    "decode.forced": (
        "Forced",
        "force",
    ),
    "decode.generator": (
        "Generation",
        "Generator",
    ),
    "decode.guards": ("Notice",),
    "decode.hypothesis": (
        "BeamTree",
        "Hypothesis",
        "SearchResult",
        "TreeNode",
    ),
    "decode.tasks": (
        "Special",
        "Task",
    ),
    "decode.translation": (
        "Alternative",
        "Rival",
        "Token",
        "Translation",
    ),
    "decode.translator": (
        "Translator",
        "special_ids",
    ),
    "decode.walk": (
        "Candidate",
        "Step",
        "Walk",
    ),
}  # module → its names above

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for module, names in _HOME.items():
            if name in names:
                return getattr(importlib.import_module(f"cutaway.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
