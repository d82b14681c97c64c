"""Weights → sentences: greedy, beam and sampling with a cache, and the Translator around them."""

from cutaway.decode.attending import attention_maps
from cutaway.decode.engine import Engine, TorchEngine
from cutaway.decode.forced import Forced, force
from cutaway.decode.guards import Notice
from cutaway.decode.hypothesis import BeamTree, Hypothesis, SearchResult, TreeNode
from cutaway.decode.options import DecodeOptions
from cutaway.decode.search import search
from cutaway.decode.stepper import Special, Task
from cutaway.decode.translation import Alternative, Rival, Token, Translation
from cutaway.decode.translator import Translator

__all__ = [
    "Alternative",
    "BeamTree",
    "DecodeOptions",
    "Engine",
    "Forced",
    "Hypothesis",
    "Notice",
    "Rival",
    "SearchResult",
    "Special",
    "Task",
    "Token",
    "TorchEngine",
    "Translation",
    "Translator",
    "TreeNode",
    "attention_maps",
    "force",
    "search",
]
