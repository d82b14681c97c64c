"""A recorded run: values by address, their rules, and the questions one can ask of them."""

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from cutaway.errors import NotFoundError, TraceError
from cutaway.glass.address import Cell, parse
from cutaway.glass.rulebook import Found, rule_of
from cutaway.glass.values import Value

if TYPE_CHECKING:
    from cutaway.glass.diff import Difference
    from cutaway.glass.explain import Explanation
    from cutaway.glass.prove import Proof


class Trace:
    """Every number of a run, and where it came from."""

    def __init__(self, model: nn.Module | None = None) -> None:
        self.values: list[Value] = []
        self.calls: dict[int, list[Found]] = {}  # rules made so far, by call
        self.meta: dict[str, Any] = {"torch": torch.__version__}
        if model is not None:
            self.meta["model"] = type(model).__name__
        self.labels: dict[str, list[str]] = {}
        self.modules: dict[str, str] = {"": type(model).__name__ if model is not None else ""}
        self.declared: dict[str, Sequence[Sequence[str | None]]] = {}  # axes, by module path
        self.aliases: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._weak: set[int] = set()
        self._addresses: dict[str, int] = {}
        self._found: dict[int, Found] = {}
        self.sealed = False

    # -- names, while recording ---------------------------------------------------------------

    def note_module(self, path: str, kind: type) -> None:
        """Remember the class of a module that ran, and the names it declares for axes."""
        self.modules.setdefault(path, kind.__name__)
        self.declared[path] = getattr(kind, "recorded_axes", ())

    def _unique(self, address: str) -> str:
        count = self._counts[address] = self._counts.get(address, 0) + 1
        return address if count == 1 else f"{address}~{count}"

    def give_name(
        self,
        value: Value,
        path: str,
        number: int,
        name: str,
        *,
        suffix: str = "",
        weak: bool = False,
    ) -> str:
        """Call a value by an author's name; a second name becomes an alias.

        A weak name ("output", because a line returns it) gives way to a variable's.
        """
        if not suffix and (value.path, value.number, value.name) == (path, number, name):
            return value.address
        address = join(path, name, number)
        address = self._unique(f"{address}.{suffix}" if suffix else address)
        if value.name is not None and not suffix and (weak or value.id not in self._weak):
            self.alias(address, value)
            return address
        if value.name is not None:
            self.alias(value.address, value)
        value.path, value.number, value.name = path, number, name
        value.address = address
        if weak:
            self._weak.add(value.id)
        else:
            self._weak.discard(value.id)
        return address

    def rename(self, value: Value, path: str, name: str) -> None:
        """Correct the name of a value seen before its owner was known."""
        self._counts.pop(value.address, None)
        value.path, value.number, value.name = path, 1, name
        value.address = self._unique(join(path, name, 1))

    def alias(self, address: str, value: Value) -> None:
        """A further address of a value."""
        self.aliases[address] = value.id

    def returned(self, value: Value, path: str, number: int) -> str:
        """What a module's call gave back is its `output`, unless another has that name."""
        address = join(path, "output", number)
        if not path or address in self._counts:
            return ""
        self._counts[address] = 1
        self.alias(address, value)
        return address

    def seal(self) -> None:
        """Name what has no name yet: intermediates, gradients, the rest of the backward pass."""
        for value in self.values:
            if value.buffer is not None and value.buffer.is_lost:
                value.buffer = None
            if value.address:
                continue
            operation = result_name(value)
            if value.of is not None and self.values[value.of].address:
                value.address = self._unique(f"{self.values[value.of].address}.grad")
                if self.values[value.of].name is not None:
                    value.name = "grad"
            elif value.forward is not None:
                owner = self.values[value.forward].address
                value.address = self._unique(f"{owner}.backward:{operation}")
            elif value.phase == "backward":
                value.address = self._unique(f"backward:{operation}")
            elif not value.base and value.before is not None:  # one of a list, changed in place
                value.address = self._unique(f"{self.values[value.before].address}:{operation}")
            else:
                name = f"{value.base}:{operation}" if value.base else operation
                value.address = self._unique(join(value.path, name, value.number))
        for value in self.values:
            if value.grad is not None:
                address = f"{value.address}.grad"
                if self.values[value.grad].address != address:
                    self.aliases.setdefault(address, value.grad)
        self._index()
        self.sealed = True

    def _index(self) -> None:
        self._addresses = {value.address: value.id for value in self.values}
        for address, place in self.aliases.items():
            self._addresses.setdefault(address, place)

    @property
    def stopped(self) -> str:
        """Why the recording ended before its block did; empty if it did not."""
        return str(self.meta.get("stopped", ""))

    @property
    def bytes(self) -> int:
        """How much memory its numbers take."""
        buffers = {id(value.buffer): value.buffer for value in self.values}
        return sum(buffer.bytes for buffer in buffers.values() if buffer is not None)

    # -- looking things up --------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.values)

    def rule(self, value: Value) -> Found:
        """The rule of a value and the ids of the values it reads."""
        found = self._found.get(value.id)
        if found is None:
            found = self._found[value.id] = rule_of(self, value)
        return found

    def value(self, address: str) -> Value:
        """The value of an address, cell or not."""
        place = self._addresses.get(address)
        if place is None:
            place = self._addresses.get(parse(address)[0])
        if place is None:
            raise NotFoundError(f"no value {address!r} in this trace; {self._hint(address)}")
        return self.values[place]

    def cell(self, address: str) -> Cell:
        """The value and the indices of a cell's address."""
        name, indices = parse(address)
        value = self.value(name)
        return Cell.of(value, indices, address)

    def _hint(self, address: str) -> str:
        import difflib

        name = parse(address)[0]
        near = difflib.get_close_matches(name, list(self._addresses), n=3, cutoff=0.5)
        if not near:
            last = name.rpartition(".")[2]
            near = [known for known in self._addresses if known.endswith("." + last)][:3]
        return f"nearest: {', '.join(near)}" if near else "see trace.tree()"

    def __contains__(self, address: object) -> bool:
        return isinstance(address, str) and parse(address)[0] in self._addresses

    def __getitem__(self, address: str) -> "Labelled":
        """The numbers of an address (or of a part of it) with the names of its axes."""
        name, indices = parse(address)
        value = self.value(name)
        tensor = self.numbers(value)
        if indices:
            tensor = tensor[indices]
        kept = [
            axis
            for axis in range(len(value.shape))
            if axis >= len(indices) or isinstance(indices[axis], slice)
        ]
        axes = [value.axes[axis] if value.axes else None for axis in kept]
        part = address.strip()[len(name) :].replace(" ", "") if indices else ""
        return Labelled(value.address + part, tensor, axes, self.labels)

    def numbers(self, value: Value) -> Tensor:
        """The tensor of a value."""
        try:
            return value.tensor()
        except LookupError:
            remedy = value.why or "record with a wider select"
            raise TraceError(f"the numbers of {value.address} were not kept; {remedy}") from None

    def find(self, pattern: str = "*", *, phase: str | None = None) -> list[Value]:
        """Values whose address matches a pattern, in the order they were computed."""
        return [
            value
            for value in self.values
            if fnmatch.fnmatchcase(value.address, pattern)
            and (phase is None or value.phase == phase)
        ]

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    # -- questions -----------------------------------------------------------------------------

    def label(
        self, *, axes: Mapping[str, Sequence[str | None]] | None = None, **words: Sequence[str]
    ) -> None:
        """Name the positions of axes: `trace.label(source=["The", "cat"], target=["Le", …])`.

        Each name must be an input of the run (`source`, `target`, `ids`): its last axis, and every
        axis computed from it, carries the words. `axes` gives names by address pattern; a module
        class may declare further ones as `recorded_axes`.
        """
        from cutaway.glass.axes import label

        label(self, words, axes or {})

    def explain(self, address: str, *, terms: int = 4) -> "Explanation":
        """Where one number came from: arithmetic, operands, formula, line and words."""
        from cutaway.glass.explain import explain

        return explain(self, address, terms=terms)

    def prove(self, pattern: str = "*") -> "Proof":
        """Recompute every cell from the arithmetic that `explain` shows."""
        from cutaway.glass.prove import prove

        return prove(self, pattern)

    def first_nonfinite(self) -> "Explanation | None":
        """The first cell that is NaN or infinite though its operands are not, explained."""
        from cutaway.glass.nonfinite import first_nonfinite

        return first_nonfinite(self)

    def diff(self, other: "Trace", *, tolerance: float | None = None) -> "Difference":
        """The first operation where two runs part."""
        from cutaway.glass.diff import diff

        return diff(self, other, tolerance=tolerance)

    def tree(self, *, pattern: str = "*", intermediates: bool = False) -> str:
        """The modules and their named values as text."""
        from cutaway.glass.tree import tree

        return tree(self, pattern, intermediates)

    def save(self, path: str | Path) -> None:
        """Write the trace to a folder: `trace.json` and `tensors.safetensors`."""
        from cutaway.glass.store import save

        save(self, Path(path))

    def to_xlsx(self, path: str | Path, pattern: str, *, depth: int = 1) -> None:
        """Write values as a spreadsheet whose formulas recompute them."""
        from cutaway.glass.xlsx import to_xlsx

        to_xlsx(self, Path(path), pattern, depth=depth)

    def _repr_html_(self) -> str:
        from cutaway.glass.html import page

        return page(self)

    def __repr__(self) -> str:
        phases = sorted({value.phase for value in self.values})
        stopped = f"; {self.stopped}" if self.stopped else ""
        return f"<Trace of {len(self.values)} values: {', '.join(phases)}{stopped}>"


