"""`cutaway demo`: train a small translator here and now, translate with it, open its page."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from cutaway.decode import Translator

SENTENCE = "The cat is on the mat."

# Small and fast: the grammar has no noise, so nothing is dropped and nothing smoothed; short
# batches give many updates for little arithmetic.
RECIPE: dict[str, dict[str, Any]] = {
    "tokenizer": {"vocabulary": 1500},
    "model": {
        "preset": "tiny", "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0,
    },
    "train": {
        "updates": 1400, "tokens": 1024, "warmup": 100, "smoothing": 0.0, "ema": 0.995,
        "weight_decay": 0.6, "seed": 1,
        "validate_every": 350, "stop_on": "bleu", "keep": 16, "log_every": 10,
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

    from cutaway.cli.paging import serve_after
    from cutaway.cli.train import stopping
    from cutaway.decode import Translator

    console = Console()
    out = out or Path("demo-model" if pair == "en-fr" else f"demo-model-{pair[3:]}")
    with stopping(out):
        watched = trained(
            out, pair, threads, console, port=port if serve else None, browser=browser
        )
    translator = Translator.load(out)
    show_scores(translator, pair, console)
    show_attention(translator, console)
    if serve:
        serve_after(out, port, browser=browser and not watched)


def trained(
    out: Path, pair: str, threads: int, console: "Console", *, port: int | None, browser: bool
) -> bool:
    """Train the model with its page beside it, or find it trained already; whether it trained."""
    from cutaway.cli.paging import page_beside
    from cutaway.cli.validation import validator
    from cutaway.cli.watching import watching
    from cutaway.config import RunConfig
    from cutaway.errors import InputError
    from cutaway.train.folder import read_model_folder
    from cutaway.train.run import finished, train

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
    check = validator(config.train.validation_beam)
    with ExitStack() as around:
        watch = around.enter_context(watching(sys.stdout))
        if port is not None:
            watch = around.enter_context(page_beside(watch, out, port, browser=browser))
        train(config, out, validate=check, watch=watch, at_once=True)
    return True


def show_scores(translator: "Translator", pair: str, console: "Console") -> None:
    """Unseen test sentences by number, the literature's sentences one by one."""
    from rich.table import Table

    from cutaway.corpus.embedded import SOURCES_SENTENCES, embedded

    test = embedded(pair, "test")
    outputs = translator.translate([source for source, _ in test], beam=1)
    exact = sum(o.text == target for o, (_, target) in zip(outputs, test, strict=True))
    console.print(
        f"\n{exact:,} of {len(test):,} unseen test sentences translated exactly "
        f"({100 * exact / len(test):.1f} %)\n",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 1), show_header=False)
    for source, target in SOURCES_SENTENCES[pair]:
        text = translator.translate([source])[0].text
        right = text == target
        table.add_row("✓" if right else "✗", source, text, "" if right else f"(expected: {target})")
    console.print(table)


def show_attention(translator: "Translator", console: "Console") -> None:
    """What each word of the translation looked at, as a table of percentages."""
    from rich.table import Table

    translation = translator.translate([SENTENCE], alignment=True)[0]
    if translation.alignment is None:
        return
    table = Table(title=f"Attention of “{SENTENCE}”, per cent", box=None, padding=(0, 1))
    table.add_column("")
    for piece in translation.source_tokens:
        table.add_column(str(piece).replace("▁", ""), justify="right")
    rows = list(translation.alignment)
    for token, weights in zip(translation.tokens, rows, strict=False):
        best = max(float(weight) for weight in weights)
        cells = [
            f"[bold]{100 * float(w):.0f}[/bold]" if float(w) == best else f"{100 * float(w):.0f}"
            for w in weights
        ]
        table.add_row(token.piece.replace("▁", ""), *cells)
    console.print()
    console.print(table)
