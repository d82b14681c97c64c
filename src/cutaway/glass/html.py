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

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

LANGUAGES = ("en", "zh")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) (\w+))", re.MULTILINE)
_LITERAL = re.compile(r'("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)')
_BLANKS = re.compile(r" ?(=>|===|!==|[{}(),;:=<>?&|]+) ?")
# A line may end behind such a sign, or begin with one, without a meaning of its own.
_TURN = re.compile(r"([{(\[,;:?=|&+*])\n|\n([)\]}.?:|&=+*,])")
_COMMENT = re.compile(r"/\*\*.*?\*/ ?", re.DOTALL)
_REMARK = re.compile(r"\s*// .*$", re.MULTILINE)  # addresses have no blank behind their slashes


@dataclass(frozen=True)
class Carried:
    """A trace on its way into a file: what it is, and its bytes as one stream."""

    key: str
    title: str
    kind: str  # "translation", "training" or "trace"
    bundle: bytes


def web(name: str) -> str:
    """The text of one of the page's files."""
    return resources.files("cutaway").joinpath("web", name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """All modules of the page as one script, in the order they need each other.

    Each module becomes a function of its own, so that names never meet.
    """
    done: list[str] = []
    parts: list[str] = []

    def add(name: str) -> None:
        text = web(f"{name}.js")
        for _, other in _IMPORT.findall(text):
            if other not in done:
                add(other)
        if name in done:
            return
        done.append(name)
        exports = ", ".join(_EXPORT.findall(text))
        body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_scope(found[2])};", text)
        body = _REMARK.sub("", _COMMENT.sub("", _EXPORT.sub("", body)))
        lines = (_squeezed(line.strip()) for line in body.splitlines())
        inside = _TURN.sub(r"\1\2", "\n".join(line for line in lines if line))
        parts.append(f"const {_scope(name)} = (() => {{\n{inside}\nreturn {{ {exports} }};\n}})();")

    add("app")
    return "\n".join(parts) + "\n"


def _squeezed(line: str) -> str:
    """A line of code without the blanks that only people need; texts and patterns stay."""
    parts = _LITERAL.split(line)
    if any(part.count("{") != part.count("}") for part in parts[1::2]):
        return line  # a template inside a template
    for place in range(0, len(parts), 2):
        if "/" not in parts[place] and "'" not in parts[place]:
            parts[place] = _BLANKS.sub(r"\1", parts[place])
    return "".join(parts)


def _scope(module: str) -> str:
    return "m_" + module.replace("-", "_")


@cache
def style() -> str:
    """The style sheet, without the blanks that only people need."""
    text = re.sub(r"\s+", " ", web("style.css"))
    return re.sub(r" ?([{};,]) ?", r"\1", text).replace(": ", ":").strip()


def data_block(name: str, value: Any) -> str:
    """JSON that a script of the page can read and no parser can mistake for markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{html.escape(name)}">{text}</script>'


def document(boot: dict[str, Any], *, carried: Sequence[Carried] = (), inline: bool) -> str:
    """The page: with its scripts and traces inside (`inline`), or asking a server for them."""
    text = web("index.html")
    blocks = [data_block("boot", boot)]
    blocks += [
        data_block(f"locale-{code}", json.loads(web(f"locales/{code}.json"))) for code in LANGUAGES
    ]
    blocks += [
        f'<script type="application/octet-stream" id="trace-{html.escape(item.key)}">'
        f"{base64.b64encode(gzip.compress(item.bundle, 6, mtime=0)).decode()}</script>"
        for item in carried
    ]
    if inline:
        policy = (
            f"default-src 'none'; script-src '{_hash(script())}'; style-src '{_hash(style())}'; "
            f"img-src blob: data:; base-uri 'none'; form-action 'none'"
        )
        parts = {
            "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            "style": f"<style>{style()}</style>",
            "script": f'<script type="module">{script()}</script>',
        }
    else:
        parts = {
            "policy": "",
            "style": '<link rel="stylesheet" href="style.css">',
            "script": '<script type="module" src="page.js"></script>',
        }
    parts["data"] = "\n".join(blocks)
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def carry(trace: "Trace", *, key: str = "0", title: str = "") -> Carried:
    """A trace made ready to travel in a file."""
    from cutaway.glass.store import bundle

    if any(value.phase in ("backward", "update") for value in trace.values):
        kind = "training"
    else:
        told = "translation" in trace.meta or "target" in trace.labels
        kind = "translation" if told else "trace"
    return Carried(key, title or str(trace.meta.get("model", "")), kind, bundle(trace))


def to_html(*traces: "Trace", at: str = "", language: str = "en", title: str = "") -> str:
    """One self-contained file with everything still clickable; opens at an address if given."""
    carried = [carry(trace, key=str(place)) for place, trace in enumerate(traces)]
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
    trace: "Trace", path: str | Path, *, at: str = "", language: str = "en", title: str = ""
) -> None:
    """Write a trace as one HTML file that works offline."""
    Path(path).write_text(to_html(trace, at=at, language=language, title=title), encoding="utf-8")


def page(trace: "Trace", *, height: int = 720) -> str:
    """The same file inside a notebook: an iframe that holds it, cut off from the notebook."""
    inside = html.escape(to_html(trace), quote=True)
    return (
        f'<iframe srcdoc="{inside}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{height}px;border:1px solid #ccc" title="Cutaway"></iframe>'
    )
