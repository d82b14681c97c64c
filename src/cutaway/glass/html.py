"""The page as one file: scripts and styles joined, a trace inside, no network requests.

The page's own files live in `cutaway/web`; the server and the file show the same ones.
"""

import base64
import gzip
import hashlib
import html
import json
import re
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
KEY = "0"  # of the trace in a file
# Views that a file has only if it carries such a run; all others need a server.
NEEDED = {"translate": "translation", "walk": "translation", "pictures": "translation"}
NEEDED |= {"training": "training"}
# In the order in which later rules win.
STYLES = (
    *("base", "frame", "map", "matrix", "inspector", "translate", "views", "lessons", "play"),
    *("zoom", "screens"),
)


@dataclass(frozen=True)
class Carried:
    """A trace to embed in a file: what it is, and its bytes as one stream."""

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


def document(boot: dict[str, Any], carried: Carried | None = None) -> str:
    """The page: with its scripts and a trace inside, or asking a server for both."""
    text = web("index.html")
    blocks = [data_block("boot", boot)]
    blocks += [
        data_block(f"locale-{code}", json.loads(web(f"locales/{code}.json")))
        for code in languages()
    ]
    if carried is not None:
        zipped = base64.b64encode(gzip.compress(carried.bundle, 6, mtime=0)).decode()
        blocks.append(f'<script type="application/octet-stream" id="trace-{KEY}">{zipped}</script>')
        code = script(_without(carried.kind))
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


def _without(kind: str) -> frozenset[str]:
    """Views that a file with a run of this kind does not offer."""
    missing = {view for view, needed in NEEDED.items() if needed != kind}
    return frozenset({"learn", "lessons", "compare"} | missing)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def carry(trace: "Trace", at: str = "", limit: int | None = LIMIT) -> Carried:
    """A trace made ready to travel in a file: of more than `limit` bytes what the view needs."""
    from cutaway.glass.store import bundle

    if any(value.phase in ("backward", "update") for value in trace.values):
        kind = "training"
    elif "translation" in trace.meta or "target" in trace.labels:
        kind = "translation"
    else:
        kind = "trace"
    data = bundle(trace, fitting(trace, at, limit))
    return Carried(str(trace.meta.get("model", "")), kind, data)


def to_html(
    trace: "Trace | Carried",
    *,
    at: str = "",
    language: str = "en",
    title: str = "",
    limit: int | None = LIMIT,
) -> str:
    """One self-contained file with everything still clickable; opens at an address if given.

    Of a trace with more than `limit` bytes of numbers it holds what the view needs: the module of
    `at`, then what the run computed, then weights, small ones first. None: everything.
    """
    carried = trace if isinstance(trace, Carried) else carry(trace, at, limit)
    view = {"translation": "translate", "training": "training"}.get(carried.kind, "look")
    boot = {
        "served": False,
        "name": title or carried.title,
        "traces": [{"key": KEY, "title": carried.title, "kind": carried.kind}],
        "start": {"view": "look" if at else view, "at": at, "lang": language},
    }
    return document(boot, carried)


def write_html(trace: "Trace", path: str | Path, *, at: str = "", language: str = "en") -> None:
    """Write a trace as one HTML file that works offline; what it holds: `to_html`."""
    Path(path).write_text(to_html(trace, at=at, language=language), encoding="utf-8")


def page(trace: "Trace", *, height: int = 720) -> str:
    """The same file inside a notebook: an iframe that holds it, cut off from the notebook.

    A notebook keeps what it shows, so a large trace is shown as the list of its values.
    """
    size = trace.bytes
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
