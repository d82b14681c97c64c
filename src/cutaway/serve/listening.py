"""A socket for a server on this machine: bound before anything heavy is loaded."""

import socket

from cutaway.errors import InputError


def bound(host: str, port: int) -> socket.socket:
    """A listening socket; an InputError if the port cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's delay on: 40 ms for every short answer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # a request before the server is up waits instead of being refused
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen on {host}:{port} ({reason}); choose another port with --port, "
            f"or 0 for any free one"
        ) from None
    return listening


def everywhere(host: str) -> bool:
    """Whether a host to listen on means every address of this machine."""
    return host in ("", "0.0.0.0", "::")


def local(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    return host.startswith("127.") or host in ("::1", "localhost")


def names(listening: socket.socket, host: str) -> list[str] | None:
    """Names under which a bound socket may be called, as in a Host header; None: any."""
    if everywhere(host):
        return None
    bound_to = str(listening.getsockname()[0])
    return [f"[{name}]" if ":" in name else name for name in dict.fromkeys((host, bound_to))]


def address(listening: socket.socket) -> str:
    """Where a browser finds a bound socket."""
    host, port, *_ = listening.getsockname()
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
