"""Names from the author's own code: which line computes a value, and what the line calls it.

Torch's plumbing is skipped, so the frame found is the one a reader knows. The instruction's
position tells which expression of which statement that frame is at; the answer is kept by (code
object, instruction).
"""

import ast
import inspect
import itertools
import linecache
import os
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from types import CodeType, FrameType
from typing import Any

import torch

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_GLASS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_COMPUTING = {"decompose.py"}  # ours that computes what is recorded
_READABLE = (  # torch code written as formulas, with names worth showing
    os.path.join(_TORCH, "nn", "modules", "transformer.py"),
    os.path.join(_TORCH, "optim") + os.sep,
)
READABLE_FUNCTIONS = {"multi_head_attention_forward", "MultiheadAttention.forward"}
_PLUMBING = (
    _TORCH,
    os.path.dirname(os.path.abspath(os.__file__)) + os.sep + "contextlib",
    os.path.dirname(os.path.abspath(os.__file__)) + os.sep + "functools",
    os.path.dirname(os.path.abspath(os.__file__)) + os.sep + "threading",
)
_OPTIMIZER_BASE = os.path.join(_TORCH, "optim", "optimizer.py")


@cache
def is_author(code: CodeType) -> bool:
    """Whether a reader would call this code the author's: neither torch's plumbing nor ours."""
    path = os.path.abspath(code.co_filename)
    if path == _OPTIMIZER_BASE:
        return False
    if path.startswith(_READABLE) or code.co_qualname in READABLE_FUNCTIONS:
        return True
    if path.startswith(_GLASS):
        return os.path.basename(path) in _COMPUTING
    return not path.startswith(_PLUMBING) and not code.co_filename.startswith("<frozen")


def author_frame(start: FrameType | None) -> FrameType | None:
    """The innermost frame of the author's code, from a frame upwards."""
    frame = start
    while frame is not None and not is_author(frame.f_code):
        frame = frame.f_back
    return frame


@dataclass(frozen=True)
class Function:
    """A function as its file has it."""

    file: str
    name: str
    first: int  # line number of its first line
    text: str


@dataclass(frozen=True)
class Site:
    """A place in the source: the statement being executed and what it assigns."""

    code: CodeType | Function  # a trace read from disk brings the text of its functions
    line: int
    end: int
    statement: str
    names: tuple[str, ...]  # what the statement assigns; several for a tuple
    exact: bool  # the expression at work is the whole right-hand side
    returns: bool  # the statement is a return: the caller may know the name

    @property
    def function(self) -> Function:
        """The function around it."""
        code = self.code
        return code if isinstance(code, Function) else _function(code, code.co_filename)


_sites: dict[tuple[CodeType, int], Site] = {}


def site_of(frame: FrameType) -> Site:
    """The statement a frame is at."""
    key = (frame.f_code, frame.f_lasti)
    known = _sites.get(key)
    if known is None:
        known = _sites[key] = _read(frame)
    return known


def _read(frame: FrameType) -> Site:
    code, line = frame.f_code, frame.f_lineno
    file = _file(code.co_filename)
    position = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
    node, statement = file.nodes.get(position or (), (None, None))
    if statement is None:  # generated code, or an instruction without a place of its own
        statement = file.statements.get(line)
    if statement is None:
        text = linecache.getline(code.co_filename, line).strip()
        return Site(code, line, line, text, (), False, False)
    names, exact, returns = _assigned(statement, node)
    head = _head(statement)
    segment = _segment(file.lines, head)
    end = getattr(head, "end_lineno", line) or line
    return Site(code, statement.lineno, end, segment, names, exact, returns)


@dataclass
class _File:
    """A source file: its nodes by position and its statements by line."""

    lines: list[str]
    nodes: dict[tuple[Any, ...], tuple[ast.AST, ast.stmt]]
    statements: dict[int, ast.stmt]


