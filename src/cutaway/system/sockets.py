"""Hand a listening socket down to a child process: by its descriptor, or on Windows by a copy."""

import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any, cast

WINDOWS = sys.platform == "win32"
SHARED = "shared"  # instead of a descriptor: the socket comes through standard input
LENGTH = 4  # bytes of the length before it


def start_with_socket(
    command: Sequence[str],
    listening: socket.socket,
    *,
    environment: Mapping[str, str],
    errors: IO[bytes],
) -> subprocess.Popen[bytes]:
    """Start a process that takes over a socket: its last argument is for `inherited_socket`.

    It gets a process group of its own, because Ctrl-C is for us (a session would hide it from
    `nice`), and a pipe as standard input, which closes when we end.
    """
    common: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.DEVNULL,
        "stderr": errors,
        "env": dict(environment),
    }
    if not WINDOWS:
        number = listening.fileno()
        return subprocess.Popen(
            [*command, str(number)], pass_fds=[number], process_group=0, **common
        )
    flags = ("CREATE_NEW_PROCESS_GROUP", "BELOW_NORMAL_PRIORITY_CLASS")
    creation = sum(getattr(subprocess, name) for name in flags)
    process = subprocess.Popen([*command, SHARED], creationflags=creation, **common)
    send_socket(cast(IO[bytes], process.stdin), cast(Any, listening).share(process.pid))
    return process


def send_socket(pipe: IO[bytes], shared: bytes) -> None:
    """Write what `socket.share` made for a process to its standard input."""
    pipe.write(len(shared).to_bytes(LENGTH, "big") + shared)
    pipe.flush()


def inherited_socket(argument: str, pipe: IO[bytes]) -> socket.socket:
    """The socket that the starting process handed down: by its number, or through the pipe."""
    if argument != SHARED:
        return socket.socket(fileno=int(argument))
    size = int.from_bytes(pipe.read(LENGTH), "big")
    return cast(socket.socket, cast(Any, socket).fromshare(pipe.read(size)))
