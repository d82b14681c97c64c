"""A run → every number, its arithmetic and its proof."""

from cutaway.errors import TraceError
from cutaway.glass.diff import Difference
from cutaway.glass.explain import Explanation
from cutaway.glass.patch import patch
from cutaway.glass.prove import Proof
from cutaway.glass.record import record
from cutaway.glass.store import bundle, load
from cutaway.glass.trace import Labelled, Trace

__all__ = [
    "Difference",
    "Explanation",
    "Labelled",
    "Proof",
    "Trace",
    "TraceError",
    "bundle",
    "load",
    "patch",
    "record",
]
