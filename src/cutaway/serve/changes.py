"""What the page may change in a run: a number, a head, a mask, the order of the words.

`set:ADDRESS=VALUE`, `silence:ATTENTION:HEAD`, `unmask:ATTENTION`, `order:2,0,1`; joined by `;`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from torch import Tensor

from cutaway.decode import Translator
from cutaway.errors import InputError

MOST = 20  # changes at a time
_SET = re.compile(r"^(?P<name>[\w.@~:]+)\[(?P<index>[\d,]*)\]=(?P<value>\S+)$")
_ATTENTION = re.compile(r"^(en|de)coder\.layers\.\d+\.(self|cross)_attention$")

Change = Callable[[Tensor], Tensor]


@contextmanager
def changed(translator: Translator, text: str) -> Iterator[list[int] | None]:
    """Within this block the model computes with the changes; yields the order of words, if given.

    The run is made step by step, as recorded ones are, so that every address exists.
    """
    patches, order = read_changes(text)
    with ExitStack() as stack:
        if patches:
            from cutaway.glass import patch

            stack.enter_context(patch(translator.model, patches))
        yield order


def read_changes(text: str) -> tuple[dict[str, Change], list[int] | None]:
    """The changes as functions of the tensors they touch, and the order of the words."""
    parts = [part for part in text.split(";") if part]
    if len(parts) > MOST:
        raise InputError(f"{len(parts)} changes at once; expected at most {MOST}")
    patches: dict[str, list[Change]] = {}
    order: list[int] | None = None
    for part in parts:
        kind, _, body = part.partition(":")
        if kind == "set" and (found := _SET.match(body)):
            index = tuple(int(number) for number in found["index"].split(",") if number)
            value = _number(found["value"])
            patches.setdefault(found["name"], []).append(_set(index, value, part))
        elif kind == "silence" and _ATTENTION.match(body.rpartition(":")[0]):
            attention, _, head = body.rpartition(":")
            patches.setdefault(f"{attention}.context", []).append(_silence(int(head), part))
        elif kind == "unmask" and _ATTENTION.match(body):
            patches.setdefault(f"{body}.mask", []).append(_unmask)
        elif kind == "order" and re.fullmatch(r"\d+(,\d+)*", body):
            order = [int(number) for number in body.split(",")]
        else:
            raise InputError(
                f"cannot read the change {part!r}; expected set:ADDRESS=VALUE, "
                f"silence:ATTENTION:HEAD, unmask:ATTENTION or order:2,0,1"
            )
    return {address: _all(steps) for address, steps in patches.items()}, order


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"cannot read the number {text!r}; expected one like 0.5") from None


def _all(steps: list[Change]) -> Change:
    def change(tensor: Tensor) -> Tensor:
        for step in steps:
            tensor = step(tensor)
        return tensor

    return change


def _set(index: tuple[int, ...], value: float, part: str) -> Change:
    def change(tensor: Tensor) -> Tensor:
        if len(index) != tensor.dim():
            raise InputError(f"{part!r} gives {len(index)} indices; expected {tensor.dim()}")
        # In decoding one row is computed at a time; a cell of a row not there yet waits for it.
        if any(place >= size for place, size in zip(index, tensor.shape, strict=True)):
            return tensor
        tensor = tensor.clone()
        tensor[index] = value
        return tensor

    return change


def _silence(head: int, part: str) -> Change:
    def change(context: Tensor) -> Tensor:
        if head >= context.shape[1]:
            raise InputError(f"{part!r}: this attention has heads 0 to {context.shape[1] - 1}")
        context = context.clone()
        context[:, head] = 0.0
        return context

    return change


def _unmask(mask: Tensor) -> Tensor:
    return mask.new_ones(mask.shape)
