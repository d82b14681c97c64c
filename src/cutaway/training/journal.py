"""log.jsonl: one line per report, appended; a checkpoint records the log's length.

Lines are written before the checkpoint that counts on them, so a resumed run finds at least as
many bytes as the checkpoint names, checks their SHA-256 and cuts off the rest: the log ends with
the bytes of an undisturbed run, and the bytes written grow with the updates, not with their square.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cutaway.errors import CheckpointError
from cutaway.system.files import flush, replace


class Journal:
    """The log of one run, open for appending."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = 0
        self.digest = hashlib.sha256()

    def begin(self) -> None:
        """An empty log."""
        self._write(b"", "wb")

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Add lines at the end."""
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        if text:
            self._write(text, "ab")

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the log; the log itself is on disk when this returns."""
        flush(self.path)
        return {"bytes": self.bytes, "sha256": self.digest.hexdigest()}

    def resume(self, state: Mapping[str, Any], update: int) -> bool:
        """Cut the log to the length a checkpoint recorded; returns whether it is unaltered.

        Of an altered log, the lines up to the checkpoint's update that still parse are kept.
        """
        found = self.path.read_bytes() if self.path.is_file() else b""
        kept = found[: int(state["bytes"])]
        intact = hashlib.sha256(kept).hexdigest() == str(state["sha256"])
        if not intact:
            kept = b"".join(line for line in found.splitlines(True) if _sound(line, update))
        if kept != found:  # in one step: a crash here must not leave less than either
            fresh = self.path.with_name(f".{self.path.name}")
            fresh.write_bytes(kept)
            replace(fresh, self.path)
        self.bytes, self.digest = len(kept), hashlib.sha256(kept)
        return intact

    def read(self) -> bytes:
        """The whole log."""
        return self.path.read_bytes()

    def _write(self, text: bytes, mode: str) -> None:
        try:
            with self.path.open(mode) as file:
                file.write(text)
        except OSError as error:
            raise CheckpointError(
                f"cannot write {self.path}: {error.strerror}; the checkpoints are untouched: make "
                f"room, then run the same command again"
            ) from None
        self.bytes += len(text)
        self.digest.update(text)


def log_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log that may be growing."""
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [value for line in lines if (value := _parsed(line)) is not None]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _sound(line: bytes, update: int) -> bool:
    value = _parsed(line) if line.endswith(b"\n") else None
    return value is not None and isinstance(number := value.get("update"), int) and number <= update
