"""Files → clean pairs → batches; and the corpus embedded in the package.

`embedded` is the function; the module of that name is imported here first, so that no later
import can put the module in the function's place.
"""

from cutaway.corpus.batches import Batch, BatchPlan, collate, on_device, to_tensors
from cutaway.corpus.cleaning import Cleaner, Cleaning, Filters, clean
from cutaway.corpus.embedded import embedded, thrones
from cutaway.corpus.encoded import (
    EncodedPairs,
    LongReport,
    Pairs,
    SampledPairs,
    encode_labelled,
    encode_pairs,
    encode_texts,
)
from cutaway.corpus.harvesting import Harvested, harvest
from cutaway.corpus.parts import Part, Stream
from cutaway.corpus.reading import iterate_pairs, read_labelled, read_pairs, read_texts
from cutaway.corpus.store import build_store, open_store, store_parts, store_tokenizers

__all__ = [
    "Batch",
    "BatchPlan",
    "Cleaner",
    "Cleaning",
    "EncodedPairs",
    "Filters",
    "Harvested",
    "LongReport",
    "Pairs",
    "Part",
    "SampledPairs",
    "Stream",
    "build_store",
    "clean",
    "collate",
    "embedded",
    "encode_labelled",
    "encode_pairs",
    "encode_texts",
    "harvest",
    "iterate_pairs",
    "on_device",
    "open_store",
    "read_labelled",
    "read_pairs",
    "read_texts",
    "store_parts",
    "store_tokenizers",
    "thrones",
    "to_tensors",
]
