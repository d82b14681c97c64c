"""Weights → sentences: greedy, beam and sampling with a cache, and the Translator around them."""

from cutaway.decode.attending import attention_maps
from cutaway.decode.engine import Engine, TorchEngine
from cutaway.decode.forced import Forced, force
from cutaway.decode.generator import Generation, Generator
from cutaway.decode.guards import Notice
from cutaway.decode.hypothesis import BeamTree, Hypothesis, SearchResult, TreeNode
from cutaway.decode.options import DecodeOptions
from cutaway.decode.reader import Classified, Classifier, Filled, Filler
from cutaway.decode.search import search
from cutaway.decode.stepper import Special, Task
from cutaway.decode.translation import Alternative, Rival, Token, Translation
from cutaway.decode.translator import Translator, special_ids
from cutaway.decode.walk import Candidate, Step, Walk

__all__ = [
    "Alternative",
    "BeamTree",
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
    "search",
    "special_ids",
]