class Labelled:
    """A tensor with the names of its axes and, where known, the words along them."""

    def __init__(
        self,
        address: str,
        tensor: Tensor,
        axes: list[str | None],
        labels: dict[str, list[str]],
    ) -> None:
        self.address = address
        self.tensor = tensor
        self.axes = axes
        self.words = [labels.get(axis) if axis else None for axis in axes]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(self.tensor.shape)

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{axis or '·'}: {size}" for axis, size in zip(self.axes, self.shape, strict=True)
        )
        return f"{self.address} ({sizes})\n{self.tensor}"


def join(path: str, name: str, number: int) -> str:
    """Module path, variable and call number as an address."""
    address = f"{path}.{name}" if path else name
    return address if number == 1 else f"{address}@{number}"


_RESULTS = {  # what the further results of an operation are called
    "native_layer_norm": ("", "mean", "rstd"),
    "native_batch_norm": ("", "mean", "rstd", "running_mean", "running_var"),
    "nll_loss_forward": ("", "total_weight"),
    "max": ("", "indices"),
    "min": ("", "indices"),
    "topk": ("", "indices"),
    "sort": ("", "indices"),
    "max_pool2d_with_indices": ("", "indices"),
    "native_dropout": ("", "mask"),
    "native_layer_norm_backward": ("", "weight", "bias"),
    "convolution_backward": ("", "weight", "bias"),
}


def result_name(value: Value) -> str:
    """What an unnamed result is called: its operation, or which of its results it is."""
    name = value.op.split(".")[1] if "." in value.op else value.op
    known = _RESULTS.get(name, ())
    if value.origin == "call" and 0 < value.output < len(known):
        return known[value.output]
    return short(value.op)


def short(op: str) -> str:
    """aten._softmax.default → softmax."""
    parts = op.split(".")
    return (parts[1] if len(parts) > 1 else parts[0]).strip("_")
