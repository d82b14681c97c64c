"""Cutaway: a Transformer you can train, translate with, and see through."""

from cutaway.version import __version__

__all__ = ["__version__"]
