"""Debian's Firefox over WebDriver BiDi: only what the tests need, with the standard library.

Playwright sends commands that the long-term release does not know, and geckodriver is no package
of the system. The protocol is JSON over a WebSocket (w3.org/TR/webdriver-bidi).
"""

import base64
import json
import os
import re
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

KEYS = {"ArrowRight": "\ue014"}  # keys that write nothing have a code point of their own
PATIENCE = 90.0  # seconds; a busy machine starts a browser slowly


class WebSocket:
    """A client of one WebSocket: text frames in both directions."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self.socket = socket.create_connection((host, port), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            f"Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.exactly(1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode())

    def exactly(self, count: int) -> bytes:
        """So many bytes."""
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            if not part:
                raise ConnectionError("the browser closed the connection")
            found += part
        return found

    def send(self, text: str) -> None:
        """One masked text frame."""
        payload, mask = text.encode(), os.urandom(4)
        size = len(payload)
        if size < 126:
            length = bytes([0x80 | size])
        elif size < 1 << 16:
            length = bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            length = bytes([0x80 | 127]) + struct.pack(">Q", size)
        masked = bytes(byte ^ mask[n % 4] for n, byte in enumerate(payload))
        self.socket.sendall(b"\x81" + length + mask + masked)

    def receive(self) -> str:
        """The next whole message."""
        message = b""
        while True:
            first, size = self.exactly(2)
            if size == 126:
                (size,) = struct.unpack(">H", self.exactly(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.exactly(8))
            payload = self.exactly(size)
            if first & 0x0F in (0, 1):
                message += payload
                if first & 0x80:
                    return message.decode()


class Firefox:
    """A running Firefox with one page."""

    def __init__(self, path: str, profile: Path) -> None:
        self.log = profile / "stderr"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [path, "--headless", "--profile", str(profile), "--remote-debugging-port", "0"],
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self.complaints: list[str] = []
        self.count = 0
        self.socket = WebSocket("127.0.0.1", self.port(), "/session")
        self.send("session.new", {"capabilities": {}})
        self.send("session.subscribe", {"events": ["log.entryAdded"]})
        tree = self.send("browsingContext.getTree", {})
        self.context = tree["contexts"][0]["context"]
        size = {"width": 1440, "height": 900}
        self.send("browsingContext.setViewport", {"context": self.context, "viewport": size})

    def port(self) -> int:
        """Where it listens, as it says itself."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            found = re.search(r"BiDi listening on ws://127\.0\.0\.1:(\d+)", self.log.read_text())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise TimeoutError(f"firefox does not listen: {self.log.read_text()[-500:]}")

    def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One command and its answer; what the page logs meanwhile is kept."""
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.complaints.append(str(answer["params"].get("text")))
            if answer.get("id") != self.count:
                continue
            if answer["type"] == "error":
                raise RuntimeError(f"{method}: {answer['message']}")
            result: dict[str, Any] = answer["result"]
            return result

    def evaluate(self, expression: str) -> Any:
        """What an expression of the page gives, as JSON; a promise is waited for."""
        wrapped = f"(async () => JSON.stringify(await ({expression}) ?? null))()"
        target = {"context": self.context}
        told = self.send(
            "script.evaluate", {"expression": wrapped, "target": target, "awaitPromise": True}
        )
        if told["type"] != "success":
            raise RuntimeError(told["exceptionDetails"]["text"])
        return json.loads(told["result"]["value"])

    def go(self, url: str) -> None:
        """Open an address, from a page that is none."""
        for one in ("about:blank", url):
            place = {"context": self.context, "url": one, "wait": "complete"}
            self.send("browsingContext.navigate", place)

    def wait(self, expression: str) -> Any:
        """The expression's value, once it is true."""
        until = time.monotonic() + PATIENCE
        while not (found := self.evaluate(expression)):
            if time.monotonic() > until:
                raise TimeoutError(expression)
            time.sleep(0.05)
        return found

    def click(self, selector: str) -> None:
        """Press the mouse over the middle of an element, as a person would."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"Boolean({found})")
        x, y = self.evaluate(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect();"
            " return [Math.round(b.x + b.width / 2), Math.round(b.y + b.height / 2)]; })()"
        )
        moves = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self.act({"type": "pointer", "id": "mouse", "actions": moves})

    def press(self, key: str) -> None:
        """One key."""
        value = KEYS.get(key, key)
        keys = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
        self.act({"type": "key", "id": "keys", "actions": keys})

    def act(self, source: dict[str, Any]) -> None:
        """What a mouse or keyboard does."""
        self.send("input.performActions", {"context": self.context, "actions": [source]})

    def close(self) -> None:
        """End the browser that was started here."""
        self.socket.socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE)
