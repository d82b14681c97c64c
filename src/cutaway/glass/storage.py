"""Which values lie in which memory: tensors found again by storage and geometry.

A tensor is known by its storage and its layout there, not by its Python object: autograd and views
make new objects for the same cells all the time.
"""

from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor

from cutaway.glass.origin import has_memory
from cutaway.glass.values import Buffer, Value
from cutaway.glass.views import Layout, row_major

Geometry = tuple[int, tuple[int, ...], tuple[int, ...], torch.dtype]


@dataclass(slots=True)
class Memory:
    """One storage while recording: its latest whole value and the views known of it."""

    storage: Any  # held (or a weak reference is), so that its address is not given to another
    buffer: Buffer | None
    root: int  # value that covers everything written so far
    known: dict[Geometry, int] = field(default_factory=dict)
    exposed: int | None = None  # checksum, once code outside torch may write to it


def geometry(tensor: Tensor) -> Geometry:
    """Where a tensor's cells lie in its storage."""
    return (cast(int, tensor.storage_offset()), tensor.shape, tensor.stride(), tensor.dtype)


def layout(tensor: Tensor) -> Layout:
    """Where a tensor's cells lie in its storage; row-major if it has none."""
    try:
        return Layout(int(tensor.storage_offset()), tuple(tensor.shape), tensor.stride())
    except (NotImplementedError, RuntimeError):
        shape = shape_of(tensor)
        return Layout(0, shape, row_major(shape))


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """The sizes of a tensor's axes; a nested one, which has none, is one row."""
    try:
        return tuple(int(size) for size in tensor.shape)
    except (NotImplementedError, RuntimeError):
        return (tensor.numel(),)


def held_elsewhere(storage: Any) -> bool:
    """Whether anything but the recorder still holds this memory and could write to it."""
    return int(torch._C._storage_Use_Count(storage._cdata)) > 1


def key_of(tensor: Tensor) -> int | None:
    """Which memory a tensor's numbers lie in, if they lie in readable memory of its own."""
    return tensor.untyped_storage()._cdata if has_memory(tensor) else None


def same_cells(left: Tensor, right: Tensor) -> bool:
    if left is right:
        return True
    key = key_of(left)
    return key is not None and key == key_of(right) and geometry(left) == geometry(right)


def mostly(tensor: Tensor, storage: Any) -> bool:
    """Whether a tensor is a good part of its storage, so that keeping all of it is no waste."""
    size: int = storage.nbytes()
    return size <= 1 << 16 or tensor.numel() * tensor.element_size() * 2 >= size


def window(tensor: Tensor, storage: Any) -> Buffer:
    """A copy of just the stretch of memory a tensor touches."""
    place = layout(tensor)
    count = storage.nbytes() // tensor.element_size()
    flat = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,), (1,))
    copy = flat[place.offset : place.end].clone().untyped_storage()
    buffer = Buffer(None, tensor.dtype, copy)
    buffer.start = place.offset
    return buffer


def strided(storage: Any, like: Value) -> Tensor:
    return torch.empty(0, dtype=getattr(torch, like.dtype)).set_(
        storage, like.layout.offset, like.shape, like.layout.strides
    )
