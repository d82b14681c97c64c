"""Which numbers of a trace go into a file of limited size: those of the view first."""

from typing import TYPE_CHECKING

from cutaway.glass.values import Value

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

LIMIT = 7_000_000  # bytes of numbers in a file; as compressed text within a page: below 10 MB


def fitting(trace: "Trace", at: str = "", limit: int | None = LIMIT) -> set[int] | None:
    """Identities of the buffers that fit; None if all do.

    First the module that `at` lies in with all it reads, then what the run computed, then
    parameters, small ones before large ones.
    """
    if limit is None or trace.bytes <= limit:
        return None
    kept: set[int] = set()
    left = limit
    for value in _by_need(trace, at):
        buffer = value.buffer
        if buffer is not None and id(buffer) not in kept and buffer.bytes <= left:
            kept.add(id(buffer))
            left -= buffer.bytes
    return kept


def _by_need(trace: "Trace", at: str) -> list[Value]:
    name = at.partition("[")[0]
    place = next((value.path for value in trace.values if value.address == name), None)

    def inside(value: Value) -> bool:
        return place is not None and (value.path == place or value.path.startswith(f"{place}."))

    view = [value for value in trace.values if inside(value)]
    read = [trace.values[arg] for value in view for arg in trace.rule(value)[1]]

    def later(value: Value) -> tuple[bool, int]:
        size = 0 if value.buffer is None else value.buffer.bytes
        return value.op == "source" and len(value.shape) > 1 and size > 4096, size

    view.sort(key=lambda value: later(value)[1])
    return [*view, *read, *sorted(trace.values, key=later)]
