"""The arrays of a safetensors file as bytes, without torch: for a runtime that has its own."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Array:
    """One array: its type as safetensors writes it (F32, BF16 …), its shape, its bytes."""

    kind: str
    shape: tuple[int, ...]
    data: bytes


def read_arrays(path: Path) -> dict[str, Array]:
    """Every array of a file by its name; the library checks that offsets and shapes agree."""
    from safetensors import deserialize

    return {
        name: Array(about["dtype"], tuple(about["shape"]), bytes(about["data"]))
        for name, about in deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
    }
