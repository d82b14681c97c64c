"""Addresses: `decoder.layers.0.cross_attention.scores[0,2,4,7]` ↔ value and indices."""

from dataclasses import dataclass

from cutaway.errors import TraceError
from cutaway.glass.values import Value

Index = int | slice


def parse(address: str) -> tuple[str, tuple[Index, ...]]:
    """The name and the indices in brackets, if any."""
    address = address.strip()
    if not address.endswith("]"):
        return address, ()
    name, _, inside = address[:-1].rpartition("[")
    try:
        indices = (
            tuple(_index(part.strip()) for part in inside.split(",")) if inside.strip() else ()
        )
    except (ValueError, TypeError):
        raise TraceError(
            f"cannot read the indices of {address!r}; expected integers or slices: name[0,2,:]"
        ) from None
    return name.strip(), indices


def _index(text: str) -> Index:
    if ":" in text:
        return slice(*(int(part) if part else None for part in text.split(":")))
    return int(text)


@dataclass(frozen=True)
class Cell:
    """One cell of one value."""

    value: Value
    indices: tuple[int, ...]

    @classmethod
    def of(cls, value: Value, indices: tuple[Index, ...], address: str) -> "Cell":
        """Check that the indices name exactly one cell."""
        shape = value.shape
        if not indices and value.cells == 1:
            return cls(value, (0,) * len(shape))
        plain = [index for index in indices if isinstance(index, int)]
        if len(plain) != len(shape) or len(indices) != len(shape):
            raise TraceError(
                f"{address} names {len(indices)} of {len(shape)} axes; "
                f"give one index for each of {list(shape)}"
            )
        resolved = []
        for index, size in zip(plain, shape, strict=True):
            if not -size <= index < size:
                raise TraceError(f"{address} is outside {value.address} of shape {list(shape)}")
            resolved.append(index % size)
        return cls(value, tuple(resolved))

    @property
    def address(self) -> str:
        """Its address."""
        return spell(self.value.address, self.indices)


def spell(address: str, indices: tuple[int, ...]) -> str:
    """Name and indices as an address; a scalar has no brackets."""
    return f"{address}[{','.join(map(str, indices))}]" if indices else address
