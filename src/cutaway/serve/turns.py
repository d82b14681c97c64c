"""Work for requests in threads: few at a time, in a bounded queue, ended when the reader leaves."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import HTTPException, Request

WAITING = 32  # requests in the queue
SECONDS = 120  # of one request that looks at a whole run
LOOK = 0.25  # seconds between two looks whether the reader is still there

T = TypeVar("T")
Check = Callable[[], None]


class Turns:
    """Threads for one kind of work, and a queue of bounded length before them."""

    def __init__(self, at_once: int, name: str) -> None:
        self.pool = ThreadPoolExecutor(at_once, thread_name_prefix=name)
        self.limit = at_once + WAITING
        self.admitted = 0

    async def __call__(self, work: Callable[[], T]) -> T:
        """Work done in a thread; 503 where too many wait already."""
        if self.admitted >= self.limit:
            message = "too many requests at once; try again in a moment"
            raise HTTPException(503, message, {"Retry-After": "2"})
        self.admitted += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, work)
        finally:
            self.admitted -= 1

    async def long(self, request: Request, work: Callable[[Check], T]) -> T:
        """Long work, which calls the check it is given now and then.

        The check ends it with an error when the reader has left, or after `SECONDS`.
        """
        left = threading.Event()
        deadline = time.monotonic() + SECONDS

        def check() -> None:
            if left.is_set():
                raise HTTPException(499, "the reader has left")
            if time.monotonic() > deadline:
                raise HTTPException(503, f"not done in {SECONDS} s; ask for fewer values at once")

        async def watch() -> None:
            while not await request.is_disconnected():
                await asyncio.sleep(LOOK)
            left.set()

        watcher = asyncio.create_task(watch())
        try:
            return await self(lambda: work(check))
        finally:
            watcher.cancel()
            left.set()
