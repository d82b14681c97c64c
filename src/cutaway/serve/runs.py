"""Recorded runs: a few in memory, each under a key that says how to record it again."""

import base64
import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cutaway.errors import NotFoundError, TraceError
from cutaway.glass import Trace
from cutaway.glass.api import Served
from cutaway.glass.html import Carried, carry

RUNS_IN_MEMORY = 6
LONGEST_KEY = 1 << 16  # bytes of a request inside a key


class OutdatedRun(TraceError):
    """The weights a run was recorded with no longer exist; a new request records another run."""


def key_of(kind: str, stamp: int, fields: Mapping[str, Any]) -> str:
    """The key of a run: its request and the stamp of its weights, URL-safe.

    The same request to the same weights has the same key on every server.
    """
    asked = {name: value for name, value in fields.items() if value not in ("", 0, [])}
    text = json.dumps([kind, stamp, asked], sort_keys=True, ensure_ascii=False)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def question_of(key: str) -> tuple[str, int, dict[str, Any]]:
    """Kind, stamp and fields of the request in a key."""
    try:
        packed = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
        text = zlib.decompressobj().decompress(packed, LONGEST_KEY)
        kind, stamp, fields = json.loads(text)
        return str(kind), int(stamp), dict(fields)
    except (ValueError, TypeError, zlib.error):
        raise NotFoundError(
            f"no trace {key[:40]!r} here; translate again",
            zh=f"这里没有记录 {key[:40]!r}；请重新翻译",
        ) from None


@dataclass
class Recorded:
    """A recorded run, and the response that was sent when it was recorded."""

    key: str
    kind: str  # "translation", "training", "update" or "trace"
    served: Served
    answer: dict[str, Any]

    def carried(self, at: str = "") -> Carried:
        """The run made ready for a file of its own that opens at an address."""
        found = carry(self.served.trace, at)
        return replace(found, kind=self.kind)


class Runs:
    """Runs by key: the most recently used, and those that are held."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Recorded] = OrderedDict()
        self._held: dict[str, Recorded] = {}
        self._lock = threading.Lock()  # routes look runs up while the model's thread adds some

    def known(self, key: str) -> Recorded | None:
        """A run that is in memory."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._held.get(key) or self._kept.get(key)

    def keep(self, key: str, kind: str, trace: Trace, answer: dict[str, Any]) -> Recorded:
        """Keep a run; the least recently used one is dropped."""
        run = Recorded(key, kind, Served(trace), answer)
        run.served.structure()  # built here, in the model's thread, so that no request waits for it
        with self._lock:
            self._kept[key] = run
            while len(self._kept) > RUNS_IN_MEMORY:
                self._kept.popitem(last=False)
        return run

    def hold(self, key: str, trace: Trace) -> None:
        """Keep a trace that was recorded elsewhere until it is released."""
        with self._lock:
            self._held.setdefault(key, Recorded(key, "trace", Served(trace), {"key": key}))

    def release(self, key: str | None) -> None:
        """Drop a held trace."""
        with self._lock:
            self._held.pop(key or "", None)

    def drop(self, kind: str) -> None:
        """Drop the runs of one kind that can be recorded again."""
        with self._lock:
            for key in [key for key, run in self._kept.items() if run.kind == kind]:
                del self._kept[key]

    def clear(self) -> None:
        """Drop every run that can be recorded again."""
        with self._lock:
            self._kept.clear()
