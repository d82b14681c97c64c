"""`cutaway lesson`: list the lessons, walk through one, or write it as a notebook."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cutaway.cli.completion import lesson_languages, lesson_names, model_folders
from cutaway.cli.outputs import Force, check_file, written
from cutaway.data import located, name_of

if TYPE_CHECKING:
    from rich.console import Console

    from cutaway.lessons.lesson import Step


def lesson(
    name: Annotated[
        str | None,
        typer.Argument(help="Which lesson; without it, a list.", autocompletion=lesson_names),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Run to the end, answers included, no questions.")
    ] = False,
    lang: Annotated[
        str,
        typer.Option(
            help="Language of the texts, such as en or zh.", autocompletion=lesson_languages
        ),
    ] = "en",
    model: Annotated[
        Path,
        typer.Option(
            help="Model folder for lessons on a trained model; by default one of the package.",
            callback=located,
            autocompletion=model_folders,
        ),
    ] = Path("demo-en-fr"),
    notebook: Annotated[
        Path | None, typer.Option(help="Write the lesson as a Jupyter notebook instead.")
    ] = None,
    force: Force = False,
) -> None:
    """Walk through a worked example on the real model: every number computed, slips explained."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cutaway.errors import InputError
    from cutaway.lessons import LessonInputs, find, lessons
    from cutaway.lessons.section import Sections
    from cutaway.lessons.texts import languages

    if lang not in languages():
        raise InputError(f"--lang is {lang!r}; expected {' or '.join(languages())}")
    if force and notebook is None:
        raise InputError("--force replaces the file of --notebook; add it, or leave --force out")
    if notebook is not None:
        if name is None:
            raise InputError("--notebook writes one lesson; name it: cutaway lesson NAME")
        check_file(notebook, "--notebook", force=force)
    console = Console(markup=False, emoji=False)
    if name is None:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for one in lessons():
            table.add_row(Text(one.name, style="bold"), one.about.in_language(lang))
        console.print(table)
        return
    chosen = find(name)
    steps = list(chosen.steps(LessonInputs(model)))
    if notebook is not None:
        from cutaway.lessons.notebook import notebook as composed

        # Relative, so that the notebook holds no path of this computer.
        where = name_of(model, notebook.parent)
        text = composed(chosen, steps, language=lang, model=where)
        with written(notebook) as file:
            file.write(text.encode())
        words = Sections("terminal").section("written", path=str(notebook))
        console.print(words.label("file").in_language(lang))
        return
    walk(console, chosen.title.in_language(lang), steps, lang, ask=not plain and sys.stdin.isatty())


def walk(console: "Console", title: str, steps: "list[Step]", language: str, *, ask: bool) -> None:
    """Show one step after the other; with `ask`, wait for the learner at each."""
    from rich.rule import Rule
    from rich.text import Text

    from cutaway.lessons.paragraph import Paragraph
    from cutaway.lessons.render import rendered, step_text
    from cutaway.lessons.section import Sections

    words = Sections("terminal")
    reveal, go_on = (one.in_language(language) for one in words.names("prompts", "reveal", "next"))
    console.print(Rule(Text(title)))
    at = 0
    while at < len(steps):
        step = steps[at]
        section = words.section("count", n=at + 1, of=len(steps))
        count = section.label("step").in_language(language)
        console.print()
        console.print(
            Text.assemble((step.title.in_language(language), "bold"), (f"   {count}", "dim"))
        )
        console.print(step_text(step, language))
        if step.question is not None:
            console.print()
            console.print(Paragraph("? " + step.question.ask.in_language(language), "cyan"))
            if ask:
                console.input(Text(f"{reveal} ", style="dim"))
            console.print(Paragraph("→ " + step.question.answer.in_language(language), "cyan"))
        console.print(rendered(step, language))
        if not ask:
            at += 1
            continue
        key = console.input(Text(f"\n{go_on} ", style="dim")).strip().lower()
        if key == "q":
            return
        at = max(0, at - 1) if key == "b" else at + 1
