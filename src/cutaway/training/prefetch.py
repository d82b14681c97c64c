"""Make batches, and plans of epochs, in another thread before they are needed."""

import queue
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")
_END = object()


class Later(Generic[Item]):
    """A value that another thread begins to make at once."""

    def __init__(self, make: Callable[[], Item]) -> None:
        self._make = make
        self._made: list[Item] = []
        self._error: BaseException | None = None
        # A daemon: a run that is stopped does not wait for a plan it will not use.
        self._thread = threading.Thread(target=self._run, name="later", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether `result` would return at once."""
        return not self._thread.is_alive()

    def result(self) -> Item:
        """The value, waited for; what went wrong in the other thread is raised here."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._made[0]

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except BaseException as error:  # raised again in the thread that asks
            self._error = error


class Prefetcher(Generic[Item]):
    """Iterate over something while the next few items are already being made."""

    def __init__(self, items: Iterator[Item], depth: int = 4) -> None:
        self._items = items
        self._queue: queue.Queue[object] = queue.Queue(depth)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="batches", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._thread.join()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        item = self._queue.get()
        if item is _END:
            self._queue.put(_END)
            raise StopIteration
        if isinstance(item, BaseException):
            raise item
        return item  # type: ignore[return-value]

    def _fill(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    return
        except BaseException as error:  # raised again in the thread that reads
            self._put(error)
        else:
            self._put(_END)

    def _put(self, item: object) -> bool:
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False
