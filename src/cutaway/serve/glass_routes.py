"""Recorded runs over HTTP: docs/glass-api.md, and what the page needs to ask in one call."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from cutaway.glass.api import Served
from cutaway.glass.html import LANGUAGES, carried_html
from cutaway.glass.store import raw
from cutaway.glass.values import Buffer
from cutaway.serve.session import Recorded, Session

TOGETHER = 64 << 20  # bytes of buffers in one answer
BYTES = "application/octet-stream"

T = TypeVar("T")


def glass_routes(session: Session) -> APIRouter:
    """Routes that read recorded runs; none of them asks the model anything."""
    router = APIRouter(prefix="/glass")

    def recorded(key: str) -> Recorded:
        try:
            return session.run(key)
        except KeyError:
            raise HTTPException(404, f"no trace {key!r} here; translate again") from None

    def served(key: str) -> Served:
        return recorded(key).served

    async def aside(work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)

    @router.get("/{key}")
    async def structure(key: str) -> Response:
        return Response(served(key).structure(), media_type="application/json")

    @router.get("/{key}/buffers")
    async def buffers(key: str, ids: Annotated[str, Query(max_length=20_000)]) -> Response:
        """Several buffers, each padded to a multiple of 8 bytes: one call a view."""
        held = _buffers(served(key))
        try:
            chosen = [held[int(part)] for part in ids.split(",") if not part.startswith("-")]
        except (ValueError, IndexError):
            raise HTTPException(400, f"ids {ids[:40]!r}; expected numbers of buffers") from None
        if sum(buffer.bytes for buffer in chosen) > TOGETHER:
            raise HTTPException(400, f"{len(chosen)} buffers at once are too many; ask for fewer")
        parts = []
        for buffer in chosen:
            chunk = raw(buffer.read())
            parts += [chunk, b"\0" * (-len(chunk) % 8)]
        return Response(b"".join(parts), media_type=BYTES)

    @router.get("/{key}/buffer/{place}")
    async def buffer(
        key: str,
        place: int,
        start: Annotated[int, Query(ge=0)] = 0,
        stop: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """One buffer, or a stretch of it in elements."""
        held = _buffers(served(key))
        if not 0 <= place < len(held):
            raise HTTPException(404, f"no buffer {place}; this trace has {len(held)}")
        return Response(raw(held[place].read()[start:stop]), media_type=BYTES)

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


def _buffers(served: Served) -> list[Buffer]:
    return served._built()[1]
