"""Text ↔ ids: tokenizers that lose nothing, kept in one sentencepiece file."""

from cutaway.text.model_file import Kind
from cutaway.text.tokenizer import Tokenizer

__all__ = ["Kind", "Tokenizer"]
