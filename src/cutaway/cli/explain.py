"""`cutaway explain`: the numbers of one run, and where each of them came from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutaway.cli.arguments import names_model
from cutaway.cli.completion import model_folders
from cutaway.cli.outputs import Force, check_file, check_folder, is_report
from cutaway.data import located, model_for
from cutaway.errors import InputError
from cutaway.numbers import colour, short

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cutaway.glass import Explanation, Trace
    from cutaway.glass.trace import Labelled

ONE_SENTENCE = "A training step on this sentence alone: no dropout, fresh optimizer."
ROWS, COLUMNS = 24, 12  # of a matrix on the terminal


def explain(
    model: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER",
            help="Model folder, its run, or a saved trace; without one, the everyday model.",
            autocompletion=model_folders,
        ),
    ],
    text: Annotated[
        str, typer.Argument(help="The sentence; none for a saved trace or with --update.")
    ] = "",
    address: Annotated[
        str, typer.Argument(help="A value, a part of it, or one cell: name[0,2,:]; patterns list.")
    ] = "",
    target: Annotated[
        str | None, typer.Option(help="Use this translation instead of the model's own.")
    ] = None,
    training: Annotated[bool, typer.Option("--training", help=ONE_SENTENCE)] = False,
    update: Annotated[
        int | None, typer.Option("--update", help="Replay this update of the run, and record it.")
    ] = None,
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
    force: Force = False,
) -> None:
    """Show where the numbers of a run came from: the tree, a matrix, or one cell.

    cutaway explain "Where is the station?" looks into the package's everyday model.

    With --update N, an update of the training run itself, replayed: cutaway explain RUN --update
    N [ADDRESS].

    Without an address: all named values. With one: the matrix, coloured. With indices for every
    axis: the cell's arithmetic, its operands, the line of code, and a sentence in words.
    """
    from rich.console import Console

    from cutaway.cli.replay import replayed_update

    sentence_follows = " " in text and "[" not in text  # an address has no space but in brackets
    if names_model(model) or sentence_follows or address or update is not None:
        folder = located(model)
    else:
        folder, text, address = model_for(), model, text
    if language not in ("en", "zh"):
        raise InputError(f"language is {language!r}; expected en or zh")
    if html is not None:
        check_file(html, "--html", force=force, ours=is_report)
    if xlsx is not None:
        check_file(xlsx, "--xlsx", force=force)
        if not (address or (update is not None and text)):
            raise InputError("give the address of the value to write as a spreadsheet")
    if save is not None:
        check_folder(save, "--save", ours=lambda folder: (folder / "trace.json").is_file())
    if update is not None:
        if text and address:
            raise InputError(f"--update takes no sentence; {text!r} and {address!r} were given")
        address = address or text
        trace = replayed_update(folder, update, address)
    else:
        trace = open_trace(folder, text, target=target, training=training)
    if save is not None:
        trace.save(save)
    if html is not None:
        from cutaway.glass.html import write_html

        write_html(trace, html, at=address, language=language)
    if xlsx is not None:
        trace.to_xlsx(xlsx, address)
    console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
    if not address:
        if not (html or save):
            console.print(trace.tree(intermediates=everything))
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
    from cutaway.decode.recording import record_sentence

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
        listed = trace.tree(pattern=name, intermediates=everything)
        if not listed.strip():
            raise InputError(
                f"no value's name fits {name!r}; leave the address out to list all names"
            )
        console.print(listed)
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
    from rich.text import Text

    console.print(Text(explanation.asked, style="bold"))
    labels = [label for label in explanation.labels if label]
    if labels:
        console.print(Text(f"  {' · '.join(labels)}"))
    console.print(Text(f"\n{explanation.text}\n"))
    if explanation.difference is not None:
        console.print(
            f"value {explanation.value!r}, recomputed {explanation.recomputed!r}, "
            f"difference {short(explanation.difference, 2)}"
        )
    operands = explanation.operands
    for operand in operands[:12]:
        console.print(
            Text.assemble(f"  {short(operand.value, 6):>10}  ", (operand.address, "cyan"))
        )
    if len(operands) > 12:
        console.print(f"  … {len(operands) - 12} more operands")
    source = explanation.source
    if source is not None:
        place = f"\n{source.file}:{source.line}  "
        console.print(Text.assemble(place, (source.statement, "green")))
    console.print(Text(explanation.words[language]))


def matrices(labelled: "Labelled") -> "list[Table | str]":
    """The last two axes as coloured tables, one per index of the axes before (four at most)."""
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

    table = Table(title=Text(title), title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    height, width = matrix.shape
    for column in range(min(width, COLUMNS)):
        name = Text(columns[column] if columns else str(column))
        table.add_column(name, justify="right")
    finite = matrix.double()[matrix.double().isfinite()]
    top = float(finite.abs().max()) if finite.numel() else 1.0
    for row in range(min(height, ROWS)):
        cells = [Text(rows[row] if rows else str(row), style="bold")]
        for column in range(min(width, COLUMNS)):
            number = float(matrix[row, column])
            cells.append(Text(short(number, 3), style=colour(number, top)))
        table.add_row(*cells)
    if height > ROWS or width > COLUMNS:
        table.caption = f"{height} × {width}; the first {min(height, ROWS)} × {min(width, COLUMNS)}"
    return table
