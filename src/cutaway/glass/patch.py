"""Change a number, a head or a mask in a running model and see what follows.

A patch acts where the author's line assigns the name: the result of that line is replaced before
anything reads it, by ordinary tensor operations, so that gradients and recordings see it too.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.errors import TraceError
from cutaway.glass.address import parse
from cutaway.glass.record import Recorder
from cutaway.glass.select import Selection
from cutaway.glass.trace import Trace

Change = Tensor | float | int | bool | Callable[[Tensor], Tensor]


@contextmanager
def patch(model: nn.Module, changes: Mapping[str, Change]) -> Iterator["Patches"]:
    """Within the block, values at these addresses are replaced as they are computed.

    The address may name a part (`….weights[:,3]` is head 3); a number or tensor is put there, a
    function gets the part and returns its replacement. Parameters and buffers are changed for the
    length of the block. An address that was never reached is an error at the end of the block.
    """
    patches = Patches(model, changes)
    with patches.applied():
        yield patches
    patches.check()


class Patches:
    """Changes by address, and which of them have happened."""

    def __init__(self, model: nn.Module, changes: Mapping[str, Change]) -> None:
        self.model = model
        self.changes: dict[str, list[tuple[tuple[Any, ...], Change]]] = {}
        self.used: set[str] = set()
        for address, change in changes.items():
            name, indices = parse(address)
            self.changes.setdefault(name, []).append((indices, change))

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Parameters changed now, everything else as it is computed."""
        restored: list[tuple[Tensor, Tensor]] = []
        owners = {
            **dict(self.model.named_parameters(remove_duplicate=False)),
            **dict(self.model.named_buffers(remove_duplicate=False)),
        }
        try:
            with torch.no_grad():
                for name in [name for name in self.changes if name in owners]:
                    tensor = owners[name]
                    restored.append((tensor, tensor.detach().clone()))
                    tensor.copy_(self.replace(name, tensor.detach()))
            recorder = _Patching(self)
            with recorder:
                yield
        finally:
            with torch.no_grad():
                for tensor, before in restored:
                    tensor.copy_(before)

    def replace(self, name: str, tensor: Tensor) -> Tensor:
        """The tensor with all changes for this name made."""
        self.used.add(name)
        for indices, change in self.changes[name]:
            part = tensor[indices] if indices else tensor
            new = change(part) if callable(change) else change
            if not isinstance(new, Tensor):
                new = torch.full_like(part, new)
            if not indices:
                if new.shape != tensor.shape:
                    raise TraceError(
                        f"the replacement of {name} has shape {list(new.shape)}; "
                        f"expected {list(tensor.shape)}"
                    )
                tensor = new.to(tensor.dtype)
                continue
            tensor = tensor.clone()
            tensor[indices] = new.to(tensor.dtype)
        return tensor

    def check(self) -> None:
        """Refuse changes that never met their value."""
        missed = [name for name in self.changes if name not in self.used]
        if missed:
            raise TraceError(
                f"no line assigned {missed[0]} while the patch was active; "
                f"record the run and see trace.tree() for its addresses"
            )


class _Patching(Recorder):
    """Follows names like a recorder, keeps no numbers, and replaces results."""

    proves = False

    def __init__(self, patches: Patches) -> None:
        nothing = Selection(lambda value: False, None)
        super().__init__(Trace(patches.model), patches.model, nothing)
        self.patches = patches

    def stop(self, error: Exception) -> None:
        """A patch that cannot be made is an error: the run would not be the one asked for."""
        raise error

    def called(self, tensor: Tensor, path: str, number: int, name: str, *, weak: bool) -> Tensor:
        """The tensor, or its replacement if the author's line gives it a patched name."""
        address = self.trace.give_name(self.find(tensor), path, number, name, weak=weak)
        return self.patches.replace(address, tensor) if address in self.patches.changes else tensor

    def given_back(self, tensor: Tensor, path: str, number: int) -> Tensor:
        """A module's output, or its replacement."""
        address = self.trace.returned(self.find(tensor), path, number)
        return self.patches.replace(address, tensor) if address in self.patches.changes else tensor
