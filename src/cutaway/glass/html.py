"""A trace in a notebook."""

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutaway.glass.trace import Trace


def page(trace: "Trace") -> str:
    """The named values as a table, one row each."""
    rows = []
    for value in trace.values:
        if value.name is None:
            continue
        shape = " × ".join(map(str, value.shape)) or "scalar"
        statement = escape(value.site.statement) if value.site is not None else value.source or ""
        rows.append(
            f"<tr><td><code>{escape(value.address)}</code></td><td>{shape}</td>"
            f"<td>{value.phase}</td><td><code>{statement}</code></td></tr>"
        )
    head = "<tr><th>address</th><th>shape</th><th>phase</th><th>statement</th></tr>"
    return (
        f"<details open><summary>{escape(repr(trace))}</summary>"
        f"<table>{head}{''.join(rows)}</table></details>"
    )
