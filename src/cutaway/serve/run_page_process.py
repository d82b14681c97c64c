"""The process that serves the page of a run in progress; arguments: `OUT SOCKET`.

It starts with the run and serves at once; as long as there is no model folder it shows that the
run is preparing, and meanwhile does the slow first recording. It ends when its standard input is
closed: when the run that started it ends or dies.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from cutaway.system.processes import lower_priority
from cutaway.system.sockets import inherited_socket

NICE = 5  # lower priority than the run


def main() -> None:
    """Serve the folder on the inherited socket."""
    lower_priority(NICE)
    listening = inherited_socket(sys.argv[2], sys.stdin.buffer)
    before: list[Callable[[], None]] = []
    threading.Thread(target=end_with_the_run, args=(before,), daemon=True).start()
    from cutaway.serve.app import create_app
    from cutaway.serve.progress import Progress
    from cutaway.serve.run_page import TOKEN
    from cutaway.serve.server import Server

    out = Path(sys.argv[1])
    token = os.environ.pop(TOKEN)
    app = create_app(folder=out, progress=Progress(out, under_way=True), token=token)
    before.append(Server(app, listening).start().stop)
    rehearse()
    threading.Event().wait()  # the other thread ends the process


def end_with_the_run(before: list[Callable[[], None]]) -> None:
    """End this process when the run ends, after these: also while it loads, for the run waits."""
    while os.read(sys.stdin.fileno(), 1):  # `sys.stdin.read` would hold a lock at an early end
        pass
    for step in before:
        step()
    os._exit(0)


def rehearse() -> None:
    """Record a small model once: the first recording takes twice the time of the second."""
    import torch

    from cutaway.config import ModelConfig
    from cutaway.glass import record
    from cutaway.glass.api import Served
    from cutaway.model import Transformer

    model = Transformer(ModelConfig.preset("tiny", vocabulary=7)).eval()
    with torch.no_grad(), record(model) as trace:
        model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 2]]))
    Served(trace).structure()


if __name__ == "__main__":
    main()
