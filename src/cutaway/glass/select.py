"""Which values keep their numbers, so that memory stays bounded."""

import fnmatch
from collections.abc import Callable, Sequence

from cutaway.glass.values import Value


class Selection:
    """Patterns of addresses, or a function, and phases; nothing given keeps everything."""

    def __init__(
        self,
        wanted: str | Sequence[str] | Callable[[Value], bool] | None,
        phases: Sequence[str] | None,
    ) -> None:
        self.function = wanted if callable(wanted) else None
        if wanted is None or callable(wanted):
            self.patterns: tuple[str, ...] = ()
        else:
            self.patterns = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        self.phases = None if phases is None else frozenset(phases)

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self.function is None and not self.patterns and self.phases is None

    def keeps(self, value: Value) -> bool:
        """Whether a value's numbers are wanted."""
        if self.phases is not None and value.phase not in self.phases:
            return False
        if self.function is not None:
            return self.function(value)
        if not self.patterns:
            return True
        address = value.address or f"{value.path}.{value.name or value.base}".strip(".")
        inside = f"{value.module}.".lstrip(".")
        return any(
            fnmatch.fnmatchcase(address, pattern)
            or address.startswith(pattern + ".")
            or inside.startswith(pattern + ".")
            for pattern in self.patterns
        )
