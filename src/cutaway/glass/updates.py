"""An optimizer's step: parameters and its own tensors, before and after."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch import Tensor

from cutaway.glass.storage import key_of

if TYPE_CHECKING:
    from cutaway.glass.record import Recorder


class Updates:
    """Follows optimizers; hooks call `begins` and `ends`."""

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder
        self.before: dict[str, int] = {}

    def begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.recorder.here:
            return
        self.recorder.phase = "update"
        with self.recorder.quiet():
            for name, tensor in self._states(optimizer):
                self._name_state(name, tensor)
                self.before[name] = self.recorder.find(tensor).id

    def ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.recorder.here:
            return
        with self.recorder.quiet():
            for name, tensor in self._states(optimizer):
                value = self.recorder.find(tensor)
                before = self.before.get(name)
                if before == value.id:
                    continue
                path, _, own = name.rpartition(".")
                if before is None:  # a state this very step began
                    origin = value
                    while origin.before is not None:
                        origin = self.recorder.values[origin.before]
                    if origin is not value:
                        self.recorder.trace.rename(origin, path, own)
                        before = origin.id
                if before is not None:
                    self.recorder.values[before].after = value.id
                value.before = before
                self.recorder.trace.give_name(value, path, 1, own, suffix="after")
        self.before.clear()
        self.recorder.phase = "forward"

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
        key = key_of(tensor)
        if key is not None and key not in self.recorder.memory:
            value = self.recorder.find(tensor)
            if value.source != "unexplained":
                value.source = "buffer"
            path, _, own = name.rpartition(".")
            self.recorder.trace.rename(value, path, own)

    def scope(self, frame: Any) -> tuple[str, int]:
        """Names inside an optimizer's loop belong to the parameter in hand."""
        while frame is not None:
            parameter = frame.f_locals.get("param")
            if isinstance(parameter, Tensor):
                return f"{self._path_of(parameter)}.update", 1
            frame = frame.f_back
        return "update", 1

    def _path_of(self, parameter: Tensor) -> str:
        """A parameter's own name, however often it has been updated."""
        known = self.recorder.named.get(key_of(parameter) or id(parameter))
        if known:
            return known[0][0]
        value = self.recorder.find(parameter)
        while value.before is not None:
            value = self.recorder.values[value.before]
        return value.address
