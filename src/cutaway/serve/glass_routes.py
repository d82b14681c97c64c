"""Recorded runs over HTTP: the routes of docs/glass-api.md, and batched ones for the page."""

import struct
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from cutaway.glass.api import Served
from cutaway.glass.html import languages, to_html
from cutaway.serve.runs import Recorded
from cutaway.serve.session import Session
from cutaway.serve.turns import Turns

TOGETHER = 64 << 20  # bytes of numbers in one answer
LOOKED_AT = 1 << 29  # cells of all matrices whose pictures are made in one answer
AT_ONCE = 2  # requests in progress
BYTES = "application/octet-stream"


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
    """The parts of one batched request."""

    parts: list[Part] = Field(max_length=4096)


def glass_routes(session: Session, in_model_thread: Turns) -> APIRouter:
    """Routes that read recorded runs; one that is no longer in memory is recorded again."""
    router = APIRouter(prefix="/glass")
    aside = Turns(AT_ONCE, "glass")  # others are answered meanwhile

    async def recorded(key: str) -> Recorded:
        known = session.runs.known(key)
        return known if known is not None else await in_model_thread(lambda: session.run(key))

    async def served(key: str) -> Served:
        return (await recorded(key)).served

    @router.get("/{key}")
    async def structure(key: str) -> Response:
        found = await served(key)
        return Response(await aside(found.structure), media_type="application/json")

    @router.post("/{key}/numbers")
    async def numbers(key: str, wanted: Wanted) -> Response:
        """Several answers in one, each padded to a multiple of 8 bytes: one call per view."""
        found = await served(key)
        return Response(await aside(lambda: _joined(found, wanted.parts)), media_type=BYTES)

    @router.get("/{key}/buffer/{place}")
    async def buffer(
        key: str,
        place: int,
        start: Annotated[int, Query(ge=0)] = 0,
        stop: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """One buffer, or a stretch of it in elements."""
        found = await served(key)
        numbers = await aside(lambda: found.buffer(place, start, stop))
        return Response(numbers, media_type=BYTES)

    @router.get("/{key}/window")
    async def window(key: str, address: str, spans: str = "") -> Response:
        try:
            pairs = [part.split(":") for part in spans.split(",")] if spans else None
            blocks = None if pairs is None else [(int(a), int(b)) for a, b in pairs]
        except ValueError:
            raise HTTPException(400, f"spans {spans[:40]!r}; expected 0:2,3:4") from None
        found = await served(key)
        meta, numbers = await aside(lambda: found.window(address, blocks))
        shape = ",".join(map(str, meta["shape"]))
        return Response(
            numbers, media_type=BYTES, headers={"X-Shape": shape, "X-Dtype": meta["dtype"]}
        )

    @router.get("/{key}/explain")
    async def explain(
        key: str, address: str, terms: Annotated[int, Query(ge=1, le=10_000)] = 4
    ) -> dict[str, Any]:
        found = await served(key)
        return await aside(lambda: found.explain(address, terms=terms))

    @router.get("/{key}/prove")
    async def prove(request: Request, key: str, pattern: str = "*") -> dict[str, Any]:
        found = await served(key)
        return await aside.long(request, lambda check: found.prove(pattern, check=check))

    @router.get("/{key}/diff/{other}")
    async def diff(request: Request, key: str, other: str) -> dict[str, Any]:
        ours, theirs = await served(key), await served(other)
        return await aside.long(request, lambda check: ours.diff(theirs, check=check))

    @router.get("/{key}/bundle")
    async def bundle(key: str, request: Request) -> Response:
        zipped = "gzip" in request.headers.get("accept-encoding", "")
        found = await served(key)
        data = await aside(lambda: found.bundle(compressed=zipped))
        return Response(
            data, media_type=BYTES, headers={"Content-Encoding": "gzip"} if zipped else {}
        )

    @router.get("/{key}/page.html")
    async def page(key: str, at: str = "", lang: str = "en") -> Response:
        """The run as one file that needs no server."""
        run = await recorded(key)
        language = lang if lang in languages() else "en"
        text = await aside(
            lambda: to_html(run.carried(at), at=at, language=language, title=session.name)
        )
        return HTMLResponse(
            text, headers={"Content-Disposition": 'attachment; filename="cutaway.html"'}
        )

    return router


def _joined(found: Served, parts: list[Part]) -> bytes:
    answers: list[bytes] = []
    if sum(abs(p.shape[0] * p.shape[1]) for p in parts if isinstance(p, Picture)) > LOOKED_AT:
        raise HTTPException(400, f"{len(parts)} pictures of too many cells; ask for fewer at once")
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
