"""What the page may change in a run: a number, a head, a mask, the order of the words.

`set:ADDRESS=VALUE`, `silence:ATTENTION:HEAD`, `unmask:ATTENTION`, `shift:ATTENTION:WORDS`,
`order:2,0,1`; joined by `;`.
"""

import math
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from cutaway.decode import Translator
from cutaway.errors import InputError
from cutaway.glass import patch
from cutaway.model import Transformer

MOST = 20  # changes at a time
_SET = re.compile(r"^(?P<name>[\w.@~:]+)\[(?P<index>[\d,]*)\]=(?P<value>\S+)$")
_ATTENTION = re.compile(  # and a number: a head, or words
    r"^(?P<name>(en|de)coder\.layers\.\d+\.(self|cross)_attention)(:(?P<number>-?\d{1,4}))?$"
)

Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Changes:
    """Changes to the tensors of a run, by address, and to the order of its words."""

    patches: dict[str, Change]
    order: list[int] | None

    @classmethod
    def read(cls, text: str) -> "Changes":
        """Parse the page's notation."""
        parts = [part for part in text.split(";") if part]
        if len(parts) > MOST:
            raise InputError(
                f"{len(parts)} changes at once; expected at most {MOST}",
                zh=f"一次有 {len(parts)} 处改动；最多 {MOST} 处",
            )
        patches: dict[str, list[Change]] = {}
        order: list[int] | None = None
        for part in parts:
            kind, _, body = part.partition(":")
            attention = _ATTENTION.match(body)
            number = attention["number"] if attention else None
            if kind == "set" and (found := _SET.match(body)):
                index = tuple(int(number) for number in found["index"].split(",") if number)
                address, change = found["name"], _set(index, _number(found["value"]), part)
            elif kind == "silence" and attention and number:
                address, change = f"{attention['name']}.context", _silence(int(number), part)
            elif kind == "unmask" and attention and not number:
                address, change = f"{attention['name']}.mask", _unmask
            elif kind == "shift" and attention and number:
                address, change = f"{attention['name']}.mask", _shift(int(number))
            elif kind == "order" and re.fullmatch(r"\d+(,\d+)*", body):
                order = [int(number) for number in body.split(",")]
                continue
            else:
                raise InputError(
                    f"cannot read the change {part!r}; expected set:ADDRESS=VALUE, silence:"
                    f"ATTENTION:HEAD, unmask:ATTENTION, shift:ATTENTION:WORDS or order:2,0,1",
                    zh=f"看不懂改动 {part!r}；应为 set:地址=值、silence:注意力:头、unmask:注意力、"
                    f"shift:注意力:词数 或 order:2,0,1",
                )
            patches.setdefault(address, []).append(change)
        return cls({address: _all(steps) for address, steps in patches.items()}, order)

    def __bool__(self) -> bool:
        return bool(self.patches) or self.order is not None

    def made(self, model: Transformer) -> AbstractContextManager[object]:
        """Within this block the model computes with the changes."""
        return patch(model, self.patches) if self.patches else nullcontext()

    def reordered(self, source: tuple[int, ...]) -> tuple[int, ...]:
        """The source in the order asked for; <end> stays where it is."""
        if self.order is None:
            return source
        if sorted(self.order) != list(range(len(source) - 1)):
            last = len(source) - 2
            raise InputError(
                f"order is {self.order}; expected each of 0 to {last} once",
                zh=f"顺序为 {self.order}；应含 0 到 {last} 各一次",
            )
        return tuple(source[place] for place in self.order) + source[-1:]

    @torch.no_grad()
    def decode(
        self, translator: Translator, source: tuple[int, ...], draft: list[int], forced: int = 0
    ) -> list[int]:
        """The most probable words, one after another, of the changed model.

        A change may touch any row, so every pass computes all of them: the unchanged translation
        is a guess, the first word that turns out otherwise is corrected, and so on to the end.
        """
        end, start = translator.special.end, translator.special.start
        limit = min(2 * len(source) + 20, translator.model.config.max_length)
        ids = list(draft)
        checked = forced
        while checked < len(ids):
            target = torch.tensor([[start, *ids[:-1]]])
            with self.made(translator.model):
                logits = translator.model(torch.tensor([list(source)]), target)[0]
            logits[:, list(translator.special.forbidden)] = -math.inf
            best = logits.argmax(-1).tolist()
            while checked < len(ids) and best[checked] == ids[checked]:
                checked += 1
            if checked < len(ids):
                ids[checked] = best[checked]
                ids = ids[: checked + 1] if best[checked] == end else ids
                checked += 1
            if ids[-1] != end and checked == len(ids) and len(ids) < limit:
                ids.append(end)
        return ids


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"cannot read the number {text!r}; expected one like 0.5",
            zh=f"看不懂数字 {text!r}；应写成 0.5 这样",
        ) from None


def _all(steps: list[Change]) -> Change:
    def change(tensor: Tensor) -> Tensor:
        for step in steps:
            tensor = step(tensor)
        return tensor

    return change


def _set(index: tuple[int, ...], value: float, part: str) -> Change:
    def change(tensor: Tensor) -> Tensor:
        if len(index) != tensor.dim():
            raise InputError(
                f"{part!r} gives {len(index)} indices; expected {tensor.dim()}",
                zh=f"{part!r} 有 {len(index)} 个下标；应为 {tensor.dim()} 个",
            )
        # A draft may be shorter than the run the cell was chosen in; then there is no such cell.
        if any(place >= size for place, size in zip(index, tensor.shape, strict=True)):
            return tensor
        tensor = tensor.clone()
        tensor[index] = value
        return tensor

    return change


def _silence(head: int, part: str) -> Change:
    def change(context: Tensor) -> Tensor:
        if not 0 <= head < context.shape[1]:
            last = context.shape[1] - 1
            raise InputError(
                f"{part!r}: this attention has heads 0 to {last}",
                zh=f"{part!r}：此注意力的头为 0 到 {last}",
            )
        context = context.clone()
        context[:, head] = 0.0
        return context

    return change


def _shift(by: int) -> Change:
    """Move a mask by so many keys: 1 lets each query see one word more, −1 hides one more.

    What moves in at an edge is what stood there; a query left without any key attends to nothing.
    """

    def change(mask: Tensor) -> Tensor:  # (B, 1, Q, K)
        keys = mask.shape[-1]
        return mask[..., (torch.arange(keys) - by).clamp(0, keys - 1)]

    return change


def _unmask(mask: Tensor) -> Tensor:
    return mask.new_ones(mask.shape)
