"""What an operation's schema says of its arguments, and the tensors inside them."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor

from cutaway.glass.foreach import one_by_one
from cutaway.glass.values import Ref


class Schema:
    """What an operation's schema says, read once."""

    __slots__ = ("composite", "each", "name", "names", "writes")

    def __init__(self, func: Any) -> None:
        self.name = f"{func.namespace}.{func._schema.name.split('::')[1]}.{func._overloadname}"
        self.names = [argument.name for argument in func._schema.arguments]
        self.writes = [
            argument.name
            for argument in func._schema.arguments
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        self.composite = torch._C._dispatch_has_kernel_for_dispatch_key(
            func.name(), "CompositeImplicitAutograd"
        )
        self.each = one_by_one(func)

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], list[Tensor]]:
        bound = dict(zip(self.names, args, strict=False))
        bound.update(kwargs)
        tensors = [tensor for value in bound.values() for tensor in tensors_in(value)]
        return bound, tensors


@cache
def schema_of(func: Any) -> Schema:
    """The schema of an operation."""
    return Schema(func)


def _running_stats(bound: dict[str, Any]) -> list[Tensor]:
    """Batch norm writes its running statistics without saying so."""
    if not bound.get("training"):
        return []
    return [bound[name] for name in ("running_mean", "running_var") if bound.get(name) is not None]


HIDDEN_WRITES = {"aten.native_batch_norm.default": _running_stats}
COPIES = frozenset(("aten.clone.default", "aten._to_copy.default"))


def tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)


def slots(value: Any) -> Iterator[Tensor | None]:
    """The tensors of a result in order, with the gaps a tuple has."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            if part is None:
                yield None
            else:
                yield from slots(part)


def with_refs(value: Any, refs: dict[int, int]) -> Any:
    if isinstance(value, Tensor):
        return Ref(refs[id(value)])
    if isinstance(value, (list, tuple)):
        return [with_refs(part, refs) for part in value]
    return value
