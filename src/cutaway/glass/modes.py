"""The two modes that see a run: what the author's line calls, and every operation it becomes."""

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from cutaway.glass import decompose
from cutaway.glass.origin import EXPOSES, READS
from cutaway.glass.schema import schema_of

if TYPE_CHECKING:
    from cutaway.glass.record import Recorder

_BACKWARD: Any = torch.Tensor.backward
_KEYS: Any = torch._C._TorchDispatchModeKey
_FAKE, _PROXY, _FUNCTIONAL = _KEYS.FAKE, _KEYS.PROXY, _KEYS.FUNCTIONAL
_NO_DISPATCH: Any = torch._C._disabled_torch_dispatch_impl


class Functions(TorchFunctionMode):
    """What the author's line calls, before torch takes it apart."""

    def __init__(self, recorder: "Recorder") -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        recorder = self.recorder
        if recorder.busy or abstract():
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if (name in EXPOSES or name in READS) and args and isinstance(args[0], Tensor):
            with recorder.quiet():
                recorder.leaves(args[0], name)
        if func is _BACKWARD:
            roots = [args[0]]
            return recorder.backward(lambda: func(*args, **kwargs), roots)
        if func is torch.autograd.grad:
            outputs = args[0] if args else kwargs.get("outputs", ())
            roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
            return recorder.backward(lambda: func(*args, **kwargs), roots)
        if func is torch.nn.functional.scaled_dot_product_attention and not _any_nested(args):
            with self:  # its lines are the author's lines now
                return decompose.scaled_dot_product_attention(*args, **kwargs)
        if func is torch.nn.functional.multi_head_attention_forward:
            with recorder.statements.followed():
                result = _attention_in_steps(func, args, kwargs)
        elif func is torch.lstm and isinstance(args[1], (tuple, list)) and _plain_lstm(args):
            with self:
                return decompose.lstm(*args, **kwargs)
        else:
            result = func(*args, **kwargs)
        return recorder.function_returned(result)


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every ATen operation, forward, backward and update."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing compiles in here, so the guard against it (and its import) is not needed."""
        return False

    def __init__(self, recorder: "Recorder") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder
        if not hasattr(TorchDispatchMode, "supports_higher_order_operators"):
            _admit_operators_on_functions()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self.recorder.busy or abstract():
            return func(*args, **kwargs)
        if isinstance(func, HigherOrderOperator):
            return self._higher_order(func, args, kwargs)
        if any(kind.__torch_dispatch__ is not _NO_DISPATCH for kind in types):
            return NotImplemented  # a class that wraps other tensors: their operations are recorded
        schema = schema_of(func)
        if schema.composite:
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if schema.each is not None:
            with self:
                return schema.each(args, kwargs)
        self.recorder.busy += 1
        try:
            return self.recorder.operation(func, args, kwargs)
        finally:
            self.recorder.busy -= 1

    def _higher_order(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operation on functions: attention by its plain operations, which its kernel in Python
        calls; other kernels allow no mode within, and what they return is unexplained."""
        kernel = func.py_kernels.get(torch._C.DispatchKey.CompositeExplicitAutograd)
        if kernel is None or not func.name().startswith("flex_attention"):
            return func(*args, **kwargs)
        with self:
            return kernel(*args, **kwargs)


def _admit_operators_on_functions() -> None:
    """Older torch (2.6 to 2.8) refuses `torch.cond` and its like under a mode they do not know.

    Each gets a rule for ours: it runs without the mode, and what it returns is unexplained.
    """
    known: Any = torch._ops._higher_order_ops
    for operator in known.values():
        if Operations not in operator.python_key_table:
            operator.py_impl(Operations)(partial(_outside, operator))


def _outside(operator: Any, mode: Operations, *args: Any, **kwargs: Any) -> Any:
    return operator(*args, **kwargs)


def abstract() -> bool:
    """Whether torch is following a program rather than running it: fake tensors, tracing."""
    mode: Any = torch._C._get_dispatch_mode
    tracing: Any = torch._C._get_tracing_state
    return not (mode(_FAKE) is mode(_PROXY) is mode(_FUNCTIONAL) is tracing() is None)


def _any_nested(tensors: tuple[Any, ...]) -> bool:
    return any(isinstance(tensor, Tensor) and tensor.is_nested for tensor in tensors)


def _attention_in_steps(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Multi-head attention by its explicit path, which `need_weights` selects."""
    wanted = kwargs.get("need_weights", True)
    output, weights = func(*args, **{**kwargs, "need_weights": True})
    return output, weights if wanted else None


def _plain_lstm(args: tuple[Any, ...]) -> bool:
    """Whether an LSTM call is one we write out: tensors in, biases or not, no projection."""
    each = 4 if args[3] else 2
    directions = 2 if args[7] else 1
    return len(args[2]) == each * int(args[4]) * directions
