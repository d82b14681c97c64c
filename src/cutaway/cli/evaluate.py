"""`cutaway evaluate`: BLEU, chrF and TER of one or several model folders on a test set."""

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from cutaway.evaluate import Comparison, Evaluation


def evaluate(
    folders: Annotated[
        list[Path], typer.Argument(help="Model folders; the first is the baseline.")
    ],
    source: Annotated[Path, typer.Option(help="Source sentences, one a line.")],
    target: Annotated[Path, typer.Option(help="Reference translations, one a line.")],
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Ignore case in BLEU and chrF.")
    ] = False,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Samples for the 95 % intervals; 0: none.")
    ] = 1000,
    html: Annotated[Path | None, typer.Option(help="Write the report here.")] = Path(
        "evaluate.html"
    ),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the translations of the first.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help="Target language.")] = None,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step.")] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Exponent of the length in the score.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    engine: Annotated[str, typer.Option(help="torch or ctranslate2.")] = "torch",
) -> None:
    """Translate a test set and score it as sacreBLEU does; several folders are compared."""
    from rich.console import Console
    from rich.progress import Progress

    from cutaway.cli.engines import open_translator
    from cutaway.corpus import read_pairs
    from cutaway.errors import InputError
    from cutaway.evaluate import compare
    from cutaway.evaluate import evaluate as evaluate_model
    from cutaway.evaluate.report import report

    names = [str(folder) for folder in folders]
    if len(set(names)) < len(names):
        raise InputError("a folder is given twice; give each once")
    translators = [open_translator(folder, engine) for folder in folders]
    pairs = read_pairs((source, target), "text")
    changes: dict[str, Any] = {"beam": beam, "length_penalty": length_penalty}
    changes = {name: value for name, value in changes.items() if value is not None}
    found: list[Evaluation] = []
    bar = Progress(console=Console(stderr=True), disable=not os.isatty(2))
    with bar:
        for name, translator in zip(names, translators, strict=True):
            task = bar.add_task(name, total=len(pairs))
            found.append(
                evaluate_model(
                    translator,
                    pairs,
                    name=name,
                    language=to,
                    lowercase=lowercase,
                    bootstrap=bootstrap,
                    progress=partial(_show, bar, task),
                    **changes,
                )
            )
    comparison: Comparison | None = None
    if len(found) > 1:
        languages = translators[0].folder.languages
        comparison = compare(
            [(evaluation.name, evaluation.hypotheses) for evaluation in found],
            [reference for _, reference in pairs],
            language=to or (languages[1] if languages else None),
            lowercase=lowercase,
            samples=bootstrap or 1000,
        )
    _print(found, comparison, as_json=as_json)  # first: a path that cannot be written loses nothing
    if output is not None:
        output.write_text("".join(f"{text}\n" for text in found[0].hypotheses), encoding="utf-8")
    if html is not None:
        html.write_text(
            report(list(zip(translators, found, strict=True)), comparison), encoding="utf-8"
        )


def _show(bar: "Progress", task: "TaskID", done: int, of: int) -> None:
    bar.update(task, completed=done, total=of)


def _print(found: "list[Evaluation]", comparison: "Comparison | None", *, as_json: bool) -> None:
    if as_json:
        systems = {evaluation.name: evaluation.scores.to_dict() for evaluation in found}
        values = {
            "systems": systems,
            "comparison": None if comparison is None else comparison.to_dict(),
        }
        print(json.dumps(values, ensure_ascii=False, indent=2))
        return
    for evaluation in found:
        print(f"{evaluation.name} ({len(evaluation.sentences)} sentences)")
        for score in evaluation.scores.all:
            print(f"  {score}  [{score.signature}]")
    if comparison is not None:
        print(f"against {comparison.baseline}, {comparison.samples} paired bootstrap samples:")
        for result in comparison.results:
            if result.p_value is not None:
                verdict = "significant" if result.is_significant else "may be chance"
                if result.difference == 0:
                    verdict = "no difference"
                print(
                    f"  {result.system}: {result.metric} {result.score:.2f}, "
                    f"p = {result.p_value:.4f} ({verdict})"
                )
