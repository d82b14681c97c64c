"""The run as a tree of modules and their named values."""

import fnmatch
from typing import TYPE_CHECKING

from cutaway.glass.values import Value

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace


def tree(trace: "Trace", pattern: str, intermediates: bool) -> str:
    """Lines of text: modules indented, each value with shape, operation and line."""
    lines: list[str] = []
    shown: list[str] = []
    for value in trace.values:
        if not fnmatch.fnmatchcase(value.address, pattern):
            continue
        if value.name is None and not intermediates:
            continue
        parts = value.path.split(".") if value.path else []
        common = 0
        while common < min(len(parts), len(shown)) and parts[common] == shown[common]:
            common += 1
        for depth in range(common, len(parts)):
            kind = trace.modules.get(".".join(parts[: depth + 1]), "")
            lines.append(f"{'  ' * depth}{parts[depth]}{f' ({kind})' if kind else ''}")
        shown = parts
        lines.append(f"{'  ' * len(parts)}{_line(trace, value)}")
    return "\n".join(lines)


def _line(trace: "Trace", value: Value) -> str:
    own = value.address[len(value.path) + 1 :] if value.path else value.address
    axes = value.axes or [None] * len(value.shape)
    sizes = ", ".join(
        f"{axis} {size}" if axis else str(size)
        for axis, size in zip(axes, value.shape, strict=True)
    )
    made = value.source or value.op.removeprefix("aten.").split(".")[0]
    place = f"  line {value.site.line}" if value.site is not None else ""
    phase = "" if value.phase == "forward" else f"  [{value.phase}]"
    return f"{own}  ({sizes})  {made}{place}{phase}"
