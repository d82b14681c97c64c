"""The signals by which a run is asked to stop, and their names."""

import signal

# Windows has no SIGTERM from outside; closing the console or a service's stop is SIGBREAK.
STOPPING: tuple[int, ...] = tuple(
    int(getattr(signal, name))
    for name in ("SIGTERM", "SIGINT", "SIGBREAK")
    if hasattr(signal, name)
)


def signal_name(number: int) -> str:
    """SIGTERM for 15; of an unknown number, the number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
