"""The page of a training run in progress: open from the first seconds, reading only files.

It runs in its own process. A second computing thread in the run's process makes libgomp put the
first thread's helpers to sleep between operations, permanently: 78 ms per update became 110.
"""

import contextlib
import os
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, cast

from cutaway.errors import InputError
from cutaway.serve.listening import address, bound
from cutaway.serve.token import own_token, with_token
from cutaway.system.sockets import start_with_socket

if TYPE_CHECKING:
    from cutaway.training.events import Event, Watch

TOKEN = "CUTAWAY_PAGE_TOKEN"
PATIENCE = 10.0  # seconds a page has to close
HESITATION = 1.5  # seconds within which a run that cannot start has failed


@contextmanager
def run_page(watch: "Watch", out: Path, port: int, *, browser: bool) -> "Iterator[Watch]":
    """`watch`, and a page from the first seconds, before there is a model to show."""
    from cutaway.training.events import Note

    page: Page | None = None

    def both(event: "Event") -> None:
        nonlocal page
        watch(event)
        if page is not None and (reason := page.broken()):
            page = None
            watch(Note(f"the page has closed ({reason}); training continues", warning=True))

    with contextlib.ExitStack() as around:
        try:
            page = around.enter_context(page_of(out, port))
        except (InputError, OSError) as error:  # train without a page
            watch(Note(f"the page cannot open ({error}); training continues", warning=True))
        else:
            watch(Note(f"watch it learn at {page.url}"))
            if browser:
                opening = threading.Timer(HESITATION, webbrowser.open, [page.url])
                opening.start()
                around.callback(opening.cancel)
        yield both


@dataclass
class Page:
    """A process that serves a folder."""

    url: str
    process: subprocess.Popen[bytes]
    words: IO[bytes]  # its standard error

    def broken(self) -> str:
        """Why the process has ended by itself; empty while it runs."""
        if self.process.poll() is None:
            return ""
        self.words.seek(0)
        lines = self.words.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return last or f"status {self.process.returncode}"


@contextmanager
def page_of(out: Path, port: int) -> Iterator[Page]:
    """The page of a folder, open until the end of the block, or of this process."""
    with TemporaryFile() as words:
        with bound("127.0.0.1", port) as listening:
            url = with_token(address(listening), own_token())
            module = "cutaway.serve.run_page_process"
            process = start_with_socket(
                # -P: no module is imported from the current folder, which may hold downloaded files
                [sys.executable, "-P", "-m", module, str(out)],
                listening,
                environment={  # other accounts see a process's arguments, not its environment
                    **os.environ,
                    TOKEN: own_token(),
                    "OMP_NUM_THREADS": "1",
                    "MKL_NUM_THREADS": "1",
                },
                errors=words,
            )
        try:
            yield Page(url, process, words)
        finally:
            with contextlib.suppress(OSError):
                cast(IO[bytes], process.stdin).close()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
