"""A file of facts, arrays and texts, as the processes of a cluster hand them on.

One line of JSON, then the arrays one after the other, little-endian, then the texts as UTF-8: no
text needs to be escaped, and nothing in the file is run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import DataError
from cutaway.system.shards import write_whole

LENGTHS = "lengths"  # characters of each source and target, one after the other
TYPES = ("|u1", "<u2", "<u4", "<u8", "<i8")


@dataclass(frozen=True)
class Packed:
    """What such a file holds."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    text: str

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The texts two by two."""
        at = 0
        text, lengths = self.text, self.arrays[LENGTHS].tolist()
        for first, second in zip(lengths[::2], lengths[1::2], strict=True):
            middle, end = at + first, at + first + second
            yield text[at:middle], text[middle:end]
            at = end


def pack(
    path: Path,
    facts: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    pairs: Iterable[tuple[str, str]] = (),
) -> None:
    """Write a file, which is whole or absent."""
    texts = list(chain.from_iterable(pairs))
    lengths = np.array([len(text) for text in texts], "<u4")
    kept = {
        name: array.astype(array.dtype.newbyteorder("<"), copy=False)
        for name, array in {**arrays, LENGTHS: lengths}.items()
    }
    text = "".join(texts).encode("utf-8", "surrogatepass")
    header = {
        "facts": dict(facts),
        "arrays": [[name, array.dtype.str, len(array)] for name, array in kept.items()],
        "bytes": len(text),
    }
    blocks = (array.tobytes() for array in kept.values())
    write_whole(path, [json.dumps(header).encode(), b"\n", *blocks, text])


def unpack(path: Path) -> Packed:
    """Read a file; one that is not as it was written is refused."""
    try:
        data = path.read_bytes()
        head, _, body = data.partition(b"\n")
        header = json.loads(head)
        arrays: dict[str, NDArray[Any]] = {}
        at = 0
        for name, kind, count in header["arrays"]:
            if kind not in TYPES:
                raise ValueError(f"an array of {kind}")
            arrays[name] = np.frombuffer(body, kind, count, at)
            at += arrays[name].nbytes
        if len(body) - at != header["bytes"]:
            raise ValueError(f"{len(body)} bytes, expected {at + header['bytes']}")
        text = body[at:].decode("utf-8", "surrogatepass")
        return Packed(header["facts"], arrays, text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}: damaged ({error}); remove this file and give the same command again"
        ) from None
