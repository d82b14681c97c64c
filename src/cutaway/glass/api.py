"""What the page, a notebook and other tools ask of a trace; JSON for structure, bytes for numbers.

No web framework here: every function takes a trace and plain arguments, and returns plain data.
docs/glass-api.md lists the routes that serve them.
"""

import gzip
import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway.errors import NotFoundError, TraceError
from cutaway.glass.address import parse
from cutaway.glass.diff import diff as compare
from cutaway.glass.prove import prove as recompute
from cutaway.glass.store import bundle as stream
from cutaway.glass.store import header, raw
from cutaway.glass.trace import Trace
from cutaway.glass.values import DTYPES, Buffer
from cutaway.numbers import plain

CELLS = 1 << 22  # the largest window one call returns
SEEN = 1 << 28  # the largest matrix a picture is made of
LONGEST = 1 << 24  # of its rows: one row is pooled in one go
LISTED = 200  # values of each kind that a comparison names
AT_ONCE = 1 << 22  # cells pooled in one go; more cost memory, band by band they cost time

Check = Callable[[], None]  # raises to end long work


class Served:
    """Answers requests about one trace; the header is built once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._lock = threading.Lock()
        self._header: tuple[bytes, list[Buffer]] | None = None
        self._bundle: bytes | None = None

    def _built(self) -> tuple[bytes, list[Buffer]]:
        with self._lock:
            if self._header is None:
                data, buffers = header(self.trace)
                text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
                self._header = (text.encode(), buffers)
            return self._header

    def structure(self) -> bytes:
        """The header of the trace format, as JSON text."""
        return self._built()[0]

    def buffer(self, number: int, start: int = 0, stop: int | None = None) -> bytes:
        """The numbers of one buffer, or a stretch of them."""
        return raw(self._numbers(number)[start:stop])

    def cells(self, number: int, places: Sequence[int]) -> bytes:
        """Single numbers of a buffer."""
        numbers = self._numbers(number)
        if places and not 0 <= min(places) <= max(places) < len(numbers):
            raise TraceError(
                f"cells {min(places)} to {max(places)}; buffer {number} has {len(numbers)}"
            )
        return raw(numbers[torch.tensor(places, dtype=torch.int64)])

    def picture(
        self,
        number: int,
        offset: int,
        strides: tuple[int, int],
        shape: tuple[int, int],
        size: tuple[int, int],
    ) -> bytes:
        """A matrix in a buffer made small enough to see: `size` points, row by row.

        Of the cells that fall on a point, the one largest in size; NaN before all others.
        """
        numbers = self._numbers(number)
        if min(shape) < 1 or shape[1] > LONGEST:
            raise TraceError(f"a matrix of {shape[0]}×{shape[1]}; rows have 1 to {LONGEST:,} cells")
        last = offset + (shape[0] - 1) * strides[0] + (shape[1] - 1) * strides[1]
        if min(*strides, offset) < 0 or last >= len(numbers):
            raise TraceError(f"cells {offset} to {last}; buffer {number} has {len(numbers)}")
        if shape[0] * shape[1] > SEEN:  # a matrix may repeat cells, and be larger than its buffer
            raise TraceError(f"a matrix of {shape[0]}×{shape[1]} cells; at most {SEEN:,} are drawn")
        if not (0 < size[0] <= shape[0] and 0 < size[1] <= shape[1]) or size[0] * size[1] > CELLS:
            raise TraceError(
                f"a picture of {size[0]}×{size[1]} of {shape[0]}×{shape[1]} cells; "
                f"ask for at most as many, and {CELLS:,}"
            )
        matrix = numbers[offset:].as_strided(shape, strides)
        if matrix.numel() <= AT_ONCE:
            return raw(_pooled(matrix, size))
        return raw(torch.cat([_band(rows, size[1]) for rows in _bands(matrix, size[0])]))

    def extent(self, number: int) -> tuple[float, float, bool]:
        """Smallest and largest finite number of a value, and whether all its numbers are finite."""
        if not 0 <= number < len(self.trace.values):
            raise NotFoundError(f"no value {number}; this trace has {len(self.trace.values)}")
        tensor = self.trace.numbers(self.trace.values[number])
        if not tensor.dtype.is_floating_point or tensor.dtype.itemsize < 4:
            tensor = tensor.double()
        if tensor.numel() == 0:
            return 0.0, 0.0, True
        low, high = (end.item() for end in torch.aminmax(tensor))
        if math.isfinite(low) and math.isfinite(high):
            return low, high, True
        finite = tensor[torch.isfinite(tensor)]
        if finite.numel() == 0:
            return 0.0, 0.0, False
        low, high = (end.item() for end in torch.aminmax(finite))
        return low, high, False

    def _numbers(self, number: int) -> Tensor:
        buffers = self._built()[1]
        if not 0 <= number < len(buffers):
            raise NotFoundError(f"no buffer {number}; this trace has {len(buffers)}")
        return buffers[number].read()

    def window(
        self, address: str, spans: Sequence[tuple[int, int]] | None = None
    ) -> tuple[dict[str, Any], bytes]:
        """A block of a value, row-major: what it is, and its numbers.

        `address` may carry indices and slices; `spans` has (first, one past the last) per axis.
        """
        name, indices = parse(address)
        value = self.trace.value(name)
        tensor = self.trace.numbers(value)
        if indices:
            tensor = tensor[indices]
        if spans is not None:
            if len(spans) != tensor.dim():
                raise TraceError(
                    f"{len(spans)} spans for {address} of {tensor.dim()} axes; give one per axis"
                )
            for axis, (start, stop) in enumerate(spans):
                if not 0 <= start <= stop:
                    raise TraceError(f"span {start}:{stop} of {address} runs backwards")
                stop = min(stop, tensor.shape[axis])
                tensor = tensor.narrow(axis, min(start, stop), stop - min(start, stop))
        if tensor.numel() > CELLS:
            raise TraceError(
                f"{address} has {tensor.numel():,} cells; ask for at most {CELLS:,} at once"
            )
        meta = {
            "address": value.address,
            "shape": list(tensor.shape),
            "whole": list(value.shape),
            "dtype": DTYPES[tensor.dtype],
        }
        return meta, raw(tensor.contiguous().flatten())

    def explain(self, address: str, *, terms: int = 4, limit: int = 200) -> dict[str, Any]:
        """`Trace.explain` as plain data."""
        return self.trace.explain(address, terms=terms).to_dict(limit=limit)

    def prove(self, pattern: str = "*", *, check: Check = lambda: None) -> dict[str, Any]:
        """`Trace.prove` as plain data."""
        proof = recompute(self.trace, pattern, check)
        return {**plain(proof), "complete": proof.complete}

    def diff(self, other: "Served", *, check: Check = lambda: None) -> dict[str, Any]:
        """`Trace.diff` as plain data."""
        found = compare(self.trace, other.trace, check=check)
        answer: dict[str, Any] = plain(found)
        lists = {name: part[:LISTED] for name, part in answer.items() if isinstance(part, list)}
        return {"same": found.same, **answer, **lists}

    def bundle(self, *, compressed: bool = False) -> bytes:
        """The whole trace as one stream, gzip-compressed if asked."""
        with self._lock:
            if self._bundle is None:
                self._bundle = stream(self.trace)
        return gzip.compress(self._bundle, 6, mtime=0) if compressed else self._bundle


def _bands(matrix: Tensor, count: int) -> Iterator[Tensor]:
    """The rows that fall on each of `count` points; neighbours may share one."""
    for place in range(count):
        yield matrix[place * len(matrix) // count : -(-(place + 1) * len(matrix) // count)]


def _band(rows: Tensor, width: int) -> Tensor:
    """One row of points for many rows of cells, a few million cells at a time."""
    step = max(1, AT_ONCE // rows.shape[1])
    parts = [_pooled(part, (1, width)) for part in torch.split(rows, step)]
    return parts[0] if len(parts) == 1 else _pooled(torch.stack(parts), (1, width))


def _pooled(cells: Tensor, size: tuple[int, int]) -> Tensor:
    """Of the cells that fall on each of `size` points, the largest: row by row."""
    large = cells.abs() if cells.dtype in (torch.float32, torch.float64) else cells.double().abs()
    _, places = F.adaptive_max_pool2d(large[None], size, return_indices=True)
    return cells.flatten()[places.flatten()]
