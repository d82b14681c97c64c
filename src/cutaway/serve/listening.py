"""A socket for a server on this machine: bound before anything heavy is loaded."""

import socket

from cutaway.errors import InputError


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens, or one line saying why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's delay on: 40 ms for every short answer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # whoever asks before the server is up waits and is not turned away
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen on {host}:{port} ({reason}); choose another port with --port, "
            f"or 0 for any free one"
        ) from None
    return listening


def address(listening: socket.socket) -> str:
    """Where a browser finds a bound socket."""
    host, port, *_ = listening.getsockname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
