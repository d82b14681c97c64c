"""`cutaway explain`: the numbers of one run, and where each of them came from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutaway.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cutaway.glass import Explanation, Trace
    from cutaway.glass.trace import Labelled

ROWS, COLUMNS = 24, 12  # of a matrix on the terminal


def explain(
    folder: Annotated[Path, typer.Argument(help="Model folder, or a folder trace.save wrote.")],
    text: Annotated[str, typer.Argument(help="The sentence; empty for a saved trace.")] = "",
    address: Annotated[
        str, typer.Argument(help="A value, a part of it, or one cell: name[0,2,:]; patterns list.")
    ] = "",
    target: Annotated[
        str | None, typer.Option(help="Use this translation instead of the model's own.")
    ] = None,
    training: Annotated[
        bool, typer.Option("--training", help="Record a training step: loss, gradients, update.")
    ] = False,
    terms: Annotated[int, typer.Option(help="Terms shown of a long sum.")] = 4,
    language: Annotated[str, typer.Option("--language", help="Of the words: en or zh.")] = "en",
    everything: Annotated[
        bool, typer.Option("--all", help="List intermediate values too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One cell as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the run as one HTML file.")] = None,
    xlsx: Annotated[
        Path | None, typer.Option(help="Write the value as a spreadsheet with live formulas.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the trace to this folder.")] = None,
) -> None:
    """Show where the numbers of a run came from: the tree, a matrix, or one cell.

    Without an address: all named values. With one: the matrix, coloured. With indices for every
    axis: the cell's arithmetic, its operands, the line of code, and a sentence in words.
    """
    from rich.console import Console

    if language not in ("en", "zh"):
        raise InputError(f"language is {language!r}; expected en or zh")
    trace = open_trace(folder, text, target=target, training=training)
    if save is not None:
        trace.save(save)
    if html is not None:
        from cutaway.glass.html import write_html

        write_html(trace, html, at=address, language=language)
    if xlsx is not None:
        if not address:
            raise InputError("give the address of the value to write as a spreadsheet")
        trace.to_xlsx(xlsx, address)
    console = Console(highlight=False, soft_wrap=True)
    if not address:
        if not (html or save):
            console.print(trace.tree(intermediates=everything), markup=False)
        return
    show(console, trace, address, terms, language, everything=everything, as_json=as_json)


def open_trace(
    folder: Path,
    text: str,
    *,
    target: str | None = None,
    like: "Trace | None" = None,
    training: bool = False,
) -> "Trace":
    """A saved trace, or a run of a model folder on a text."""
    from cutaway.glass import load

    if (folder / "trace.json").is_file():
        return load(folder)
    if not text.strip():
        raise InputError("the text is empty; give a sentence for the model")
    from cutaway.glass.sentence import record_sentence

    return record_sentence(folder, text, target=target, like=like, training=training)


def show(
    console: "Console",
    trace: "Trace",
    address: str,
    terms: int,
    language: str,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """A list for a pattern, a matrix for a value, the arithmetic for a cell."""
    from cutaway.glass.address import parse

    name, indices = parse(address)
    if "*" in name:
        console.print(trace.tree(pattern=name, intermediates=everything), markup=False)
        return
    value = trace.value(name)
    cell = value.cells == 1 or (
        len(indices) == len(value.shape) and all(isinstance(index, int) for index in indices)
    )
    if not cell:
        for part in matrices(trace[address]):
            console.print(part)
        return
    explanation = trace.explain(address, terms=terms)
    if as_json:
        import json

        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=2))
        return
    print_cell(console, trace, explanation, language)


def print_cell(
    console: "Console", trace: "Trace", explanation: "Explanation", language: str
) -> None:
    """One cell: arithmetic, check, operands, line, words."""
    console.print(f"[bold]{_plain(explanation.asked)}[/]")
    labels = [label for label in explanation.labels if label]
    if labels:
        console.print(f"  {_plain(' · '.join(labels))}")
    console.print(f"\n{explanation.text}\n", markup=False)
    if explanation.difference is not None:
        console.print(
            f"value {explanation.value!r}, recomputed {explanation.recomputed!r}, "
            f"difference {explanation.difference:.2g}"
        )
    operands = explanation.operands
    for operand in operands[:12]:
        console.print(f"  {operand.value: .6g}  [cyan]{_plain(operand.address)}[/]")
    if len(operands) > 12:
        console.print(f"  … {len(operands) - 12} more operands")
    source = explanation.source
    if source is not None:
        console.print(f"\n{source.file}:{source.line}  [green]{_plain(source.statement)}[/]")
    console.print(_plain(explanation.words[language]))


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def matrices(labelled: "Labelled") -> "list[Table | str]":
    """The last two axes as coloured tables, one a place of the axes before (four at most)."""
    tensor = labelled.tensor
    while tensor.dim() < 2:
        tensor = tensor.unsqueeze(0)
    lead = tensor.shape[:-2]
    flat = tensor.reshape(-1, *tensor.shape[-2:])
    words: list[list[str] | None] = [None, None, *labelled.words][-2:]
    shown: list[Table | str] = []
    for number in range(min(len(flat), 4)):
        place: list[int] = []
        rest = number
        for size in reversed(lead):
            place.insert(0, rest % size)
            rest //= size
        title = labelled.address
        if place:
            title += f"  ({', '.join(map(str, place))})"
        shown.append(_table(flat[number], title, words[0], words[1]))
    if len(flat) > 4:
        shown.append(f"… {len(flat) - 4} more matrices; give their indices")
    return shown


def _table(matrix: Any, title: str, rows: list[str] | None, columns: list[str] | None) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    height, width = matrix.shape
    for column in range(min(width, COLUMNS)):
        table.add_column(columns[column] if columns else str(column), justify="right")
    finite = matrix.double()[matrix.double().isfinite()]
    top = float(finite.abs().max()) if finite.numel() else 1.0
    for row in range(min(height, ROWS)):
        cells = [Text(rows[row] if rows else str(row), style="bold")]
        for column in range(min(width, COLUMNS)):
            number = float(matrix[row, column])
            cells.append(Text(_short(number), style=_colour(number, top)))
        table.add_row(*cells)
    if height > ROWS or width > COLUMNS:
        table.caption = f"{height} × {width}; the first {min(height, ROWS)} × {min(width, COLUMNS)}"
    return table


def _short(number: float) -> str:
    from cutaway.glass.write import show as spelled

    return spelled(float(f"{number:.3g}")) if number == number else "NaN"


def _colour(number: float, top: float) -> str:
    """Blue below zero, orange above, paler towards zero; NaN and infinity stand out."""
    if number != number or number in (float("inf"), float("-inf")):
        return "bold red"
    share = min(abs(number) / top, 1.0) if top else 0.0
    fade = int(235 - 120 * share)
    return f"rgb(255,{fade},{max(fade - 90, 0)})" if number > 0 else f"rgb({fade - 60},{fade},255)"
