"""Which tensors a run was given, and which were made unseen while it ran.

A recorder sees the operations of torch in one thread. NumPy, lists, other threads and kernels of
other libraries compute unseen; a tensor they made or changed is `unexplained`, never an input.
"""

import ctypes
import gc
import sys
import weakref
import zlib
from itertools import compress
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

_release: Any = torch.UntypedStorage._free_weak_ref

_TELLS_CLASSES = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13)

LARGEST = 1 << 24  # bytes of shared memory that are compared with what they were at the start

# Methods that hand numbers, or the memory itself, to code the recorder does not see.
READS = frozenset(["tolist", "item", "__float__", "__int__", "__index__", "__complex__"])
EXPOSES = frozenset(
    ["numpy", "__array__", "__dlpack__", "data_ptr", "const_data_ptr", "untyped_storage",
     "storage", "_typed_storage"]
)  # fmt: skip


def checksum(storage: Any) -> int:
    """A number that changes when the bytes of a storage do."""
    count = storage.nbytes()
    if not count:
        return 0
    return zlib.crc32((ctypes.c_char * count).from_address(storage.data_ptr()))


def has_memory(tensor: Tensor) -> bool:
    """Whether a tensor's numbers lie in memory of its own that can be read.

    Not so: sparse, nested and quantized layouts, the meta device, views with a minus sign of their
    own (the imaginary part of a conjugate), tensors of `torch.func`, and classes that only wrap.
    """
    if tensor.layout is not torch.strided or tensor.is_meta or tensor.is_quantized:
        return False
    if tensor.is_neg() or tensor.is_nested:
        return False
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr() != 0 or storage.nbytes() == 0
    except (NotImplementedError, RuntimeError):
        return False


def _kinds(kind: type) -> set[type]:
    found: set[type] = {kind}
    below: type
    for below in kind.__subclasses__():
        found |= _kinds(below)
    return found


def _memoryless() -> set[type]:
    """Tensor classes that stand for shapes alone; sizes of theirs may be symbols."""
    module = sys.modules.get("torch._subclasses.fake_tensor")
    return set() if module is None else _kinds(module.FakeTensor)


def _living(kinds: set[type]) -> list[Any]:
    """All objects of these classes that the garbage collector knows, of half a million and more.

    An object refers to its class, so the classes' referrers are found within one call. To list all
    objects first would hold for a moment what other threads are building: a tuple that somebody
    else holds cannot grow, and Python raises a SystemError there. Older torch (2.6) does not tell
    the collector of the class of every tensor.
    """
    if _TELLS_CLASSES:
        return [one for one in gc.get_referrers(*kinds) if type(one) in kinds]
    objects = gc.get_objects()
    return list(compress(objects, map(kinds.__contains__, map(type, objects))))


class Origins:
    """What existed before the block, by storage."""

    def __init__(self, *, wanted: bool = True) -> None:
        self.first_node = torch._C._autograd._get_sequence_nr()
        self.weak: list[int] = []  # weak references, so that no address is given out again
        self.versions: dict[int, int] = {}
        self.checksums: dict[int, int] = {}
        self.memoryless: dict[int, weakref.ref[Tensor]] = {}  # by id
        self.literal = False  # code of torch itself is making a tensor
        self.escaped_number = self.escaped_many = False  # computed numbers were read by Python
        if not wanted:
            return
        kinds = _kinds(Tensor) - _memoryless()
        with torch._C.DisableTorchFunction(), _disable_current_modes():  # not to be recorded
            for tensor in _living(kinds):
                self._note(tensor)
                if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
                    self._note(tensor.grad)

    def _note(self, tensor: Tensor) -> None:
        if not has_memory(tensor):
            self.memoryless[id(tensor)] = weakref.ref(tensor)
            return
        storage: Any = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.versions:
            self.weak.append(storage._weak_ref())
            shared = not storage.resizable() and storage.nbytes() <= LARGEST
            if shared and tensor.device.type == "cpu" and not isinstance(tensor, nn.Parameter):
                self.checksums[key] = checksum(storage)
        self.versions[key] = max(self.versions.get(key, 0), _version(tensor))

    def __del__(self) -> None:
        for reference in self.weak:
            _release(reference)

    def escapes(self, tensor: Tensor, method: str) -> None:
        """Computed numbers went to Python: what is made from Python data may be made of them."""
        if tensor.dtype == torch.bool:  # a question of control flow
            return
        if method in ("item", "__float__") and tensor.is_floating_point():
            self.escaped_number = True
        else:
            self.escaped_many = True

    def was_there(self, tensor: Tensor) -> bool:
        """Whether a tensor without readable memory existed before the block."""
        known = self.memoryless.get(id(tensor))
        return known is not None and known() is tensor

    def kind(self, tensor: Tensor, storage: Any, *, created: bool) -> str:
        """What a tensor first seen now is: input, constant or unexplained."""
        if created:  # from a literal, a list or an array
            read = self.escaped_many or (self.escaped_number and tensor.is_floating_point())
            outside = not storage.resizable() or (read and not self.literal)
            return "unexplained" if outside else "constant"
        key = storage._cdata
        if key in self.versions:
            changed = _version(tensor) > self.versions[key] or (
                key in self.checksums and checksum(storage) != self.checksums[key]
            )
            return "unexplained" if changed else "input"
        node: Any = torch._C._current_autograd_node()
        if node is not None and node._sequence_nr() < self.first_node:
            return "input"  # saved by a forward pass before the block
        return "unexplained"


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version
