"""`cutaway evaluate`: BLEU, chrF and TER of one or several model folders on a test set."""

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cutaway
from cutaway.cli.completion import model_folders
from cutaway.cli.options import (
    Back,
    Beam,
    Engine,
    LengthPenalty,
    Rerank,
    Split,
    With,
    check_back,
    engine_note,
    given,
)
from cutaway.cli.outputs import Force, check_file, is_report, written

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from cutaway.evaluation import Comparison, Evaluation


def evaluate(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Model folders; the first is the baseline.", autocompletion=model_folders
        ),
    ],
    source: Annotated[Path, typer.Option(help="Source sentences, one per line.")],
    target: Annotated[Path, typer.Option(help="Reference translations, one per line.")],
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
    split: Split = True,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    rerank: Rerank = "",
    back: Back = None,
    with_: With = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    engine: Engine = "auto",
    force: Force = False,
) -> None:
    """Translate a test set and score it as sacreBLEU does; several folders are compared."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    from cutaway.corpus import read_pairs
    from cutaway.errors import InputError
    from cutaway.evaluation import compare
    from cutaway.evaluation.report import report

    if html is not None:
        check_file(html, "--html", force=force, ours=is_report)
    if output is not None:
        check_file(output, "-o", force=force)
    names = [str(folder) for folder in folders]
    if len(set(names)) < len(names):
        raise InputError("a folder is given twice; give each once")
    check_back(back, rerank)
    if with_ and len(folders) > 1:
        raise InputError("--with makes one system of several folders; give one folder, then --with")
    translators = [
        cutaway.load(folder, engine=engine, ensemble=with_ or (), back=back, tell=engine_note)
        for folder in folders
    ]
    if with_:
        names = [" + ".join([*names, *map(str, with_)])]
    pairs = read_pairs((source, target), "text")
    changes = given(beam=beam, length_penalty=length_penalty, rerank=rerank)
    found: list[Evaluation] = []
    bar = Progress(console=Console(stderr=True), disable=not os.isatty(2))
    with bar:
        for name, translator in zip(names, translators, strict=True):
            task = bar.add_task(escape(name), total=len(pairs))
            found.append(
                cutaway.evaluate(
                    translator,
                    pairs,
                    name=name,
                    language=to,
                    lowercase=lowercase,
                    bootstrap=bootstrap,
                    progress=partial(_show, bar, task),
                    split=split,
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
    _print(
        found, comparison, as_json=as_json
    )  # before the translating: a path that cannot be written costs nothing
    if output is not None:
        with written(output) as file:
            file.writelines(f"{text}\n".encode() for text in found[0].hypotheses)
    if html is not None:
        page = report(list(zip(translators, found, strict=True)), comparison)
        with written(html) as file:
            file.write(page.encode())


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
