"""The page beside a training run: open from the first seconds, reading only what is on disk.

It has a process of its own. A second thread of the run's process that computes makes libgomp send
the first one's helpers to sleep between operations, for good: 78 ms an update became 110.
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

import typer

from cutaway.errors import InputError
from cutaway.serve.listening import address, bound

if TYPE_CHECKING:
    from cutaway.train.events import Event, Watch

PATIENCE = 10.0  # seconds a page has to close
HESITATION = 1.5  # seconds in which a run that cannot begin has said so


@contextmanager
def page_beside(watch: "Watch", out: Path, port: int, *, browser: bool) -> "Iterator[Watch]":
    """`watch`, and a page from the first seconds, before there is a model to show."""
    from cutaway.train.events import Note

    page: Page | None = None

    def both(event: "Event") -> None:
        nonlocal page
        watch(event)
        if page is not None and (reason := page.broken()):
            page = None
            watch(Note(f"the page has closed ({reason}); training goes on", warning=True))

    with contextlib.ExitStack() as around:
        try:
            page = around.enter_context(page_of(out, port))
        except (InputError, OSError) as error:  # no reason not to train
            watch(Note(f"the page cannot open ({error}); training goes on", warning=True))
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
    words: IO[bytes]  # what it says on standard error

    def broken(self) -> str:
        """Why it has ended unasked; nothing while it runs."""
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
            url = address(listening)
            process = subprocess.Popen(
                [sys.executable, "-m", "cutaway.cli.beside", str(out), str(listening.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=words,
                pass_fds=[listening.fileno()],
                env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
                process_group=0,  # Ctrl-C is for the run; a session would hide it from `nice`
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


def serve_after(out: Path, port: int, *, browser: bool) -> None:
    """Serve the finished model until Ctrl-C."""
    from cutaway.serve.running import serve_folder

    serve_folder(
        out,
        port=port,
        open_browser=browser,
        told=lambda url: typer.echo(f"\nCutaway shows {out} at {url}  (Ctrl-C ends)"),
    )
