"""A run → every number, its arithmetic and its proof."""

from cutaway.glass.record import record
from cutaway.glass.store import bundle, load
from cutaway.glass.trace import Labelled, Trace

__all__ = ["Labelled", "Trace", "bundle", "load", "record"]