def _segment(lines: list[str], node: Any) -> str:
    """The text of a node; columns count bytes."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    rows = [line.encode() for line in lines[first : last + 1]]
    rows[-1] = rows[-1][: node.end_col_offset]
    rows[0] = rows[0][node.col_offset :]
    return b"".join(rows).decode()


@cache
def _file(path: str) -> _File:
    lines = linecache.getlines(path)
    file = _File(lines, {}, {})
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return file
    pending: list[tuple[ast.AST, ast.stmt | None]] = [(tree, None)]
    while pending:
        node, statement = pending.pop()
        if isinstance(node, ast.stmt):
            statement = node
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                held = file.statements.get(line)
                if held is None or held.lineno <= node.lineno:
                    file.statements[line] = node  # the innermost begins last
        if statement is not None and isinstance(node, (ast.expr, ast.AugAssign)):
            place = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            file.nodes.setdefault(place, (node, statement))
        pending.extend((child, statement) for child in ast.iter_child_nodes(node))
    return file


def _head(statement: ast.stmt) -> ast.AST:
    """Of a compound statement, the part that is computed there."""
    if isinstance(statement, (ast.If, ast.While)):
        return statement.test
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return statement.iter
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return statement.items[0].context_expr
    return statement


def _assigned(statement: ast.stmt, node: ast.AST | None) -> tuple[tuple[str, ...], bool, bool]:
    """What a statement assigns, whether `node` is all of its value, and whether it returns."""
    if isinstance(statement, ast.Assign):
        return *_targets(statement.targets[0], statement.value, node), False
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return *_targets(statement.target, statement.value, node), False
    if isinstance(statement, ast.AugAssign):
        name = _name(statement.target)
        return ((name,) if name else ()), node is statement or node is None, False
    if isinstance(statement, ast.Return) and statement.value is not None:
        return ("output",), _whole(statement.value, node), True
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute):
            if function.attr.startswith("_foreach_"):  # of a list: each keeps its own name
                return (), False, False
            if function.attr.endswith("_"):
                name = _name(function.value)
                return ((name,) if name else ()), node is statement.value, False
            return (function.attr,), False, False
        if isinstance(function, ast.Name):
            return (function.id,), False, False
    return (), False, False


def _targets(
    target: ast.expr, value: ast.expr, node: ast.AST | None
) -> tuple[tuple[str, ...], bool]:
    if isinstance(target, (ast.Tuple, ast.List)):
        names = tuple(_name(element) or "" for element in target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(names):
            for name, element in zip(names, value.elts, strict=True):
                if node is not None and any(inner is node for inner in ast.walk(element)):
                    return ((name,) if name else ()), element is node
        return names, value is node
    own = _name(target)
    return ((own,) if own else ()), _whole(value, node)


def _whole(value: ast.expr, node: ast.AST | None) -> bool:
    """Whether the node computes the value itself, or one element of it."""
    if value is node:
        return True
    if isinstance(value, (ast.Tuple, ast.List)):
        return any(element is node for element in value.elts)
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        return value.elt is node
    if isinstance(value, ast.IfExp):
        return _whole(value.body, node) or _whole(value.orelse, node)
    return False


def _name(target: ast.AST) -> str | None:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, (ast.Subscript, ast.Starred)):
        return _name(target.value)
    return None


@dataclass(frozen=True)
class Naming:
    """What an operation at some place should be called."""

    site: Site
    names: tuple[str, ...]
    exact: bool
    weak: bool = False  # the name is only "what is returned"


def naming(frame: FrameType) -> Naming:
    """The site of a frame, and its name; a `return` of a helper takes the caller's name."""
    site = site_of(frame)
    if not site.returns:
        return Naming(site, site.names, site.exact)
    caller, current, exact = frame.f_back, site, site.exact
    while current.returns and caller is not None and is_author(caller.f_code):
        current = site_of(caller)
        exact = exact and current.exact
        caller = caller.f_back
    names = current.names
    if not names:  # the caller's statement has no name to give
        return Naming(site, site.names, False)
    return Naming(site, names, exact, current.returns)


def local_name(tensor: Any, owner: Any) -> str | None:
    """What the running code calls a tensor: outermost inside the model, else innermost outside."""
    inside: str | None = None
    outside: str | None = None
    frame = author_frame(sys._getframe(1))
    while frame is not None:
        if is_author(frame.f_code):
            variables = frame.f_locals
            found = next((name for name, value in variables.items() if value is tensor), None)
            if found is not None and not found.startswith("."):
                if owner is not None and isinstance(variables.get("self"), torch.nn.Module):
                    inside = found
                elif outside is None:
                    outside = found
        frame = frame.f_back
    return outside if inside is None else inside


@lru_cache(maxsize=1024)
def _function(code: CodeType, filename: str) -> Function:
    """Kept, for finding a function's end is slow; equal code may be of two files."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        lines, first = [], code.co_firstlineno
    return Function(_shown(filename), code.co_qualname, max(first, 1), "".join(lines))


def _shown(filename: str) -> str:
    """A file's path without the part that only this machine knows."""
    path = os.path.abspath(filename)
    for entry in sorted(
        (os.path.abspath(part) for part in sys.path if part), key=len, reverse=True
    ):
        if path.startswith(entry + os.sep):
            return path[len(entry) + 1 :].replace(os.sep, "/")
    return os.path.basename(path)
