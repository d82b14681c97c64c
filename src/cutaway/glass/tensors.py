"""Tensors ↔ values: which value a tensor is right now, through views and writes in place."""

from typing import Any

from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from cutaway.glass.names import local_name
from cutaway.glass.schema import COPIES
from cutaway.glass.select import Selection
from cutaway.glass.storage import (
    Memory,
    geometry,
    held_elsewhere,
    layout,
    mostly,
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
        self.named: dict[int, list[tuple[str, str, Tensor]]] = {}  # parameters by storage
        self._know(model)

    def _know(self, model: nn.Module | None) -> None:
        """Learn the names of modules, parameters and buffers."""
        if model is None:
            return
        for path, module in model.named_modules():
            self.paths.setdefault(id(module), path)
        for kind, pairs in (
            ("parameter", model.named_parameters(remove_duplicate=False)),
            ("buffer", model.named_buffers(remove_duplicate=False)),
        ):
            for path, tensor in pairs:
                key = tensor.untyped_storage()._cdata
                self.named.setdefault(key, []).append((path, kind, tensor))

    def release(self) -> None:
        """The run is over: copy what others still hold and might write to, forget the rest."""
        for memory in self.memory.values():
            if memory.buffer is None or memory.buffer.storage is None:
                continue
            ours = 1 + (memory.buffer.flat is not None)
            if held_elsewhere(memory.buffer.storage, ours):
                memory.buffer.freeze()
        self.memory.clear()
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
        storage = tensor.untyped_storage()
        memory = self.memory.get(storage._cdata)
        if memory is None:
            return self._source(tensor, storage)
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
        """A layout of known memory that no operation told us about."""
        same = root.dtype == DTYPES[tensor.dtype]
        value = self.new(
            "view" if same else "opaque", "alias", tensor, memory.buffer if same else None
        )
        value.args = (root.id,)
        value.base = root.name or root.base
        value.path, value.number = root.path, root.number
        if not same:
            value.buffer = window(tensor, tensor.untyped_storage())
        memory.known[geometry(tensor)] = value.id
        return value

    def _source(self, tensor: Tensor, storage: Any) -> Value:
        """A tensor from outside the run: parameter, buffer, input or constant."""
        kind, name, path, whole = "input", None, "", tensor
        for candidate, found, known in self.named.get(storage._cdata, ()):
            path, _, name = candidate.rpartition(".")
            kind, whole = found, known
            break
        if name is None:
            if tensor._is_view() and tensor._base is not None and mostly(tensor, storage):
                whole = tensor._base
            found_name = local_name(tensor, self.model)
            if found_name is None:
                name = "input"
            else:
                name, _ = found_name
        buffer: Buffer | None
        if mostly(whole, storage):
            buffer = Buffer(storage, whole.dtype)
        else:  # a small window on a large storage: its own copy is enough
            whole = tensor
            buffer = window(whole, storage)
        value = self.new("source", "source", whole, buffer)
        value.source = kind
        value.site = None
        value.path, value.number = path, 1
        memory = self.memory.get(storage._cdata)
        if memory is None:
            live = buffer if buffer.storage is not None else None
            memory = self.memory[storage._cdata] = Memory(storage, live, value.id)
        memory.known[geometry(whole)] = value.id
        if kind == "input":
            if whole is not tensor and whole.numel() != tensor.numel():
                self.trace.give_name(value, path, 1, f"{name}_whole")
            else:
                self.trace.give_name(value, path, 1, name)
        else:
            self.trace.give_name(value, path, 1, name)
            for candidate, _, _ in self.named[storage._cdata][1:]:
                self.trace.alias(candidate, value)
        if geometry(whole) != geometry(tensor):
            return self.find(tensor)
        return value

    def new(self, origin: str, op: str, tensor: Tensor, buffer: Buffer | None) -> Value:
        path, number = self.scope
        dtype = DTYPES.get(tensor.dtype)
        if dtype is None:
            dtype, buffer = str(tensor.dtype).removeprefix("torch."), None
        value = Value(
            id=len(self.values),
            origin=origin,
            op=op,
            phase=self.phase,
            path=path,
            number=number,
            shape=tuple(tensor.shape),
            dtype=dtype,
            layout=layout(tensor),
            buffer=buffer,
        )
        value.module = self.modules[-1].path if self.modules else ""
        self.values.append(value)
        return value

    def result(
        self, tensor: Tensor, call: OpCall, place: int, inputs: list[Tensor], refs: dict[int, int]
    ) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        source = next((t for t in inputs if t.untyped_storage()._cdata == key), None)
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
        fresh = Memory(storage, buffer, value.id)
        fresh.known[here] = value.id
        if source is None or memory is None:
            self.memory[key] = fresh

    def written(self, tensor: Tensor, call: OpCall, place: int, before: int) -> None:
        """A tensor changed in place: a new value, and a new whole behind it."""
        storage = tensor.untyped_storage()
        memory = self.memory[storage._cdata]
        buffer = Buffer(storage, tensor.dtype)
        value = self.new("call", call.op, tensor, buffer)
        value.call, value.output = call, place
        value.before = before
        call.outputs.append(value.id)
        root = self.values[memory.root]
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
                buffer.storage = buffer.flat = None
