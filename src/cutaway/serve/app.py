"""The routes: the page and its files, recorded runs as JSON and bytes, requests to the model.

Only requests of the page itself are answered: same origin, and a host name of this machine.
"""

import asyncio
import gzip
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cutaway.corpus.embedded import PAIRS, chosen_sentences
from cutaway.decode import Translator
from cutaway.errors import CutawayError, InputError, NotFoundError, TraceError
from cutaway.glass import Trace
from cutaway.glass.html import document, modules, style, web
from cutaway.lessons.texts import languages
from cutaway.serve.glass_routes import glass_routes
from cutaway.serve.page_lessons import PageLessons
from cutaway.serve.progress import Progress
from cutaway.serve.requests import LessonRequest, TrainingRequest, TranslationRequest, UpdateRequest
from cutaway.serve.runs import OutdatedRun
from cutaway.serve.session import Session
from cutaway.serve.token import asked_for_token
from cutaway.serve.turns import Turns

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
# The nearest of an error's classes decides.
STATUS: dict[type, int] = {NotFoundError: 404, OutdatedRun: 410, TraceError: 400, CutawayError: 422}
LOCAL = {"127.0.0.1", "localhost", "[::1]"}
BODY = 8 << 20  # bytes of a request body; lists of single cells are the longest


def create_app(
    translator: Translator | None = None,
    *,
    folder: Path | None = None,
    compared: Mapping[str, Translator] | None = None,
    traces: dict[str, Trace] | None = None,
    examples: Sequence[str] = (),
    siblings: Sequence[str] = (),
    hosts: Sequence[str] | None = (),
    token: str = "",
    progress: Progress | None = None,
    warm: bool = False,
) -> FastAPI:
    """The application for a translator, for recorded traces, or both.

    `compared` are other models to compare with, by name; `siblings` are applications beside this
    one, each served under ../NAME/; `hosts` are further names, beyond this
    machine's own, under which it may be called, None for any; `token` is what every request must
    show, by address, cookie or header; `warm` records something small in the background, so that
    the first request is fast.
    """
    app = FastAPI(title="Cutaway", docs_url=None, redoc_url=None, openapi_url=None)
    session = Session(translator, folder, compared)
    for key, trace in (traces or {}).items():
        session.runs.hold(key, trace)
    in_model_thread = Turns(1, "model")
    if warm:
        in_model_thread.pool.submit(session.warm)
    learning = progress or Progress(folder)
    page_lessons = PageLessons(session, folder)
    allowed = None if hosts is None else LOCAL | set(hosts)

    app.add_middleware(Guard, allowed=allowed, token=token)

    async def cutaway_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, CutawayError)
        kind = next(kind for kind in type(error).__mro__ if kind in STATUS)
        return _error(STATUS[kind], line(request, error))

    app.add_exception_handler(CutawayError, cutaway_error)

    @app.exception_handler(StarletteHTTPException)
    async def http_error(_: Request, error: StarletteHTTPException) -> Response:
        return _error(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(part for part in first["loc"][1:] if isinstance(part, str)) or "body"
        wrong = InputError(f"{place}: {first['msg']}", zh=f"{place} 的内容不合要求；请改后再试")
        return _error(422, line(request, wrong))

    @app.get("/")
    async def page(request: Request) -> Response:
        return file(request, document(info()), "text/html")

    @app.get("/web/{name}.js")
    async def page_module(request: Request, name: str) -> Response:
        if name not in modules():
            raise NotFoundError(f"the page has no module {name!r}", zh=f"页面没有模块 {name!r}")
        return file(request, web(f"{name}.js"), "text/javascript")

    @app.get("/style.css")
    async def page_style(request: Request) -> Response:
        return file(request, style(), "text/css")

    @app.get("/favicon.ico")
    async def icon() -> Response:
        return Response(status_code=204)

    def info() -> dict[str, Any]:
        return {
            "served": True,
            "name": session.name,
            "translates": session.translates,
            "trains": session.translates,
            "updates": session.updates.last(),
            "learns": learning.exists(),
            "examples": list(examples) or example_sentences(session, learning),
            "start": {"view": "learn"} if learning.running() else {},
            "snapshots": session.snapshots,
            "compared": list(session.compared),
            "siblings": list(siblings),
            "traces": [{"key": k, "title": k, "kind": "trace"} for k in traces or {}],
            "lessons": page_lessons.list(),
            "languages": list(languages()),
        }

    @app.get("/api/info")
    async def about() -> dict[str, Any]:
        return info()

    @app.post("/api/translate")
    async def translate(wanted: TranslationRequest) -> dict[str, Any]:
        return await in_model_thread(lambda: session.translation(wanted))

    @app.post("/api/training")
    async def training(pair: TrainingRequest) -> dict[str, Any]:
        return await in_model_thread(lambda: session.training_step(**pair.model_dump()))

    @app.get("/api/update")
    async def update_plan(update: int) -> dict[str, Any]:
        return await asyncio.to_thread(session.updates.plan, update)

    @app.post("/api/update")
    async def update(wanted: UpdateRequest) -> dict[str, Any]:
        return await in_model_thread(lambda: session.updates.record(wanted.update))

    @app.get("/api/learn")
    async def learn() -> dict[str, Any]:
        if not session.translates:
            await in_model_thread(session.follow)
        state = await asyncio.to_thread(learning.read)
        known = {"translates": session.translates, "references": known_sentences(session)}
        return {**state, **known}

    app.include_router(glass_routes(session, in_model_thread))

    @app.post("/api/lessons/{name}")
    async def lesson(name: str, request: LessonRequest) -> dict[str, Any]:
        return await in_model_thread(lambda: page_lessons.steps(name, request.choices))

    app.state.session = session
    return app


class Guard:
    """Before every route: who may ask what, and the headers of every answer."""

    def __init__(self, app: ASGIApp, allowed: set[str] | None, token: str) -> None:
        self.app, self.allowed, self.token = app, allowed, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal at once; pass everything else on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope)
        refusal = refused(request, self.allowed)
        answer: ASGIApp | None = _error(*refusal) if refusal else None
        if answer is None and self.token:
            answer = asked_for_token(request, self.token)
        await (answer or self.app)(scope, receive, with_headers)


