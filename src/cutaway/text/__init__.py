"""Text ↔ ids: lossless tokenizers, each stored as one sentencepiece file."""

from cutaway.text.model_file import Kind
from cutaway.text.tokenizer import Tokenizer
from cutaway.text.training import Reservoir

__all__ = ["Kind", "Reservoir", "Tokenizer"]
