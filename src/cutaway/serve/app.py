"""The routes: the page and its files, recorded runs as JSON and bytes, questions to the model.

Answers to nobody but the page itself: same origin, this machine's name, no other host named.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from cutaway.corpus.embedded import SOURCES_SENTENCES
from cutaway.decode import Translator
from cutaway.errors import CutawayError, InputError, TraceError
from cutaway.glass import Trace
from cutaway.glass.html import document, script, style
from cutaway.serve.glass_routes import glass_routes
from cutaway.serve.progress import Progress
from cutaway.serve.session import Session
from cutaway.serve.teaching import Teaching

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOCAL = {"127.0.0.1", "localhost", "[::1]"}
BODY = 8 << 20  # bytes of a question; places of scattered cells are the longest

T = TypeVar("T")


class Question(BaseModel):
    """A sentence to translate and record, and how."""

    text: str = Field(min_length=1, max_length=2000)
    prefix: list[int] = Field(default=[], max_length=512)
    beam: int = Field(default=0, ge=0, le=16)
    target: str = Field(default="", max_length=2000)
    snapshot: str = Field(default="", max_length=20)
    model: str = Field(default="", max_length=200)
    change: str = Field(default="", max_length=4000)
    sample: int = Field(default=0, ge=0, le=1_000_000)
    temperature: float = Field(default=1.0, gt=0, le=10)


class Pair(BaseModel):
    """A pair to take one training step on."""

    text: str = Field(min_length=1, max_length=2000)
    target: str = Field(default="", max_length=2000)
    snapshot: str = Field(default="", max_length=20)
    rate: float = Field(default=1e-3, gt=0, le=1)


class Telling(BaseModel):
    """How a lesson is to be told: what the learner chose, by the names of its controls."""

    choices: dict[str, Any] = Field(default={}, max_length=50)


def create_app(
    translator: Translator | None = None,
    *,
    folder: Path | None = None,
    beside: Mapping[str, Translator] | None = None,
    traces: dict[str, Trace] | None = None,
    examples: Sequence[str] = (),
    hosts: Sequence[str] = (),
    progress: Progress | None = None,
    warm: bool = False,
) -> FastAPI:
    """The application for a translator, for recorded traces, or both.

    `beside` are other models to compare with, by name; `hosts` are names beside this machine's own
    under which it may be called; `warm` records something small in the background, so that the
    first reader need not wait.
    """
    app = FastAPI(title="Cutaway", docs_url=None, redoc_url=None, openapi_url=None)
    session = Session(translator, folder, beside)
    for key, trace in (traces or {}).items():
        session.hold(key, trace)
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
    if warm:
        pool.submit(session.warm)
    learning = progress or Progress(folder)
    teaching = Teaching(session, folder)
    allowed = LOCAL | set(hosts)

    async def in_model_thread(work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    @app.middleware("http")
    async def guard(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        refusal = refused(request, allowed)
        response = _error(*refusal) if refusal else await call_next(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.exception_handler(TraceError)
    async def not_there(request: Request, error: TraceError) -> Response:
        return _error(404 if str(error).startswith("no ") else 400, line(request, error))

    @app.exception_handler(CutawayError)
    async def told(request: Request, error: CutawayError) -> Response:
        return _error(422, line(request, error))

    @app.exception_handler(StarletteHTTPException)
    async def refused_politely(_: Request, error: StarletteHTTPException) -> Response:
        return _error(error.status_code, str(error.detail))

    @app.exception_handler(RequestValidationError)
    async def misunderstood(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(part for part in first["loc"][1:] if isinstance(part, str)) or "body"
        wrong = InputError(f"{place}: {first['msg']}", zh=f"{place} 的内容不合要求；请改后再试")
        return _error(422, line(request, wrong))

    @app.get("/")
    async def page() -> Response:
        return HTMLResponse(document(info(), inline=False))

    @app.get("/page.js")
    async def page_script() -> Response:
        return Response(script(), media_type="text/javascript")

    @app.get("/style.css")
    async def page_style() -> Response:
        return Response(style(), media_type="text/css")

    @app.get("/favicon.ico")
    async def icon() -> Response:
        return Response(status_code=204)

    def info() -> dict[str, Any]:
        return {
            "served": True,
            "name": session.name,
            "translates": session.translates,
            "trains": session.translates,
            "learns": learning.exists(),
            "examples": list(examples) or worth_trying(session, learning),
            "start": {"view": "learn"} if learning.running() else {},
            "snapshots": session.snapshots,
            "beside": list(session.beside),
            "traces": [{"key": k, "title": k, "kind": "trace"} for k in traces or {}],
            "lessons": teaching.list(),
        }

    @app.get("/api/info")
    async def about() -> dict[str, Any]:
        return info()

    @app.post("/api/translate")
    async def translate(question: Question) -> dict[str, Any]:
        return await in_model_thread(lambda: session.translate(**question.model_dump()))

    @app.post("/api/training")
    async def training(pair: Pair) -> dict[str, Any]:
        return await in_model_thread(
            lambda: session.training_step(
                pair.text, pair.target, snapshot=pair.snapshot, rate=pair.rate
            )
        )

    @app.get("/api/learn")
    async def learn() -> dict[str, Any]:
        if not session.translates:
            await in_model_thread(session.follow)
        told = await asyncio.to_thread(learning.read)
        known = {"translates": session.translates, "references": known_sentences(session)}
        return {**told, **known}

    app.include_router(glass_routes(session))

    @app.post("/api/lessons/{name}")
    async def lesson(name: str, telling: Telling) -> dict[str, Any]:
        return await in_model_thread(lambda: teaching.tell(name, telling.choices))

    app.state.session = session
    return app


def worth_trying(session: Session, learning: Progress) -> list[str]:
    """Three sentences for an empty page: from the model's own validation, or from our corpus."""
    if not session.translates:
        return []
    sources = [str(sample["source"]) for sample in learning.read()["samples"]]
    return list(dict.fromkeys([*known_sentences(session), *sources]))[:3]


def known_sentences(session: Session) -> dict[str, str]:
    """The sources' sentences and their translations, for the languages they are in."""
    languages = session.translator.folder.languages if session.translates else None
    return dict(SOURCES_SENTENCES.get("-".join(languages or ()), ()))


def refused(request: Request, allowed: set[str]) -> tuple[int, str] | None:
    """Why a request is not answered: another host's name, another origin, or too much."""
    host = request.headers.get("host", "")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name not in allowed:
        return 403, f"called as {name!r}; this server answers as 127.0.0.1 or localhost only"
    origin = request.headers.get("origin")
    if origin is not None and origin != f"{request.url.scheme}://{host}":
        return 403, f"called from {origin}; this server answers its own page only"
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "called from another site; this server answers its own page only"
    if request.method == "POST":
        size = request.headers.get("content-length", "")
        if not size.isdigit() or int(size) > BODY:
            return 413, f"a question of {size or 'unknown'} bytes; expected at most {BODY}"
        if not request.headers.get("content-type", "").startswith("application/json"):
            return 415, "a question must be JSON: send Content-Type application/json"
    return None


def line(request: Request, error: CutawayError) -> str:
    """What went wrong, in the reader's language where it can be said in it."""
    chinese = request.headers.get("accept-language", "").startswith("zh")
    return error.zh if chinese and error.zh else str(error)


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": " ".join(text.split())}, status_code=status)
