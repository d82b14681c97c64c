"""A run, watched: every operation of one thread, with its inputs, result, name and line.

Two modes and two pairs of hooks, all undone on leaving: the dispatch mode sees every ATen
operation, the function mode sees what the author's line called (and swaps fused kernels for their
formula), module hooks tell whose code is running, optimizer hooks when weights change.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from cutaway.glass.graph import GradientLinks
from cutaway.glass.modes import Functions, Operations
from cutaway.glass.names import (
    READABLE_FUNCTIONS,
    Naming,
    author_frame,
    is_author,
    local_name,
    naming,
)
from cutaway.glass.schema import COPIES, HIDDEN_WRITES, schema_of, slots, tensors_in, with_refs
from cutaway.glass.select import Selection
from cutaway.glass.storage import (
    Memory,
    geometry,
    held_elsewhere,
    layout,
    mostly,
    same_cells,
    strided,
    window,
)
from cutaway.glass.trace import Trace
from cutaway.glass.values import DTYPES, Buffer, OpCall, Value
from cutaway.model import explicit

Phase = str


@contextmanager
def record(
    model: nn.Module | None = None,
    *,
    select: str | Sequence[str] | Callable[[Value], bool] | None = None,
    phases: Sequence[str] | None = None,
    labels: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
) -> Iterator[Trace]:
    """Record everything the block computes in this thread; the trace is complete at its end.

    `select` keeps only the numbers of values whose address matches (a pattern such as
    "decoder.layers.*", several, or a function), with their direct operands; the structure of the
    run is always kept. `phases` keeps only these phases' numbers. `labels` names positions, see
    `Trace.label`.
    """
    trace = Trace(model)
    trace.meta.update(meta or {})
    recorder = Recorder(trace, model, Selection(select, phases))
    with recorder:
        yield trace
    if labels:
        trace.label(**labels)


class _Module:
    """A module call under way."""

    __slots__ = ("number", "path", "plain")

    def __init__(self, path: str, number: int, plain: bool) -> None:
        self.path = path
        self.number = number
        self.plain = plain  # torch's own leaf: its code is plumbing, the caller's line names it


class _Tail:
    """The last operation of the statement under way."""

    __slots__ = ("key", "name", "number", "path", "value")

    def __init__(self) -> None:
        self.key: tuple[int, int] = (0, 0)
        self.value: Value | None = None
        self.path, self.number, self.name = "", 1, ""


class Recorder:
    """The watching itself; one thread, entered once."""

    def __init__(self, trace: Trace, model: nn.Module | None, selection: Selection) -> None:
        self.trace = trace
        self.model = model
        self.selection = selection
        self.values = trace.values
        self.thread = threading.get_ident()
        self.phase: Phase = "forward"
        self.busy = 0
        self.modules: list[_Module] = []
        self.calls: dict[str, int] = {}
        self.paths: dict[int, str] = {}
        self.memory: dict[int, Memory] = {}
        self.named: dict[int, list[tuple[str, str, Tensor]]] = {}
        self.outside: list[int] = []  # values of no module, loss if a backward follows
        self.links = GradientLinks(self)
        self.update_before: dict[str, int] = {}
        self.everything = selection.is_everything
        self.tail: _Tail | None = None
        self._know(model)

    # -- entering and leaving ---------------------------------------------------------------

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

    def __enter__(self) -> "Recorder":
        self.stack = ExitStack()
        self.stack.enter_context(explicit())
        for handle in (
            register_module_forward_pre_hook(self._module_begins),
            register_module_forward_hook(self._module_ends, always_call=True),
            register_optimizer_step_pre_hook(self._update_begins),
            register_optimizer_step_post_hook(self._update_ends),
        ):
            self.stack.callback(handle.remove)
        self.stack.enter_context(Functions(self))
        self.stack.enter_context(Operations(self))
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        for memory in self.memory.values():
            if memory.buffer is None or memory.buffer.storage is None:
                continue
            ours = 1 + (memory.buffer.flat is not None)
            if held_elsewhere(memory.buffer.storage, ours):
                memory.buffer.freeze()
        self.memory.clear()
        self.named.clear()
        self.trace.seal()

    @property
    def here(self) -> bool:
        """Whether this is the recording thread, and not our own bookkeeping."""
        return not self.busy and threading.get_ident() == self.thread

    # -- modules ----------------------------------------------------------------------------

    def _module_begins(self, module: nn.Module, inputs: Any) -> None:
        if not self.here:
            return
        path = self.paths.get(id(module))
        if path is None:
            path = type(module).__name__
        number = self.calls[path] = self.calls.get(path, 0) + 1
        plain = (
            not is_author(type(module).forward.__code__)
            if hasattr(type(module).forward, "__code__")
            else True
        )
        self.modules.append(_Module(path, number, plain))
        self.trace.note_module(path, type(module))

    def _module_ends(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        if not self.here or not self.modules:
            return None
        entry = self.modules.pop()
        if output is None:
            return None
        with self._quiet():
            frame = author_frame(sys._getframe(1))
            part = entry.plain and self.modules and self.modules[-1].plain  # of a Sequential
            result = output
            if frame is not None and not part:
                found = naming(frame)
                if found.exact and found.names:
                    result = self.assign(result, found, frame)
            if entry.plain and isinstance(result, Tensor):
                result = self.called(result, entry.path, entry.number, "output", weak=True)
            elif isinstance(result, Tensor):
                result = self.given_back(result, entry.path, entry.number)
        return None if result is output else result

    def called(self, tensor: Tensor, path: str, number: int, name: str, *, weak: bool) -> Tensor:
        """Give a tensor its name; a patch may put another in its place."""
        self.trace.give_name(self.find(tensor), path, number, name, weak=weak)
        return tensor

    def given_back(self, tensor: Tensor, path: str, number: int) -> Tensor:
        """What a module of the author's returns is its `output`, if nothing else has that name."""
        self.trace.returned(self.find(tensor), path, number)
        return tensor

    @property
    def scope(self) -> tuple[str, int]:
        """Module path and call number that own the names of the author's code now running."""
        for entry in reversed(self.modules):
            if not entry.plain:
                return entry.path, entry.number
        return "", 1

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Our own tensor calls are not part of the run."""
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1

    # -- what the author's line called ------------------------------------------------------

    def function_returned(self, result: Any) -> Any:
        """Name a result if it is what the author's statement assigns."""
        if self.phase == "backward" or (self.modules and self.modules[-1].plain):
            return result
        if not isinstance(result, Tensor) and not (
            isinstance(result, (tuple, list)) and any(isinstance(part, Tensor) for part in result)
        ):
            return result
        frame = author_frame(sys._getframe(2))
        if frame is None:
            return result
        found = naming(frame)
        if found.exact and found.names:
            with self._quiet():
                return self.assign(result, found, frame)
        return result

    @contextmanager
    def by_statement(self) -> Iterator[None]:
        """Within a function of torch whose own calls we do not see: the last operation of each
        statement carries its name."""
        self.tail = _Tail()
        try:
            yield
        finally:
            self._settle()
            self.tail = None

    def _settle(self) -> None:
        """Name what the statement before computed last."""
        tail = self.tail
        if tail is not None and tail.value is not None:
            self.trace.give_name(tail.value, tail.path, tail.number, tail.name)
            tail.value = None

    def _note(self, value: Value, frame: Any, found: Naming) -> None:
        """The operation just recorded may be the last of its statement."""
        tail = self.tail
        assert tail is not None
        key = (id(frame), found.site.line)
        if key != tail.key:
            self._settle()
        tail.key = key
        whole = len(found.names) == 1 and found.names[0] != "output"
        if whole and frame.f_code.co_qualname in READABLE_FUNCTIONS:
            path, number = self.scope
            tail.value, tail.path, tail.number, tail.name = value, path, number, found.names[0]

    def assign(self, result: Any, found: Naming, frame: Any) -> Any:
        """Give the result of a statement the names it assigns."""
        path, number = self._update_scope(frame) if self.phase == "update" else self.scope
        names = found.names
        if isinstance(result, Tensor):
            if len(names) != 1 or names[0] == "_":
                return result
            return self.called(result, path, number, names[0], weak=found.weak)
        if not isinstance(result, (tuple, list)):
            return result
        parts = list(result)
        for place, part in enumerate(parts):
            if len(names) == len(parts):
                name = names[place]
            else:
                name = names[0] if len(names) == 1 else "_"
            if isinstance(part, Tensor) and name not in ("", "_"):
                parts[place] = self.called(part, path, number, name, weak=found.weak)
        if all(new is old for new, old in zip(parts, result, strict=True)):
            return result
        return type(result)(parts) if type(result) in (tuple, list) else type(result)(*parts)

    # -- tensors ↔ values ---------------------------------------------------------------------

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
        value = self._new(
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
        value = self._new("source", "source", whole, buffer)
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

    def _new(self, origin: str, op: str, tensor: Tensor, buffer: Buffer | None) -> Value:
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

    # -- operations -------------------------------------------------------------------------

    def operation(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one ATen operation and write down what it did."""
        schema = schema_of(func)
        bound, tensors = schema.bind(args, kwargs)
        begin = len(self.values)
        refs = {id(tensor): self.find(tensor).id for tensor in tensors}
        arguments = {name: with_refs(value, refs) for name, value in bound.items()}
        written = [bound[name] for name in schema.writes if bound.get(name) is not None]
        if schema.name in HIDDEN_WRITES:
            written += HIDDEN_WRITES[schema.name](bound)
        targets = [tensor for part in written for tensor in tensors_in(part)]
        for tensor in targets:
            memory = self.memory[tensor.untyped_storage()._cdata]
            if memory.buffer is not None:
                memory.buffer.freeze()
        result = func(*args, **kwargs)
        call = OpCall(schema.name, arguments)
        frame = author_frame(sys._getframe(2))
        links = self.links.forward_of() if self.phase == "backward" else None
        first = len(self.values)
        outputs = list(tensors_in(result))
        seen: set[int] = set()
        for place, slot in enumerate(slots(result)):
            if slot is None:  # a gradient nobody asked for
                call.outputs.append(None)
                continue
            changed = next((t for t in targets if t is slot or same_cells(t, slot)), None)
            if changed is not None:
                seen.add(id(changed))
                self._written(changed, call, place, refs[id(changed)])
            else:
                self._result(slot, call, place, tensors, refs)
        for tensor in targets:
            if id(tensor) not in seen and not any(same_cells(tensor, done) for done in outputs):
                self._written(tensor, call, len(call.outputs), refs[id(tensor)])
        self._describe(first, frame, links)
        if not self.everything:
            self._let_go(begin, first, tensors, refs)
        if self.phase == "forward":
            self.links.forward(call)
        return result

    def _let_go(self, begin: int, first: int, inputs: list[Tensor], refs: dict[int, int]) -> None:
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

    def _describe(self, first: int, frame: Any, forward: int | None) -> None:
        """Line and statement of the values an operation made."""
        if first == len(self.values):
            return
        if forward is not None:
            line = self.values[forward]
            for value in self.values[first:]:
                value.forward = forward
                value.site, value.path, value.number = line.site, line.path, line.number
            return
        if frame is None:
            return
        found = naming(frame)
        base = found.names[0] if found.names else ""
        update = self._update_scope(frame) if self.phase == "update" else None
        if self.tail is not None:
            self._note(self.values[-1], frame, found)
        for value in self.values[first:]:
            value.site = found.site
            value.base = base
            if update is not None:
                value.path, value.number = update
        if not self.modules and self.phase == "forward" and self.calls:
            self.outside.extend(range(first, len(self.values)))

    def _result(
        self, tensor: Tensor, call: OpCall, place: int, inputs: list[Tensor], refs: dict[int, int]
    ) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        source = next((t for t in inputs if t.untyped_storage()._cdata == key), None)
        memory = self.memory.get(key)
        if source is not None and memory is not None:
            parent = self.values[refs[id(source)]]
            if source.dtype == tensor.dtype and call.op not in COPIES:
                known = memory.known.get(geometry(tensor))
                if known is not None:
                    call.outputs.append(known)  # detach, a transpose undone: the very same cells
                    return
                value = self._new("view", call.op, tensor, parent.buffer)
                value.args = (parent.id,)
                memory.known[geometry(tensor)] = value.id
                call.outputs.append(value.id)
                return
        buffer = Buffer(storage, tensor.dtype) if tensor.dtype in DTYPES else None
        value = self._new("call", call.op, tensor, buffer)
        value.call, value.output = call, place
        call.outputs.append(value.id)
        fresh = Memory(storage, buffer, value.id)
        fresh.known[geometry(tensor)] = value.id
        if source is None or memory is None:
            self.memory[key] = fresh

    def _written(self, tensor: Tensor, call: OpCall, place: int, before: int) -> None:
        """A tensor changed in place: a new value, and a new whole behind it."""
        storage = tensor.untyped_storage()
        memory = self.memory[storage._cdata]
        buffer = Buffer(storage, tensor.dtype)
        value = self._new("call", call.op, tensor, buffer)
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
        merged = self._new("overwrite", "overwrite", whole, buffer)
        merged.args = (root.id, value.id)
        memory.root = merged.id
        memory.known[geometry(whole)] = merged.id

    # -- backward ---------------------------------------------------------------------------

    def backward(self, run: Callable[[], Any], roots: Sequence[Tensor]) -> Any:
        """Run a backward pass, its gradients linked to the values they belong to."""
        for place in self.outside:
            if self.values[place].phase == "forward":
                self.values[place].phase = "loss"
        self.outside.clear()
        before, self.phase = self.phase, "backward"
        try:
            with self.links.watching(roots):
                return run()
        finally:
            with self._quiet():
                self.links.leaves()
            self.phase = before

    # -- update -----------------------------------------------------------------------------

    def _update_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.here:
            return
        self.phase = "update"
        with self._quiet():
            for name, tensor in self._states(optimizer):
                self._name_state(name, tensor)
                self.update_before[name] = self.find(tensor).id

    def _update_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.here:
            return
        with self._quiet():
            for name, tensor in self._states(optimizer):
                value = self.find(tensor)
                before = self.update_before.get(name)
                if before == value.id:
                    continue
                path, _, own = name.rpartition(".")
                if before is None:  # a state this very step began
                    origin = value
                    while origin.before is not None:
                        origin = self.values[origin.before]
                    if origin is not value:
                        self.trace.rename(origin, path, own)
                        before = origin.id
                if before is not None:
                    self.values[before].after = value.id
                value.before = before
                self.trace.give_name(value, path, 1, own, suffix="after")
        self.update_before.clear()
        self.phase = "forward"

    def _states(self, optimizer: Any) -> Iterator[tuple[str, Tensor]]:
        """Parameters by path and the optimizer's tensors for each."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                address = self._path_of(parameter)
                yield address, parameter
                for name, state in optimizer.state.get(parameter, {}).items():
                    if isinstance(state, Tensor):
                        yield f"{address}.{name}", state

    def _name_state(self, name: str, tensor: Tensor) -> None:
        if tensor.untyped_storage()._cdata not in self.memory:
            value = self.find(tensor)
            value.source = "buffer"
            path, _, own = name.rpartition(".")
            self.trace.rename(value, path, own)

    def _update_scope(self, frame: Any) -> tuple[str, int]:
        """Names inside an optimizer's loop belong to the parameter in hand."""
        while frame is not None:
            parameter = frame.f_locals.get("param")
            if isinstance(parameter, Tensor):
                return f"{self._path_of(parameter)}.update", 1
            frame = frame.f_back
        return "update", 1

    def _path_of(self, parameter: Tensor) -> str:
        """A parameter's own name, however often it has been updated."""
        known = self.named.get(parameter.untyped_storage()._cdata)
        if known:
            return known[0][0]
        value = self.find(parameter)
        while value.before is not None:
            value = self.values[value.before]
        return value.address
