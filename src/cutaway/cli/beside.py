"""The page of a folder whose run is under way, as a process of its own: `OUT SOCKET` its arguments.

It ends when its standard input does, which is when the run that started it ends or dies.
"""

import os
import socket
import sys
from pathlib import Path

NICE = 19  # the run comes first: the page lives on what it leaves


def main() -> None:
    """Serve the folder on the socket that was handed down."""
    os.nice(NICE)
    from cutaway.decode import Translator
    from cutaway.serve import create_app
    from cutaway.serve.running import Server

    out, handle = Path(sys.argv[1]), int(sys.argv[2])
    listening = socket.socket(fileno=handle)
    server = Server(create_app(Translator.load(out), folder=out), listening).start()
    sys.stdin.buffer.read()
    server.stop()


if __name__ == "__main__":
    main()
