"""Debian's Firefox, driven by Playwright.

Playwright speaks WebDriver BiDi to it, and sends every new context a command that the long-term
release does not know (the preferred colours). This program is started in Firefox's place: it starts
Firefox, passes all messages on, and answers that one command itself.
"""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

UNKNOWN = {"emulation.setMediaFeaturesOverride"}
TEXT = 1  # kind of a frame


def launch_firefox(playwright: Any, folder: Path) -> Any:
    """A browser of Playwright's; a script in the folder starts this program with our Python."""
    starter = folder / "firefox.sh"
    starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).resolve()}" "$@"\n')
    starter.chmod(0o700)
    return playwright.firefox.launch(channel="moz-firefox", executable_path=str(starter))


def firefox_path() -> str | None:
    """Firefox as the system has it."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Frames:
    """Frames of a WebSocket as they come: their bytes, and the text of a whole text frame."""

    def __init__(self, source: socket.socket) -> None:
        self.source = source

    def exactly(self, count: int) -> bytes:
        """So many bytes."""
        parts: list[bytes] = []
        while count:
            part = self.source.recv(min(count, 1 << 16))
            if not part:
                raise ConnectionError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def head(self) -> bytes:
        """The request or answer that a WebSocket begins with."""
        found = b""
        while not found.endswith(b"\r\n\r\n"):
            found += self.exactly(1)
        return found

    def next(self) -> tuple[bytes, str]:
        """One frame; its text is empty if it is a part, or no text."""
        head = self.exactly(2)
        size = head[1] & 0x7F
        if size >= 126:
            long = self.exactly(2 if size == 126 else 8)
            head, size = head + long, int.from_bytes(long, "big")
        mask = self.exactly(4) if head[1] & 0x80 else b""
        body = self.exactly(size)
        if head[0] != 0x80 | TEXT:
            return head + mask + body, ""
        pad = mask * (size // 4 + 1)
        plain = int.from_bytes(body, "big") ^ int.from_bytes(pad[:size], "big") if mask else None
        text = body if plain is None else plain.to_bytes(size, "big")
        return head + mask + body, text.decode()


def framed(text: str) -> bytes:
    """A text from server to client."""
    body = text.encode()
    size = bytes([len(body)]) if len(body) < 126 else b"\x7e" + len(body).to_bytes(2, "big")
    return bytes([0x80 | TEXT]) + size + body


def passed_on(client: socket.socket, port: int) -> None:
    """One connection: everything goes through, except the commands that Firefox does not know."""
    server = socket.create_connection(("127.0.0.1", port))
    asked, answers, turn = Frames(client), Frames(server), threading.Lock()
    kept = [
        line
        for line in asked.head().decode().split("\r\n")
        if not line.lower().startswith(("host:", "sec-websocket-extensions:"))
    ]
    kept.insert(1, f"Host: 127.0.0.1:{port}")
    server.sendall("\r\n".join(kept).encode())
    client.sendall(answers.head())

    def back() -> None:
        try:
            while True:
                frame, _ = answers.next()
                with turn:
                    client.sendall(frame)
        except OSError:
            client.close()

    threading.Thread(target=back, daemon=True).start()
    try:
        while True:
            frame, text = asked.next()
            message = json.loads(text) if any(name in text for name in UNKNOWN) else {}
            if message.get("method") in UNKNOWN:
                answer = {"type": "success", "id": message["id"], "result": {}}
                with turn:
                    client.sendall(framed(json.dumps(answer)))
            else:
                server.sendall(frame)
    except OSError:
        server.close()


def main() -> None:
    """Start Firefox with the given options, and listen in its place."""
    firefox = firefox_path()
    assert firefox is not None
    process = subprocess.Popen([firefox, *sys.argv[1:]], stderr=subprocess.PIPE, text=True)
    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(kind, lambda *_: process.terminate())
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(port: int) -> None:
        while True:
            client, _ = listening.accept()
            threading.Thread(target=passed_on, args=(client, port), daemon=True).start()

    assert process.stderr is not None
    for line in process.stderr:
        found = re.search(r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)", line)
        if found:
            threading.Thread(target=serve, args=(int(found[1]),), daemon=True).start()
            line = line.replace(f":{found[1]}", f":{listening.getsockname()[1]}")
        print(line, end="", file=sys.stderr, flush=True)
    sys.exit(process.wait())


if __name__ == "__main__":
    main()
