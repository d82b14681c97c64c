"""The page as one file: scripts and styles joined, a trace inside, no request to anyone.

The page's own files live in `cutaway/web`; the server and the file show the same ones.
"""

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.glass.fitting import LIMIT, fitting

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";$', re.MULTILINE)
# A module asked for later, not the type of one in a comment.
_LATER = re.compile(r'(?:(?<=await )|(?<==> )|(?<=void ))import\("\./([\w-]+)\.js"\)')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)
LARGEST = 8 << 20  # bytes of numbers that a notebook's cell carries
LINES = 200  # of a larger trace's tree
# Views that a file has only if it carries such a run; `compare` needs two, others a server.
NEEDED = {"translate": "translation", "walk": "translation", "pictures": "translation"}
NEEDED |= {"training": "training"}
# In the order in which later rules win.
STYLES = (
    *("base", "frame", "map", "matrix", "inspector", "translate", "views", "lessons", "play"),
    *("zoom", "screens"),
)


@dataclass(frozen=True)
class Carried:
    """A trace on its way into a file: what it is, and its bytes as one stream."""

    key: str
    title: str
    kind: str  # "translation", "training" or "trace"
    bundle: bytes


@cache
def web(name: str) -> str:
    """The text of one of the page's files."""
    return resources.files("cutaway").joinpath("web", name).read_text(encoding="utf-8")


@cache
def modules() -> tuple[str, ...]:
    """Names of the page's modules."""
    folder = resources.files("cutaway").joinpath("web")
    return tuple(sorted(Path(one.name).stem for one in folder.iterdir() if one.name[-3:] == ".js"))


def loaded(*names: str) -> list[str]:
    """Modules that are loaded with these, each after those that it imports."""
    done: list[str] = []

    def add(name: str) -> None:
        if name in done:
            return
        for _, other in _IMPORT.findall(web(f"{name}.js")):
            add(other)
        done.append(name)

    for name in names:
        add(name)
    return done


@cache
def script(without: frozenset[str] = frozenset()) -> str:
    """The modules of the page as one script, for a file that cannot fetch: without some views.

    Each module becomes the body of a function, so that names of two modules cannot clash. `app`
    begins at once, so it comes last; what it asks for later is there by then.
    """
    later: list[str] = []
    found = loaded("app")
    for name in found:  # grows while it is read
        for other in _LATER.findall(web(f"{name}.js")):
            if other not in without and other not in later:
                later.append(other)
                found += [one for one in loaded(other) if one not in found]
    parts = []
    for name in loaded(*later, "app"):
        text = web(f"{name}.js")
        exports = ", ".join(_EXPORT.findall(text))
        body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_scope(found[2])};", text)
        body = _LATER.sub(lambda found: f"Promise.resolve({_scope(found[1])})", body)
        body = _EXPORT.sub("", body)
        parts.append(f"const {_scope(name)} = (() => {{\n{body}return {{ {exports} }};\n}})();")
    return "\n".join(parts) + "\n"


def _scope(module: str) -> str:
    return "m_" + module.replace("-", "_")


@cache
def style() -> str:
    """The style sheets as one, in the order in which later rules win."""
    return "\n".join(web(f"styles/{name}.css") for name in STYLES)


@cache
def languages() -> tuple[str, ...]:
    """Languages of the page, by the names of its locale files; English first."""
    folder = resources.files("cutaway").joinpath("web", "locales")
    found = {Path(one.name).stem for one in folder.iterdir() if one.name.endswith(".json")}
    return ("en", *sorted(found - {"en"}))


