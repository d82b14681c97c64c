"""The page of a folder whose run is under way, as a process of its own: `OUT SOCKET` its arguments.

It starts with the run and serves at once, says that the run prepares as long as there is no model
folder, and does meanwhile whatever would take time the first time. It ends when its standard input
does, which is when the run that started it ends or dies.
"""

import os
import socket
import sys
from pathlib import Path

NICE = 5  # the run comes first


def main() -> None:
    """Serve the folder on the socket that was handed down, whatever is in it so far."""
    os.nice(NICE)
    from cutaway.serve.app import create_app
    from cutaway.serve.progress import Progress
    from cutaway.serve.running import Server

    out, handle = Path(sys.argv[1]), int(sys.argv[2])
    app = create_app(folder=out, progress=Progress(out, under_way=True))
    server = Server(app, socket.socket(fileno=handle)).start()
    rehearse()
    sys.stdin.read()  # until the run ends
    server.stop()


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
