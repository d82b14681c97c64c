"""Recorded runs over HTTP: docs/glass-api.md, and what the page needs to ask in one call."""

import asyncio
import struct
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from cutaway.errors import TraceError
from cutaway.glass.api import Served
from cutaway.glass.html import LANGUAGES, carried_html
from cutaway.serve.session import Recorded, Session

TOGETHER = 64 << 20  # bytes of numbers in one answer
BYTES = "application/octet-stream"

T = TypeVar("T")


class Stretch(BaseModel):
    """Elements start … stop of a buffer."""

    buffer: int
    start: int = Field(ge=0)
    stop: int = Field(ge=0)


class Cells(BaseModel):
    """Single elements of a buffer."""

    buffer: int
    cells: list[int]


class Picture(BaseModel):
    """A matrix in a buffer, `size` points of it."""

    buffer: int
    offset: int
    strides: tuple[int, int]
    shape: tuple[int, int]
    size: tuple[int, int]


class Extent(BaseModel):
    """Least, greatest and "all finite" (0 or 1) of a value, as three float64."""

    value: int


Part = Stretch | Cells | Picture | Extent


class Wanted(BaseModel):
    """What is asked for in one call."""

    parts: list[Part] = Field(max_length=4096)


def glass_routes(session: Session) -> APIRouter:
    """Routes that read recorded runs; none of them asks the model anything."""
    router = APIRouter(prefix="/glass")

    def recorded(key: str) -> Recorded:
        try:
            return session.run(key)
        except KeyError:
            raise TraceError(
                f"no trace {key!r} here; translate again",
                zh=f"这里没有记录 {key!r}；请重新翻译",
            ) from None

    def served(key: str) -> Served:
        return recorded(key).served

    async def aside(work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)

    @router.get("/{key}")
    async def structure(key: str) -> Response:
        return Response(served(key).structure(), media_type="application/json")

    @router.post("/{key}/numbers")
    async def numbers(key: str, wanted: Wanted) -> Response:
        """Several answers, each padded to a multiple of 8 bytes: one call a view."""
        found = served(key)
        return Response(await aside(lambda: _joined(found, wanted.parts)), media_type=BYTES)

    @router.get("/{key}/buffer/{place}")
    async def buffer(
        key: str,
        place: int,
        start: Annotated[int, Query(ge=0)] = 0,
        stop: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """One buffer, or a stretch of it in elements."""
        return Response(served(key).buffer(place, start, stop), media_type=BYTES)

    @router.get("/{key}/window")
    async def window(key: str, address: str, spans: str = "") -> Response:
        try:
            pairs = [part.split(":") for part in spans.split(",")] if spans else None
            blocks = None if pairs is None else [(int(a), int(b)) for a, b in pairs]
        except ValueError:
            raise HTTPException(400, f"spans {spans[:40]!r}; expected 0:2,3:4") from None
        meta, numbers = served(key).window(address, blocks)
        shape = ",".join(map(str, meta["shape"]))
        return Response(
            numbers, media_type=BYTES, headers={"X-Shape": shape, "X-Dtype": meta["dtype"]}
        )

    @router.get("/{key}/explain")
    async def explain(
        key: str, address: str, terms: Annotated[int, Query(ge=1, le=10_000)] = 4
    ) -> dict[str, Any]:
        found = served(key)
        return await aside(lambda: found.explain(address, terms=terms))

    @router.get("/{key}/prove")
    async def prove(key: str, pattern: str = "*") -> dict[str, Any]:
        found = served(key)
        return await aside(lambda: found.prove(pattern))

    @router.get("/{key}/diff/{other}")
    async def diff(key: str, other: str) -> dict[str, Any]:
        ours, theirs = served(key), served(other)
        return await aside(lambda: ours.diff(theirs))

    @router.get("/{key}/bundle")
    async def bundle(key: str, request: Request) -> Response:
        zipped = "gzip" in request.headers.get("accept-encoding", "")
        found = served(key)
        data = await aside(lambda: found.bundle(compressed=zipped))
        return Response(
            data, media_type=BYTES, headers={"Content-Encoding": "gzip"} if zipped else {}
        )

    @router.get("/{key}/page.html")
    async def page(key: str, at: str = "", lang: str = "en") -> Response:
        """The run as one file that needs no server."""
        run = recorded(key)
        language = lang if lang in LANGUAGES else "en"
        text = await aside(
            lambda: carried_html([run.carried()], at=at, language=language, title=session.name)
        )
        return HTMLResponse(
            text, headers={"Content-Disposition": 'attachment; filename="cutaway.html"'}
        )

    return router


def _joined(found: Served, parts: list[Part]) -> bytes:
    answers: list[bytes] = []
    for part in parts:
        match part:
            case Stretch():
                chunk = found.buffer(part.buffer, part.start, part.stop)
            case Cells():
                chunk = found.cells(part.buffer, part.cells)
            case Picture():
                chunk = found.picture(part.buffer, part.offset, part.strides, part.shape, part.size)
            case Extent():
                low, high, finite = found.extent(part.value)
                chunk = struct.pack("<3d", low, high, finite)
        answers += [chunk, b"\0" * (-len(chunk) % 8)]
        if sum(map(len, answers)) > TOGETHER:
            raise HTTPException(400, f"{len(parts)} parts at once are too many; ask for fewer")
    return b"".join(answers)