def data_block(name: str, value: Any) -> str:
    """JSON that a script of the page can read and no parser can mistake for markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{html.escape(name)}">{text}</script>'


def document(boot: dict[str, Any], *, carried: Sequence[Carried] = (), inline: bool) -> str:
    """The page: with its scripts and traces inside (`inline`), or asking a server for them."""
    text = web("index.html")
    blocks = [data_block("boot", boot)]
    blocks += [
        data_block(f"locale-{code}", json.loads(web(f"locales/{code}.json")))
        for code in languages()
    ]
    blocks += [
        f'<script type="application/octet-stream" id="trace-{html.escape(item.key)}">'
        f"{base64.b64encode(gzip.compress(item.bundle, 6, mtime=0)).decode()}</script>"
        for item in carried
    ]
    if inline:
        code = script(_without([item.kind for item in carried]))
        policy = (
            f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style())}'; "
            f"img-src blob: data:; base-uri 'none'; form-action 'none'"
        )
        parts = {
            "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            "style": f"<style>{style()}</style>",
            "script": f'<script type="module">{code}</script>',
        }
    else:
        view = boot.get("start", {}).get("view") or ("translate" if boot["translates"] else "look")
        first = [f'<link rel="modulepreload" href="web/{name}.js">' for name in loaded("app", view)]
        parts = {
            "policy": "",
            "style": "\n".join(['<link rel="stylesheet" href="style.css">', *first]),
            "script": '<script type="module" src="web/app.js"></script>',
        }
    parts["data"] = "\n".join(blocks)
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def _without(kinds: Sequence[str]) -> frozenset[str]:
    """Views that a file with runs of these kinds does not offer."""
    missing = {view for view, kind in NEEDED.items() if kind not in kinds}
    return frozenset({"learn", "lessons"} | missing | ({"compare"} if len(kinds) < 2 else set()))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def carry(
    trace: "Trace", *, key: str = "0", title: str = "", at: str = "", limit: int | None = LIMIT
) -> Carried:
    """A trace made ready to travel in a file: of more than `limit` bytes what the view needs."""
    from cutaway.glass.store import bundle

    if any(value.phase in ("backward", "update") for value in trace.values):
        kind = "training"
    else:
        told = "translation" in trace.meta or "target" in trace.labels
        kind = "translation" if told else "trace"
    data = bundle(trace, fitting(trace, at, limit))
    return Carried(key, title or str(trace.meta.get("model", "")), kind, data)


def to_html(
    *traces: "Trace",
    at: str = "",
    language: str = "en",
    title: str = "",
    limit: int | None = LIMIT,
) -> str:
    """One self-contained file with everything still clickable; opens at an address if given.

    Of a trace with more than `limit` bytes of numbers it holds what the view needs: the module of
    `at`, then what the run computed, then weights, small ones first. None: everything.
    """
    carried = [
        carry(trace, key=str(place), at=at, limit=limit) for place, trace in enumerate(traces)
    ]
    return carried_html(carried, at=at, language=language, title=title)


def carried_html(
    carried: Sequence[Carried], *, at: str = "", language: str = "en", title: str = ""
) -> str:
    """The file that carries these traces."""
    kinds = {item.kind for item in carried}
    view = "translate" if "translation" in kinds else "training" if "training" in kinds else "look"
    boot = {
        "served": False,
        "name": title or carried[0].title,
        "traces": [{"key": c.key, "title": c.title, "kind": c.kind} for c in carried],
        "start": {"view": "look" if at else view, "at": at, "lang": language},
    }
    return document(boot, carried=carried, inline=True)


def write_html(
    trace: "Trace",
    path: str | Path,
    *,
    at: str = "",
    language: str = "en",
    title: str = "",
    limit: int | None = LIMIT,
) -> None:
    """Write a trace as one HTML file that works offline; what it holds: `to_html`."""
    text = to_html(trace, at=at, language=language, title=title, limit=limit)
    Path(path).write_text(text, encoding="utf-8")


def page(trace: "Trace", *, height: int = 720) -> str:
    """The same file inside a notebook: an iframe that holds it, cut off from the notebook.

    A notebook keeps what it shows, so a large trace is shown as the list of its values.
    """
    buffers = {id(value.buffer): value.buffer for value in trace.values if value.buffer is not None}
    size = sum(buffer.bytes for buffer in buffers.values())
    if size > LARGEST:
        tree = trace.tree().split("\n")
        more = [f"… and {len(tree) - LINES:,} more lines: trace.tree()"] if tree[LINES:] else []
        advice = (
            f"{size / 1e6:,.0f} MB of numbers; a notebook shows up to {LARGEST / 1e6:,.0f} MB. "
            'Write a file of its own with cutaway.glass.html.write_html(trace, "run.html"), or '
            'record fewer numbers with glass.record(model, select="…").'
        )
        text = "\n".join((repr(trace), advice, "", *tree[:LINES], *more))
        return f"<pre>{html.escape(text)}</pre>"
    inside = html.escape(to_html(trace), quote=True)
    return (
        f'<iframe srcdoc="{inside}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{height}px;border:1px solid #ccc" title="Cutaway"></iframe>'
    )
