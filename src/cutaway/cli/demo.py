"""`cutaway demo`: train a small translator in minutes, translate with it, open its page."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cutaway

if TYPE_CHECKING:
    from rich.console import Console

    from cutaway.decode import Translator

SENTENCE = "The cat is on the mat."

# Small and fast: the grammar has no noise, so no dropout and no label smoothing; small batches give
# many updates in little time.
RECIPE: dict[str, dict[str, Any]] = {
    "tokenizer": {"vocabulary": 1500},
    "model": {
        "preset": "tiny", "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0,
    },
    "train": {
        "optimizer": "adamw", "schedule": "cosine", "updates": 1400, "tokens": 1024,
        "warmup": 100, "smoothing": 0.0, "ema": 0.995,
        "seed": 1, "validate_every": 350, "stop_on": "loss", "keep": 16, "log_every": 10,
    },
}  # fmt: skip


def demo(
    out: Annotated[
        Path | None,
        typer.Option(help="Model folder to make or reuse; demo-model, or demo-model-zh."),
    ] = None,
    pair: Annotated[str, typer.Option(help="Languages: en-fr or en-zh.")] = "en-fr",
    serve: Annotated[bool, typer.Option(help="Open the page when the model is ready.")] = True,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    port: Annotated[int, typer.Option(help="Port of the page; 0 for any free one.")] = 8765,
    threads: Annotated[int, typer.Option(help="CPU threads; 0: torch's own choice.")] = 0,
) -> None:
    """Train a translator on the package's own corpus, translate with it, and open its page."""
    from rich.console import Console

    from cutaway.cli.serve import serve_until_interrupted
    from cutaway.cli.train import stopping

    console = Console(markup=False, emoji=False)
    out = out or Path("demo-model" if pair == "en-fr" else f"demo-model-{pair[3:]}")
    with stopping(out):
        watched = trained(
            out, pair, threads, console, port=port if serve else None, browser=browser
        )
    translator = cutaway.load(out)
    show_scores(translator, pair, console)
    show_attention(translator, console)
    if serve:
        serve_until_interrupted(out, port=port, browser=browser and not watched)


def trained(
    out: Path, pair: str, threads: int, console: "Console", *, port: int | None, browser: bool
) -> bool:
    """Train the model with its page open; False if it was trained already."""
    from cutaway.artifact.folder import read_model_folder
    from cutaway.cli.progress import progress_view
    from cutaway.config import RunConfig
    from cutaway.errors import InputError
    from cutaway.serve.run_page import run_page
    from cutaway.training.run import finished

    tables = {**RECIPE, "data": {"embedded": pair}}
    tables["train"] = {**RECIPE["train"], "threads": threads}
    config = RunConfig.from_tables(tables)
    if finished(out):
        known = read_model_folder(out).languages
        if known != tuple(pair.split("-")):
            raise InputError(
                f"{out} holds a model for {' → '.join(known or ('?',))}; for {pair} give another "
                f"--out, or delete it"
            )
        console.print(f"{out} is trained already; delete it to train anew", highlight=False)
        return False
    console.print(
        f"Training an {pair.replace('-', ' → ')} translator on the corpus that comes with the "
        f"package; about three minutes on two cores.",
        highlight=False,
    )
    with ExitStack() as around:
        watch = around.enter_context(progress_view(sys.stdout))
        if port is not None:
            watch = around.enter_context(run_page(watch, out, port, browser=browser))
        cutaway.train(out, config, watch=watch, at_once=True)
    return True


def show_scores(translator: "Translator", pair: str, console: "Console") -> None:
    """The share of test sentences translated exactly, then chosen sentences one by one."""
    from cutaway.corpus.embedded import chosen_sentences, embedded

    test = embedded(pair, "test")
    outputs = translator.translate([source for source, _ in test], beam=1)
    exact = sum(o.text == target for o, (_, target) in zip(outputs, test, strict=True))
    console.print(
        f"\n{exact:,} of {len(test):,} unseen test sentences translated exactly "
        f"({exact / len(test):.1%})",
        highlight=False,
    )
    show_sentences(translator, "In the training data", chosen_sentences(pair, "known"), console)
    show_sentences(
        translator, "Not in the training data", chosen_sentences(pair, "unseen"), console
    )


def show_sentences(
    translator: "Translator", title: str, pairs: tuple[tuple[str, str], ...], console: "Console"
) -> None:
    """Each sentence with its translation, ticked where it is the expected one."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1), show_header=False)
    outputs = translator.translate([source for source, _ in pairs])
    right = 0
    for (source, target), output in zip(pairs, outputs, strict=True):
        same = output.text == target
        right += same
        expected = "" if same else f"(expected: {target})"
        table.add_row("✓" if same else "✗", Text(source), Text(output.text), Text(expected))
    console.print(f"\n{title}: {right} of {len(pairs)} right", highlight=False)
    console.print(table)


def show_attention(translator: "Translator", console: "Console") -> None:
    """The cross-attention of each output token over the source, as a table of percentages."""
    from rich.table import Table
    from rich.text import Text

    translation = translator.translate([SENTENCE], alignment=True)[0]
    if translation.alignment is None:
        return
    table = Table(title=f"Attention of “{SENTENCE}”, per cent", box=None, padding=(0, 1))
    table.add_column("")
    for piece in translation.source_tokens:
        table.add_column(Text(str(piece).replace("▁", "")), justify="right")
    rows = list(translation.alignment)
    for token, weights in zip(translation.tokens, rows, strict=False):
        best = max(float(weight) for weight in weights)
        cells = [
            Text(f"{100 * float(w):.0f}", style="bold" if float(w) == best else "") for w in weights
        ]
        table.add_row(Text(token.piece.replace("▁", "")), *cells)
    console.print()
    console.print(table)
