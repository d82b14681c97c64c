"""Link gradients to their tensors: autograd's graph, read during the backward pass.

A node of that graph carries the sequence number it got in the forward pass; what arrives at it is
the gradient of what its forward operation returned.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cutaway.glass.values import OpCall

if TYPE_CHECKING:
    from cutaway.glass.record import Recorder


class GradientLinks:
    """Forward operations by sequence number, and the gradients that arrived."""

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder
        self.calls: dict[int, OpCall] = {}
        self.last = torch._C._autograd._get_sequence_nr()
        self.variables: list[Tensor] = []

    def forward(self, call: OpCall) -> None:
        """Note an operation of the forward pass if autograd made a node for it."""
        number = torch._C._autograd._get_sequence_nr()
        if number != self.last:
            self.calls[number - 1] = call
            self.last = number

    def forward_of(self) -> int | None:
        """The forward value that the backward operation now running differentiates."""
        node: Any = torch._C._current_autograd_node()
        if node is None:
            return None
        call = self.calls.get(node._sequence_nr())
        if call is None:
            return None
        return next((place for place in call.outputs if place is not None), None)

    @contextmanager
    def watching(self, roots: Sequence[Tensor]) -> Iterator[None]:
        """Within this block every gradient that reaches a node is linked to its value."""
        self.variables = []
        with ExitStack() as stack:
            with self.recorder.quiet():
                self._watch(roots, stack)
            yield

    def _watch(self, roots: Sequence[Tensor], stack: ExitStack) -> None:
        for node in _nodes(roots):
            variable = getattr(node, "variable", None)
            if isinstance(variable, Tensor):
                self.variables.append(variable)
                continue
            call = self.calls.get(node._sequence_nr())
            if call is not None:
                handle = node.register_prehook(self._arrival(call))
                stack.callback(handle.remove)

    def _arrival(self, call: OpCall) -> Any:
        def arrived(gradients: tuple[Tensor | None, ...]) -> None:
            recorder = self.recorder
            with recorder.quiet():
                for gradient, output in zip(gradients, call.outputs, strict=False):
                    if gradient is not None and output is not None:
                        self._link(output, gradient)

        return arrived

    def _link(self, value: int, gradient: Tensor) -> None:
        recorder = self.recorder
        arrived = recorder.find(gradient)
        target = recorder.values[value]
        target.grad = arrived.id
        if arrived.of is None and arrived.id != value:
            arrived.of = value

    def leaves(self) -> None:
        """After the pass: the gradients that parameters and inputs hold."""
        for variable in self.variables:
            if variable.grad is not None:
                value = self.recorder.find(variable)
                arrived = self.recorder.find(variable.grad)
                value.grad = arrived.id
                arrived.of = value.id
        self.variables = []


def _nodes(roots: Sequence[Tensor]) -> Iterator[Any]:
    """Every node behind the roots, each once."""
    pending = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen: set[Any] = set(pending)
    while pending:
        node = pending.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                pending.append(following)
