"""Record a run: every operation of one thread, with its inputs, result, name and line.

Two modes and two pairs of hooks, all undone on leaving: the dispatch mode sees every ATen
operation, the function mode sees what the author's line called (and swaps fused kernels for their
formula), module hooks tell whose code is running, optimizer hooks when weights change.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from inspect import getattr_static
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from cutaway.glass.compiled import as_written
from cutaway.glass.graph import GradientLinks
from cutaway.glass.modes import Functions, Operations, abstract
from cutaway.glass.names import Naming, author_frame, is_author, naming
from cutaway.glass.origin import EXPOSES
from cutaway.glass.schema import HIDDEN_WRITES, schema_of, slots, tensors_in, with_refs
from cutaway.glass.select import Selection
from cutaway.glass.statements import Statements
from cutaway.glass.storage import key_of, same_cells
from cutaway.glass.tensors import Module, Tensors
from cutaway.glass.trace import Trace
from cutaway.glass.updates import Updates
from cutaway.glass.values import OpCall, Value

LOG = logging.getLogger("cutaway.glass")
TORCH = os.path.dirname(torch.__file__)
GLASS = os.path.dirname(__file__)


@contextmanager
def record(
    model: nn.Module | None = None,
    *,
    select: str | Sequence[str] | Callable[[Value], bool] | None = None,
    phases: Sequence[str] | None = None,
    labels: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
    inputs: Mapping[str, Tensor] | None = None,
    buffers: Mapping[str, Tensor] | None = None,
) -> Iterator[Trace]:
    """Record everything the block computes in this thread; the trace is complete at its end.

    `select` keeps only the numbers of values whose address matches (a pattern such as
    "decoder.layers.*", several, or a function), with their direct operands; the structure of the
    run is always kept. `phases` keeps only these phases' numbers. `labels` names positions, see
    `Trace.label`. `inputs` and `buffers` name tensors that are there before the block and that no
    module holds.
    """
    model = getattr(model, "_orig_mod", model)  # of a compiled module: what it was made from
    trace = Trace(model)
    trace.meta.update(meta or {})
    recorder = Recorder(trace, model, Selection(select, phases))
    recorder.know("input", inputs or {})
    recorder.know("buffer", buffers or {})
    with recorder:
        yield trace
    if labels:
        trace.label(**labels)


@dataclass(slots=True)
class _Under:
    """An operation in progress: what was known before it ran."""

    call: OpCall
    tensors: list[Tensor]  # its operands
    refs: dict[int, int]  # values of the operands, by id
    targets: list[Tensor]  # those it writes to
    begin: int  # how many values there were


class Recorder(Tensors):
    """Records the operations of one thread; entered once."""

    def __init__(self, trace: Trace, model: nn.Module | None, selection: Selection) -> None:
        super().__init__(trace, model, selection)
        self.thread = threading.get_ident()
        self.busy = 0
        self.calls: dict[str, int] = {}  # of each module so far
        self.outside: list[int] = []  # values of no module, loss if a backward follows
        self.statements = Statements(trace)
        self.links = GradientLinks(self)
        self.updates = Updates(self)

    # -- entering and leaving ---------------------------------------------------------------

    def __enter__(self) -> "Recorder":
        with ExitStack() as stack:
            self._enter(stack)
            self.stack = stack.pop_all()
        return self

    def _enter(self, stack: ExitStack) -> None:
        # A module may offer `while_recorded`: a context in which it computes step by step.
        modules = self.model.modules() if self.model is not None else ()
        contexts = {getattr(module, "while_recorded", nullcontext) for module in modules}
        for context in contexts:
            stack.enter_context(context())
        stack.enter_context(as_written(self))
        for handle in (
            register_module_forward_pre_hook(self._module_begins),
            register_module_forward_hook(self._module_ends, always_call=True),
            register_optimizer_step_pre_hook(self.updates.begins),
            register_optimizer_step_post_hook(self.updates.ends),
        ):
            stack.callback(handle.remove)
        stack.enter_context(Functions(self))
        stack.enter_context(Operations(self))

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        with self.quiet():
            self.release()
        with self.quiet():
            self.trace.seal()

    @property
    def here(self) -> bool:
        """Whether this is the recording thread, and not our own bookkeeping."""
        return not self.busy and threading.get_ident() == self.thread and not abstract()

    # -- modules ----------------------------------------------------------------------------

    def _module_begins(self, module: nn.Module, inputs: Any) -> None:
        if not self.here:
            return
        path = self.paths.get(id(module))
        if path is None:
            path = type(module).__name__
        number = self.calls[path] = self.calls.get(path, 0) + 1
        code = getattr(getattr_static(type(module), "forward", None), "__code__", None)
        self.modules.append(Module(path, number, code is None or not is_author(code)))
        self.trace.note_module(path, type(module))

    def _module_ends(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        if not self.here or not self.modules:
            return None
        entry = self.modules.pop()
        if output is None:
            return None
        result = output
        with self.quiet():
            frame = author_frame(sys._getframe(1))
            part = entry.plain and self.modules and self.modules[-1].plain  # of a Sequential
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

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Our own tensor calls are not part of the run, and our errors do not end it."""
        self.busy += 1
        try:
            yield
        except Exception as error:
            self.stop(error)
        finally:
            self.busy -= 1

    def stop(self, error: Exception) -> None:
        """An error of the recorder's own ends the recording; the program goes on unrecorded."""
        self.busy += 1  # for good: modes and hooks pass everything through
        if not self.trace.stopped:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            self.trace.meta["stopped"] = f"the recording ended early, the program went on: {reason}"
            LOG.warning("%s", self.trace.stopped)

    # -- what the author's line called ------------------------------------------------------

    def function_returned(self, result: Any) -> Any:
        """Name a result if it is what the author's statement assigns."""
        if self.phase == "backward" or (self.modules and self.modules[-1].plain):
            return result
        if not isinstance(result, Tensor) and not (
            isinstance(result, (tuple, list)) and any(isinstance(part, Tensor) for part in result)
        ):
            return result
        frame = sys._getframe(2)
        with self.quiet():
            author = author_frame(frame)
            if author is not None:
                found = naming(author)
                if found.exact and found.names:
                    return self.assign(result, found, author)
        return result

    def leaves(self, tensor: Tensor, method: str) -> None:
        """Numbers, or the memory they are in, go to code the recorder does not see."""
        value = self.find(tensor)
        if value.why:
            return
        if value.origin != "source" and self.phase != "update":
            self.origins.escapes(tensor, method)
        if method in EXPOSES:
            self.expose(tensor)

    def assign(self, result: Any, found: Naming, frame: Any) -> Any:
        """Give the result of a statement the names it assigns."""
        path, number = self.updates.scope(frame) if self.phase == "update" else self.scope
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

    # -- operations -------------------------------------------------------------------------

    def operation(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one ATen operation and write down what it did."""
        under = None
        with self.quiet():
            under = self._before(func, args, kwargs)
        result = func(*args, **kwargs)
        if under is not None:
            with self.quiet():
                self._after(under, result)
        return result

    def _before(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Under:
        """Find the operands; copy what is about to be overwritten."""
        schema = schema_of(func)
        bound, tensors = schema.bind(args, kwargs)
        begin = len(self.values)
        self.creating = schema.name == "aten.lift_fresh.default"
        self.origins.literal = self.creating and _within_torch(sys._getframe(3))
        if schema.name == "aten._local_scalar_dense.default":
            self.leaves(tensors[0], "item")
        refs = {id(tensor): self.find(tensor).id for tensor in tensors}
        self.creating = False
        arguments = {name: with_refs(value, refs) for name, value in bound.items()}
        written = [bound[name] for name in schema.writes if bound.get(name) is not None]
        if schema.name in HIDDEN_WRITES:
            written += HIDDEN_WRITES[schema.name](bound)
        targets = [tensor for part in written for tensor in tensors_in(part)]
        for tensor in targets:
            memory = self.memory.get(key_of(tensor) or 0)
            if memory is not None and memory.buffer is not None:
                memory.buffer.freeze()
        return _Under(OpCall(schema.name, arguments), tensors, refs, targets, begin)

    def _after(self, under: _Under, result: Any) -> None:
        """Write down the results of an operation that has run."""
        call, refs, targets = under.call, under.refs, under.targets
        frame = author_frame(sys._getframe(3))
        before = self.phase
        if before == "forward" and torch._C._current_autograd_node() is not None:
            self.phase = "backward"  # autograd's engine, started past Tensor.backward
        links = self.links.forward_of() if self.phase == "backward" else None
        first = len(self.values)
        outputs = list(tensors_in(result))
        seen: set[int] = set()
        for place, slot in enumerate(slots(result)):
            if slot is None:  # a gradient that was not asked for
                call.outputs.append(None)
                continue
            changed = next((t for t in targets if t is slot or same_cells(t, slot)), None)
            if changed is not None:
                seen.add(id(changed))
                self.written(changed, call, place, refs[id(changed)])
            else:
                self.result(slot, call, place, under.tensors, refs)
        for tensor in targets:
            if id(tensor) not in seen and not any(same_cells(tensor, done) for done in outputs):
                self.written(tensor, call, len(call.outputs), refs[id(tensor)])
        self._describe(first, frame, links)
        if not self.everything:
            self.let_go(under.begin, first, under.tensors, refs)
        if self.phase == "forward":
            self.links.forward(call)
        self.phase = before

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
        update = self.updates.scope(frame) if self.phase == "update" else None
        self.statements.note(self.values[-1], frame, found, self.scope)
        for value in self.values[first:]:
            value.site = found.site
            value.base = base
            if update is not None:
                value.path, value.number = update
        if not self.modules and self.phase == "forward" and self.calls:
            self.outside.extend(range(first, len(self.values)))

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
            with self.quiet():
                self.links.leaves()
            self.phase = before


def _within_torch(frame: Any) -> bool:
    """Whether code of torch itself makes a tensor: an optimizer's step count, a default."""
    while frame is not None and frame.f_code.co_filename.startswith(GLASS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(TORCH)
