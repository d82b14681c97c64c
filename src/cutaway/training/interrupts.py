"""SIGTERM and Ctrl-C: the first asks the loop to save and stop, a second one ends at once."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from cutaway.system.signals import STOPPING, signal_name


class Interrupted(Exception):
    """Training was asked to stop, and has saved; `status` is the exit status shells expect."""

    def __init__(self, number: int) -> None:
        super().__init__(signal_name(number))
        self.number = number
        self.status = 128 + number


class Interrupts:
    """While entered (in the main thread), records signals instead of being ended by them.

    Within `echo` seconds a second signal is taken as a repetition of the first: a cluster
    signals every process, torchrun among them, which passes the signal on.
    """

    def __init__(self, echo: float = 0.0) -> None:
        self.asked = 0  # the signal's number, 0 while there was none
        self._echo = echo
        self._since = 0.0
        self._breakable = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.asked:
            if now - self._since < self._echo:
                return
            os._exit(128 + number)
        self.asked, self._since = number, now
        if self._breakable:
            raise Interrupted(number)

    @contextmanager
    def breakable(self) -> Iterator[None]:
        """Within this block nothing needs to be finished: a signal raises at once."""
        if self.asked:
            raise Interrupted(self.asked)
        self._breakable = True
        try:
            yield
        finally:
            self._breakable = False
