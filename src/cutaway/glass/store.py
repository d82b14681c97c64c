"""A trace as data: header and buffers, on disk as JSON and safetensors, or as one stream.

The format is described in docs/trace-format.md.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from cutaway.errors import TraceError
from cutaway.glass.expr import At
from cutaway.glass.mathml import mathml
from cutaway.glass.names import Function, Site
from cutaway.glass.rules import Rule
from cutaway.glass.values import DTYPES, TORCH_DTYPES, Buffer, Value
from cutaway.glass.views import Layout, row_major
from cutaway.glass.wire import from_json, to_json
from cutaway.glass.words import words

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace

FORMAT, VERSION, MAGIC = "cutaway-trace", 1, b"CUTAWAY1"


def header(trace: "Trace", kept: set[int] | None = None) -> tuple[dict[str, Any], list[Buffer]]:
    """The header as plain data, and the buffers it numbers; `kept`: only these (by identity)."""
    return _Header(trace, kept).build()


class _Numbered:
    """Things by number, each once, and the row of each."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.rows: list[Any] = []

    def number(self, key: Any, row: Callable[[], Any]) -> int:
        """The number of a thing; its row is made when it is new."""
        known = self.numbers.get(key)
        if known is None:
            made = row()
            known = self.numbers[key] = len(self.rows)
            self.rows.append(made)
        return known


class _Header:
    def __init__(self, trace: "Trace", kept: set[int] | None) -> None:
        self.trace = trace
        self.kept = kept
        self.modules: dict[str, int] = {path: place for place, path in enumerate(trace.modules)}
        self.functions, self.sites, self.rules, self.buffers = (_Numbered() for _ in range(4))

    def build(self) -> tuple[dict[str, Any], list[Buffer]]:
        values = [self._value(value) for value in self.trace.values]
        names = {row["name"] for row in self.rules.rows}
        data = {
            "format": FORMAT,
            "version": VERSION,
            "meta": self.trace.meta,
            "labels": self.trace.labels,
            "modules": [
                {"path": path, "class": self.trace.modules.get(path, "")} for path in self.modules
            ],
            "functions": self.functions.rows,
            "sites": self.sites.rows,
            "rules": self.rules.rows,
            "words": {name: words(name) for name in sorted(names)},
            "values": values,
            "aliases": self.trace.aliases,
            "buffers": [
                {"dtype": DTYPES[buffer.dtype], "length": buffer.read().numel()}
                for buffer in self.buffers.rows
            ],
        }
        return data, self.buffers.rows

    def _value(self, value: Value) -> dict[str, Any]:
        rule, args = self.trace.rule(value)
        site, buffer, rank = value.site, value.buffer, len(value.shape)
        row: dict[str, Any] = {
            "address": value.address,
            "op": value.op,
            "phase": value.phase,
            "module": self.modules.setdefault(value.path, len(self.modules)),
            "shape": list(value.shape),
            "dtype": value.dtype,
            "rule": self.rules.number((rule, rank), lambda: self._rule(rule, rank)),
        }
        if value.name is not None:
            row["name"] = value.name
        if value.number != 1:
            row["call"] = value.number
        if site is not None:
            row["site"] = self.sites.number(id(site), lambda: self._site(site))
        if args:
            row["args"] = list(args)
        if value.why:
            row["why"] = value.why
        if buffer is not None and (self.kept is None or id(buffer) in self.kept):
            row["buffer"] = self.buffers.number(id(buffer), lambda: buffer)
            offset = value.layout.offset - buffer.start
            if offset:
                row["offset"] = offset
            if value.layout.strides != row_major(value.shape):
                row["strides"] = list(value.layout.strides)
        if value.axes is not None and any(value.axes):
            row["axes"] = value.axes
        for field in ("grad", "of", "forward", "before", "after"):
            found = getattr(value, field)
            if found is not None:
                row[field] = found
        return row

    def _rule(self, rule: Rule, rank: int) -> dict[str, Any]:
        row: dict[str, Any] = {"name": rule.name, "kind": rule.kind}
        if rule.expr is not None:
            row["expr"] = to_json(rule.expr)
            if rule.kind != "view":
                row["formula"] = mathml(rule.expr, rank)
        if rule.source is not None:
            row["source"] = rule.source
        return row

    def _site(self, site: Site) -> dict[str, Any]:
        function = site.function
        return {
            "function": self.functions.number(function, lambda: asdict(function)),
            "line": site.line,
            "end": site.end,
            "statement": site.statement,
        }


def raw(tensor: Tensor) -> bytes:
    """A one-dimensional tensor as little-endian bytes."""
    flat = tensor.detach().contiguous()
    if flat.dtype == torch.bfloat16:
        flat = flat.view(torch.int16)
    return bytes(flat.numpy().astype(flat.numpy().dtype.newbyteorder("<"), copy=False).tobytes())


