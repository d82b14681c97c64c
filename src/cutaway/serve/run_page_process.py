"""The process that serves the page of a run in progress; arguments: `OUT SOCKET`.

It starts with the run and serves at once; as long as there is no model folder it shows that the
run is preparing, and meanwhile does the slow first recording. It ends when its standard input is
closed: when the run that started it ends or dies.
"""

import os
import sys
from pathlib import Path

from cutaway.system.processes import lower_priority
from cutaway.system.sockets import inherited_socket

NICE = 5  # lower priority than the run


def main() -> None:
    """Serve the folder on the inherited socket."""
    lower_priority(NICE)
    from cutaway.serve.app import create_app
    from cutaway.serve.progress import Progress
    from cutaway.serve.run_page import TOKEN
    from cutaway.serve.server import Server

    out = Path(sys.argv[1])
    listening = inherited_socket(sys.argv[2], sys.stdin.buffer)
    token = os.environ.pop(TOKEN)
    app = create_app(folder=out, progress=Progress(out, under_way=True), token=token)
    server = Server(app, listening).start()
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