def example_sentences(session: Session, learning: Progress) -> list[str]:
    """Three example sentences: from the model's validation data, or from the embedded corpus."""
    if not session.translates:
        return []
    sources = [str(sample["source"]) for sample in learning.read()["samples"]]
    return list(dict.fromkeys([*known_sentences(session), *sources]))[:3]


def known_sentences(session: Session) -> dict[str, str]:
    """Sentences of the embedded corpus with their translations, if it has the languages."""
    languages = session.translator.folder.languages if session.translates else None
    pair = "-".join(languages or ())
    return dict(chosen_sentences(pair, "known")) if pair in PAIRS else {}


def refused(request: Request, allowed: set[str] | None) -> tuple[int, str] | None:
    """Why a request is refused: foreign host name, foreign origin, or too large."""
    host = request.headers.get("host", "")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if allowed is not None and name not in allowed:
        return 403, f"called as {name!r}; this server answers as 127.0.0.1 or localhost only"
    origin = request.headers.get("origin")
    if origin is not None and origin != f"{request.url.scheme}://{host}":
        return 403, f"called from {origin}; this server answers its own page only"
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "called from another site; this server answers its own page only"
    if request.method == "POST":
        size = request.headers.get("content-length", "")
        if "transfer-encoding" in request.headers:  # with both headers the length would not hold
            return 411, "a request body in chunks; send its Content-Length"
        if not size.isdigit() or int(size) > BODY:
            return 413, f"a request body of {size or 'unknown'} bytes; expected at most {BODY}"
        if not request.headers.get("content-type", "").startswith("application/json"):
            return 415, "a request body must be JSON: send Content-Type application/json"
    return None


def file(request: Request, text: str, kind: str) -> Response:
    """One of the page's own texts, compressed if the browser takes gzip.

    Recorded numbers are not compressed: floats shrink little and it takes time.
    """
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(text, media_type=kind, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(zipped(text), media_type=kind, headers=headers)


@lru_cache(maxsize=128)
def zipped(text: str) -> bytes:
    """A text as gzip; modules and styles are compressed once."""
    return gzip.compress(text.encode(), 6, mtime=0)


def line(request: Request, error: CutawayError) -> str:
    """The error message in the reader's language, where it is translated."""
    chinese = request.headers.get("accept-language", "").startswith("zh")
    return error.zh if chinese and error.zh else str(error)


def _error(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": " ".join(text.split())}, status, headers)
