"""Who lives in which memory: tensors found again by storage and geometry, through writes in place.

A tensor is known by its storage and its layout there, not by its Python object: autograd and views
make new objects for the same cells all the time.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from cutaway.glass.values import Buffer
from cutaway.glass.views import Layout

Geometry = tuple[int, tuple[int, ...], tuple[int, ...], torch.dtype]


@dataclass(slots=True)
class Memory:
    """One storage while recording: its latest whole value and the views known of it."""

    storage: Any  # held (or a weak reference is), so that its address is not given to another
    buffer: Buffer | None
    root: int  # value that covers everything written so far
    known: dict[Geometry, int] = field(default_factory=dict)


def geometry(tensor: Tensor) -> Geometry:
    """Where a tensor's cells lie in its storage."""
    return (tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)


def layout(tensor: Tensor) -> Layout:
    """Where a tensor's cells lie in its storage."""
    return Layout(tensor.storage_offset(), tuple(tensor.shape), tensor.stride())


def held_elsewhere(storage: Any, ours: int) -> bool:
    """Whether anyone beside us still holds this memory and could write to it."""
    return int(torch._C._storage_Use_Count(storage._cdata)) > ours
