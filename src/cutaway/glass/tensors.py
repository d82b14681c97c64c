"""Tensors ↔ values: which value a tensor is right now, through views and writes in place."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from cutaway.glass.names import local_name
from cutaway.glass.origin import Origins, checksum, has_memory
from cutaway.glass.rules.source import DRAWS
from cutaway.glass.schema import COPIES
from cutaway.glass.select import Selection
from cutaway.glass.storage import (
    Memory,
    geometry,
    held_elsewhere,
    key_of,
    layout,
    mostly,
    shape_of,
    strided,
    window,
)
from cutaway.glass.trace import Trace
from cutaway.glass.values import DTYPES, Buffer, OpCall, Value


class Module:
    """A module call under way."""

    __slots__ = ("number", "path", "plain")

    def __init__(self, path: str, number: int, plain: bool) -> None:
        self.path = path
        self.number = number
        self.plain = plain  # torch's own leaf: its code is plumbing, the caller's line names it


class Tensors:
    """The memory of a recording: every storage met, and the values that live in it."""

    proves = True  # whether the trace will be proven, so that where tensors come from matters

    def __init__(self, trace: Trace, model: nn.Module | None, selection: Selection) -> None:
        self.trace = trace
        self.values = trace.values
        self.model = model
        self.selection = selection
        self.everything = selection.is_everything
        self.phase = "forward"
        self.modules: list[Module] = []
        self.paths: dict[int, str] = {}  # of modules
        self.memory: dict[int, Memory] = {}
        self.unreadable: dict[int, tuple[Tensor, int]] = {}  # by id, which stays taken: it is held
        self.named: dict[int, list[tuple[str, str, Tensor]]] = {}  # parameters by storage
        self.origins = Origins(wanted=self.proves)
        self.creating = False  # the operation under way turns Python data into a tensor
        self._know(model)

    def _know(self, model: nn.Module | None) -> None:
        """Learn the names of modules, parameters and buffers."""
        if model is None:
            return
        for path, module in model.named_modules():
            self.paths.setdefault(id(module), path)
        self.know("parameter", dict(model.named_parameters(remove_duplicate=False)))
        self.know("buffer", dict(model.named_buffers(remove_duplicate=False)))

    def know(self, kind: str, tensors: Mapping[str, Tensor]) -> None:
        """Learn the names of tensors that are there before the run."""
        for path, tensor in tensors.items():
            key = key_of(tensor)
            self.named.setdefault(id(tensor) if key is None else key, []).append(
                (path, kind, tensor)
            )

    def release(self) -> None:
        """The run is over: copy what others still hold and might write to, forget the rest."""
        for value in self.values:
            if value.buffer is not None and value.buffer.was_changed:
                value.origin, value.source = "source", "unexplained"
        for memory in self.memory.values():
            if memory.buffer is None or memory.buffer.storage is None:
                continue
            if held_elsewhere(memory.buffer.storage):
                memory.buffer.freeze()
        self.memory.clear()
        self.unreadable.clear()
        self.named.clear()

    @property
    def scope(self) -> tuple[str, int]:
        """Module path and call number that own the names of the author's code now running."""
        for entry in reversed(self.modules):
            if not entry.plain:
                return entry.path, entry.number
        return "", 1

    def find(self, tensor: Tensor) -> Value:
        """The value a tensor is right now; one never seen before becomes a source."""
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            inner = _unwrapped(tensor)
            return self._without_memory(tensor) if inner is tensor else self.find(inner)
        memory = self.memory.get(storage._cdata)
        if memory is None or tensor.is_neg() or tensor.is_nested:
            if not has_memory(tensor):
                return self._without_memory(tensor)
            return self._source(tensor, storage)
        if memory.exposed is not None and memory.exposed != checksum(storage):
            self._changed_outside(tensor, memory, storage)
        key = geometry(tensor)
        known = memory.known.get(key)
        if known is not None:
            return self.values[known]
        root = self.values[memory.root]
        place = layout(tensor)
        if root.source and (place.offset < root.layout.offset or place.end > root.layout.end):
            return self._source(tensor, storage)  # another window on the same large storage
        return self._view(tensor, memory, root)

    def _view(self, tensor: Tensor, memory: Memory, root: Value) -> Value:
        """A view of known memory that no recorded operation made."""
        same = root.dtype == DTYPES.get(tensor.dtype)
        value = self.new(
            "view" if same else "opaque", "alias", tensor, memory.buffer if same else None
        )
        value.args = (root.id,)
        value.base = root.name or root.base
        value.path, value.number = root.path, root.number
        if not same and not value.why:
            value.buffer = window(tensor, tensor.untyped_storage())
        memory.known[geometry(tensor)] = value.id
        return value

    def _without_memory(self, tensor: Tensor) -> Value:
        """A tensor whose numbers cannot be read: sparse, nested, on the meta device."""
        known = self.unreadable.get(id(tensor))
        if known is not None:
            return self.values[known[1]]
        value = self.new("source", "source", tensor, None)
        value.source = "input" if self.origins.was_there(tensor) else "unexplained"
        if id(tensor) in self.named:
            address, value.source, _ = self.named[id(tensor)][0]
            path, _, name = address.rpartition(".")
            self.trace.give_name(value, path, 1, name)
        self.unreadable[id(tensor)] = tensor, value.id
        return value

    def _source(self, tensor: Tensor, storage: Any) -> Value:
        """A tensor no recorded operation made: given to the run, a literal, or unexplained."""
        kind = self.origins.kind(tensor, storage, created=self.creating)
        known = self.named.get(storage._cdata, [])
        if known:
            address, given, whole = known[0]
            path, _, name = address.rpartition(".")
            kind = kind if kind == "unexplained" else given
        else:
            path, name, whole = "", local_name(tensor, self.model) or kind, tensor
            if tensor._is_view() and tensor._base is not None and mostly(tensor, storage):
                whole = tensor._base
        if mostly(whole, storage):
            buffer = Buffer(storage, whole.dtype)
        else:  # a small window on a large storage: its own copy is enough
            whole = tensor
            buffer = window(whole, storage)
        value = self.new("source", "source", whole, buffer)
        value.source = kind
        memory = self.memory.get(storage._cdata)
        if memory is None:
            live = buffer if buffer.storage is not None else None
            memory = self.memory[storage._cdata] = Memory(storage, live, value.id)
        memory.known[geometry(whole)] = value.id
        if not known and whole.numel() != tensor.numel():
            name = f"{name}_whole"
        self.trace.give_name(value, path, 1, name)
        for address, _, _ in known[1:]:
            self.trace.alias(address, value)
        if geometry(whole) != geometry(tensor):
            return self.find(tensor)
        return value

    def expose(self, tensor: Tensor) -> None:
        """Code the recorder does not see gets at a tensor's memory: note what is in it now."""
        self.find(tensor)
        if not has_memory(tensor):
            return
        storage = tensor.untyped_storage()
        memory = self.memory[storage._cdata]
        if memory.buffer is not None:
            memory.buffer.freeze()
        memory.exposed = checksum(storage)

    def _changed_outside(self, tensor: Tensor, memory: Memory, storage: Any) -> None:
        """The memory holds other numbers, and no recorded operation wrote them."""
        memory.exposed = checksum(storage)
        root = self.values[memory.root]
        whole = strided(storage, root)
        buffer = Buffer(storage, whole.dtype)
        value = self.new("source", "source", whole, buffer)
        value.source, value.before = "unexplained", root.id
        name = root.name or root.base or "unexplained"
        self.trace.give_name(value, root.path, root.number, name)
        memory.buffer, memory.root, memory.known = buffer, value.id, {geometry(whole): value.id}

    def new(self, origin: str, op: str, tensor: Tensor, buffer: Buffer | None) -> Value:
        path, number = self.scope
        why = _unreadable(tensor)
        dtype = str(tensor.dtype).removeprefix("torch.")
        value = Value(
            id=len(self.values),
            origin=origin,
            op=op,
            phase=self.phase,
            path=path,
            number=number,
            shape=shape_of(tensor) if why else tuple(tensor.shape),
            dtype=dtype,
            layout=layout(tensor),
            buffer=None if why else buffer,
            why=why,
        )
        value.module = self.modules[-1].path if self.modules else ""
        self.values.append(value)
        return value

    def result(
        self, tensor: Tensor, call: OpCall, place: int, inputs: list[Tensor], refs: dict[int, int]
    ) -> None:
        if not has_memory(tensor):
            value = self.new("call", call.op, tensor, None)
            value.call, value.output = call, place
            call.outputs.append(value.id)
            self.unreadable[id(tensor)] = tensor, value.id
            return
        storage = tensor.untyped_storage()
        key = storage._cdata
        source = next((t for t in inputs if key_of(t) == key), None)
        memory = self.memory.get(key)
        here = geometry(tensor)
        if source is not None and memory is not None:
            parent = self.values[refs[id(source)]]
            if source.dtype == tensor.dtype and call.op not in COPIES:
                known = memory.known.get(here)
                if known is not None:
                    call.outputs.append(known)  # detach, a transpose undone: the very same cells
                    return
                value = self.new("view", call.op, tensor, parent.buffer)
                value.args = (parent.id,)
                memory.known[here] = value.id
                call.outputs.append(value.id)
                return
        buffer = Buffer(storage, tensor.dtype) if tensor.dtype in DTYPES else None
        value = self.new("call", call.op, tensor, buffer)
        value.call, value.output = call, place
        call.outputs.append(value.id)
        if buffer is not None and _is_draw(call.op, place):
            buffer.mark()
        fresh = Memory(storage, buffer, value.id)
        fresh.known[here] = value.id
        if source is None or memory is None:
            self.memory[key] = fresh

    def written(self, tensor: Tensor, call: OpCall, place: int, before: int) -> None:
        """A tensor changed in place: a new value, and a new whole behind it."""
        memory = self.memory.get(key_of(tensor) or 0)
        if memory is None:  # no memory, or that of another tensor from now on
            if not has_memory(tensor):
                self.result(tensor, call, place, [], {})
                self.values[-1].before = before
            else:
                call.outputs.append(self.find(tensor).id)
            return
        storage = tensor.untyped_storage()
        buffer = Buffer(storage, tensor.dtype) if tensor.dtype in DTYPES else None
        value = self.new("call", call.op, tensor, buffer)
        value.call, value.output = call, place
        value.before = before
        call.outputs.append(value.id)
        root = self.values[memory.root]
        if buffer is not None and _is_draw(call.op, place):
            buffer.mark()
        if memory.exposed is not None:
            memory.exposed = checksum(storage)
        memory.buffer = buffer
        memory.known = {geometry(tensor): value.id}
        if (value.layout.is_dense and value.cells >= root.cells) or value.layout == root.layout:
            memory.root = value.id
            return
        whole = strided(storage, root)
        merged = self.new("overwrite", "overwrite", whole, buffer)
        merged.args = (root.id, value.id)
        memory.root = merged.id
        memory.known[geometry(whole)] = merged.id

    def let_go(self, begin: int, first: int, inputs: list[Tensor], refs: dict[int, int]) -> None:
        """Of what an operation touched, hold only the numbers that the selection wants.

        Operands of a wanted value are at hand right now, so they can be taken up again even if
        they were let go before.
        """
        wanted = [value for value in self.values[first:] if self.selection.keeps(value)]
        for value in wanted:
            if value.buffer is not None:
                value.buffer.kept = True
        if wanted:
            for tensor in inputs:
                buffer = self.values[refs[id(tensor)]].buffer
                if buffer is not None:
                    buffer.kept = True
                    if buffer.is_lost:
                        buffer.storage = tensor.untyped_storage()
        for value in self.values[begin:]:
            buffer = value.buffer
            if buffer is not None and not buffer.kept and buffer.storage is not None:
                memory = self.memory.get(buffer.storage._cdata)
                if memory is not None:
                    weak = StorageWeakRef(buffer.storage)  # type: ignore[no-untyped-call]
                    memory.storage = weak  # keeps the address ours
                buffer.storage = buffer.copy = None


def _unwrapped(tensor: Tensor) -> Tensor:
    """The tensor behind those that `torch.func` puts around it."""
    functorch: Any = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor


def _unreadable(tensor: Tensor) -> str:
    """Why the numbers of a tensor are not kept; empty if they are."""
    if not has_memory(tensor):
        if tensor.layout is not torch.strided:
            return f"{str(tensor.layout).removeprefix('torch.')} layout"
        if tensor.is_meta:
            return "no numbers on the meta device"
        if tensor.is_nested:
            return "nested layout"
        if tensor.is_neg():
            return "a view with a minus sign of its own"
        return f"no readable memory behind {type(tensor).__name__}"
    if tensor.dtype not in DTYPES:
        return f"{str(tensor.dtype).removeprefix('torch.')} numbers"
    return ""


def _is_draw(op: str, output: int) -> bool:
    """Whether a result is random: nothing can be recomputed, so a change must be noticed."""
    name = op.split(".")[1].rstrip("_")
    return name in DRAWS or (name == "native_dropout" and output == 1)
