"""Operations on lists of tensors, one tensor at a time.

An optimizer's `_foreach_add_` over a hundred parameters is a hundred `add_`: same numbers, and
each with a rule of its own.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Each = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def one_by_one(func: Any) -> Each | None:
    """How to run a `_foreach_` operation tensor by tensor, or None for any other."""
    name = func._schema.name.split("::")[1]
    if func.namespace != "aten" or not name.startswith("_foreach_"):
        return None
    plain = name.removeprefix("_foreach_")
    if plain == "norm":
        plain = "linalg_vector_norm"
    single = getattr(torch.ops.aten, plain, None) or getattr(
        torch.ops.aten, plain.rstrip("_"), None
    )
    if single is None:
        return None
    arguments = func._schema.arguments
    in_place = name.endswith("_")

    def each(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = dict(zip([argument.name for argument in arguments], args, strict=False))
        bound.update(kwargs)
        count = len(args[0])
        results = []
        for place in range(count):
            own = {key: _part(value, place, count) for key, value in bound.items()}
            results.append(_single(single, name, own))
        return None if in_place else results

    return each


def _part(value: Any, place: int, count: int) -> Any:
    if isinstance(value, (list, tuple)) and len(value) == count:
        return value[place]
    return value


def _single(single: Callable[..., Tensor], name: str, own: dict[str, Any]) -> Tensor:
    """Call the one-tensor form; the list forms name their arguments differently."""
    values = list(own.values())
    plain = name.removeprefix("_foreach_").rstrip("_")
    if plain in ("addcmul", "addcdiv"):
        scale = own.get("value", own.get("scalars", 1))
        number = scale.item() if isinstance(scale, Tensor) else scale
        return single(*values[:3], value=number)
    if plain in ("add", "sub") and "alpha" in own:
        return single(*values[:2], alpha=own["alpha"])
    if plain in _BOUNDS:
        by_tensor, by_number = _BOUNDS[plain]
        bound = values[1]
        result: Tensor = (by_tensor if isinstance(bound, Tensor) else by_number)(values[0], bound)
        return values[0].copy_(result) if name.endswith("_") else result
    if plain == "norm":
        return single(values[0], own.get("ord", 2), dtype=own.get("dtype"))
    return single(*values)


_aten = torch.ops.aten
_BOUNDS = {
    "maximum": (_aten.maximum, _aten.clamp_min),
    "clamp_min": (_aten.maximum, _aten.clamp_min),
    "minimum": (_aten.minimum, _aten.clamp_max),
    "clamp_max": (_aten.minimum, _aten.clamp_max),
}
