"""The page of a folder whose run is under way, as a process of its own: `OUT SOCKET` its arguments.

It is started before the run has anything to show, loads what it needs while the run still prepares,
and serves as soon as there is a model folder. It ends when its standard input does, which is when
the run that started it ends or dies.
"""

import os
import select
import socket
import sys
from pathlib import Path

NICE = 5  # the run comes first
LOOK = 0.2  # seconds between looks for the folder


def main() -> None:
    """Serve the folder on the socket that was handed down, once it is there."""
    os.nice(NICE)
    from cutaway.decode import Translator
    from cutaway.errors import CutawayError
    from cutaway.serve import create_app
    from cutaway.serve.running import Server

    out, handle = Path(sys.argv[1]), int(sys.argv[2])
    listening = socket.socket(fileno=handle)
    while True:
        try:
            translator = Translator.load(out)
            break
        except (CutawayError, OSError):  # not there yet, or being written just now
            if over(LOOK):
                return
    server = Server(create_app(translator, folder=out), listening).start()
    while not over(3600):
        pass
    server.stop()


def over(seconds: float) -> bool:
    """Whether the run has ended, waiting for that at most so long."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


if __name__ == "__main__":
    main()
