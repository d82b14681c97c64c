"""What a trace is made of: values, the buffers their numbers lie in, and the calls behind them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cutaway.glass.names import Site
from cutaway.glass.origin import checksum
from cutaway.glass.views import Layout

DTYPES = {
    torch.float64: "float64",
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
}
TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


class Buffer:
    """The numbers of one storage at one moment, shared by all views of it.

    It is the live storage until something writes to it; before a write it becomes a copy. Storages
    are held, not tensors: every recording begins by looking at all tensors alive, and thousands in
    earlier traces took it half a second.
    """

    __slots__ = ("changed", "checksum", "copy", "dtype", "kept", "start", "storage")

    def __init__(self, storage: Any, dtype: torch.dtype, copy: Any = None) -> None:
        self.storage = storage  # live, or None once frozen or not kept
        self.dtype = dtype
        self.copy = copy  # a storage of its own
        self.start = 0  # which element of the storage comes first
        self.kept = False  # a selection wants it
        self.checksum: int | None = None
        self.changed = False

    def read(self) -> Tensor:
        """All elements, one after another."""
        memory = self.storage if self.copy is None else self.copy
        count = memory.nbytes() // self.dtype.itemsize
        return torch.empty(0, dtype=self.dtype).set_(memory, 0, (count,), (1,))

    def freeze(self) -> None:
        """Take a copy: the live storage is about to change."""
        if self.storage is not None:
            self.changed = self.was_changed
            self.checksum = None
            self.copy = self.read().clone().untyped_storage()
            self.storage = None

    def mark(self) -> None:
        """Remember the numbers of a random draw, so that a change unseen is noticed later."""
        self.checksum = checksum(self.storage)

    @property
    def was_changed(self) -> bool:
        """Whether a marked buffer holds other numbers by now."""
        if self.checksum is None or self.storage is None:
            return self.changed
        return self.checksum != checksum(self.storage)

    @property
    def is_lost(self) -> bool:
        """Whether its numbers were let go."""
        return self.storage is None and self.copy is None

    @property
    def bytes(self) -> int:
        """How much memory it holds."""
        return self.read().numel() * self.dtype.itemsize


@dataclass(slots=True)
class Ref:
    """A tensor argument, by the value it was."""

    value: int


@dataclass(slots=True)
class OpCall:
    """One operation as it was called."""

    op: str
    arguments: dict[str, Any]  # by the schema's names, tensors as Ref
    outputs: list[int | None] = field(default_factory=list)  # None: a result left out


@dataclass(slots=True, eq=False)
class Value:
    """One tensor at one moment."""

    id: int
    origin: str  # "call", "view", "overwrite", "source"
    op: str
    phase: str
    path: str  # module path that owns the name
    number: int  # which call of that module
    shape: tuple[int, ...]
    dtype: str
    layout: Layout
    buffer: Buffer | None
    site: Site | None = None
    base: str = ""  # the statement's variable, for naming intermediates
    name: str | None = None  # the author's name
    address: str = ""
    call: OpCall | None = None
    output: int = 0
    args: tuple[int, ...] = ()  # view: what it looks at; overwrite: before, written
    source: str | None = None  # parameter, buffer, input, constant, random
    axes: list[str | None] | None = None
    grad: int | None = None
    of: int | None = None
    forward: int | None = None
    before: int | None = None
    after: int | None = None
    why: str = ""  # why its numbers cannot be kept, if so
    module: str = ""  # innermost module at work, also if the name belongs to its caller

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return self.layout.cells

    def tensor(self) -> Tensor:
        """Its numbers, as a tensor that must not be written to."""
        if self.buffer is None:
            raise LookupError(self.address)
        flat = self.buffer.read()
        return flat.as_strided(
            self.shape, self.layout.strides, self.layout.offset - self.buffer.start
        )

    def array(self) -> NDArray[Any]:
        """Its numbers for NumPy; half types as float32, without loss."""
        tensor = self.tensor()
        if tensor.dtype in (torch.bfloat16, torch.float16):
            tensor = tensor.float()
        result: NDArray[Any] = np.asarray(tensor.numpy())
        return result