def bundle(trace: "Trace", kept: set[int] | None = None) -> bytes:
    """Header and buffers as one stream; `kept`: only these buffers (by identity)."""
    data, buffers = header(trace, kept)
    start = 0
    for row, buffer in zip(data["buffers"], buffers, strict=True):
        row["start"] = start
        start += -(-row["length"] * buffer.dtype.itemsize // 8) * 8
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(16 + len(text)) % 8)
    parts = [MAGIC, len(text).to_bytes(8, "little"), text]
    for buffer in buffers:
        chunk = raw(buffer.read())
        parts += [chunk, b"\0" * (-len(chunk) % 8)]
    return b"".join(parts)


def save(trace: "Trace", folder: Path) -> None:
    """Write header and buffers into a folder."""
    data, buffers = header(trace)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {str(place): buffer.read().contiguous() for place, buffer in enumerate(buffers)}
        save_file(tensors, folder / "tensors.safetensors", metadata={"format": FORMAT})
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        (folder / "trace.json").write_text(text, encoding="utf-8")
        mask = os.umask(0)
        os.umask(mask)
        (folder / "tensors.safetensors").chmod(0o666 & ~mask)
    except OSError as error:
        raise TraceError(f"cannot write a trace to {folder}: {error.strerror}") from None


class _Stored(Buffer):
    """Numbers on disk, read when asked for."""

    __slots__ = ("file", "key")

    def __init__(self, file: Any, key: str, dtype: torch.dtype) -> None:
        super().__init__(None, dtype)
        self.file = file
        self.key = key

    @property
    def is_lost(self) -> bool:
        """Never: they can be read from the file."""
        return False

    def read(self) -> Tensor:
        """All elements, from the file."""
        elements: Tensor = self.file.get_tensor(self.key)
        return elements


def load(path: str | Path) -> "Trace":
    """Read a trace that `Trace.save` wrote."""
    from cutaway.glass.trace import Trace

    folder = Path(path)
    try:
        data = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
        file = safe_open(folder / "tensors.safetensors", framework="pt")
    except (OSError, SafetensorError) as error:
        raise TraceError(f"{folder} is no trace: {error}; give a folder trace.save wrote") from None
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, nested without end
        reason = " ".join(str(error).split())[:200]
        raise TraceError(f"{folder / 'trace.json'} is not valid JSON: {reason}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError(f"{folder / 'trace.json'} is no trace; expected format {FORMAT!r}")
    if data.get("version") != VERSION:
        raise TraceError(
            f"{folder} is a trace of version {data.get('version')}; this program reads {VERSION}"
        )
    trace = Trace()
    try:
        _fill(trace, data, file)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{folder / 'trace.json'} is damaged: {error!r:.200}") from None
    return trace


def _rule(row: dict[str, Any]) -> Rule:
    expr = from_json(row["expr"]) if "expr" in row else None
    if row["kind"] == "view" and not isinstance(expr, At):
        raise ValueError(f"a view that is no cell of another value: {expr!r:.80}")
    if expr is None and row["kind"] not in ("source", "opaque"):
        raise ValueError(f"no arithmetic in a rule of kind {row['kind']!r:.80}")
    return Rule(row["name"], row["kind"], expr, row.get("source"))


def _fill(trace: "Trace", data: dict[str, Any], file: Any) -> None:
    trace.meta = data["meta"]
    trace.labels = data["labels"]
    trace.modules = {row["path"]: row["class"] for row in data["modules"]}
    trace.aliases = data["aliases"]
    paths = [row["path"] for row in data["modules"]]
    buffers = [
        _Stored(file, str(place), TORCH_DTYPES[row["dtype"]])
        for place, row in enumerate(data["buffers"])
    ]
    rules = [_rule(row) for row in data["rules"]]
    functions = [Function(**row) for row in data["functions"]]
    sites = [
        Site(
            functions[row["function"]], row["line"], row["end"], row["statement"], (), False, False
        )
        for row in data["sites"]
    ]
    for place, row in enumerate(data["values"]):
        shape = tuple(row["shape"])
        strides = tuple(row["strides"]) if "strides" in row else row_major(shape)
        value = Value(
            id=place,
            origin="stored",
            op=row["op"],
            phase=row["phase"],
            path=paths[row["module"]],
            number=row.get("call", 1),
            shape=shape,
            dtype=row["dtype"],
            layout=Layout(row.get("offset", 0), shape, strides),
            buffer=buffers[row["buffer"]] if "buffer" in row else None,
            site=sites[row["site"]] if "site" in row else None,
            name=row.get("name"),
            address=row["address"],
            source=rules[row["rule"]].source,
            axes=row.get("axes"),
            grad=row.get("grad"),
            of=row.get("of"),
            forward=row.get("forward"),
            before=row.get("before"),
            after=row.get("after"),
            why=row.get("why", ""),
        )
        trace.values.append(value)
        trace._found[place] = (rules[row["rule"]], tuple(row.get("args", ())))
    trace._index()
    trace.sealed = True
