"""`cutaway lesson`: list the lessons, walk through one, or write it as a notebook."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from cutaway.lessons.lesson import Step

WORDS = {
    "en": {
        "reveal": "Think first. Enter shows the answer",
        "next": "Enter: next · b: back · q: leave",
        "step": "step {n} of {of}",
        "wrote": "wrote {path}",
    },
    "zh": {
        "reveal": "先想一想，回车查看答案",
        "next": "回车：下一步 · b：上一步 · q：退出",
        "step": "第 {n} 步，共 {of} 步",
        "wrote": "已写入 {path}",
    },
}


def lesson(
    name: Annotated[str | None, typer.Argument(help="Which lesson; without it, a list.")] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Run to the end, answers included, no questions.")
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of the texts: en or zh.")] = "en",
    model: Annotated[
        Path | None,
        typer.Option(
            help="Model folder for lessons on a trained model.", show_default="demo-model"
        ),
    ] = None,
    notebook: Annotated[
        Path | None, typer.Option(help="Write the lesson as a Jupyter notebook instead.")
    ] = None,
) -> None:
    """Walk through a worked example on the real model: every number computed, slips explained."""
    from rich.console import Console
    from rich.table import Table

    from cutaway.errors import InputError
    from cutaway.lessons import Room, find, lessons

    if lang not in WORDS:
        raise InputError(f"--lang is {lang!r}; expected en or zh")
    console = Console()
    if name is None:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for one in lessons():
            table.add_row(f"[bold]{one.name}[/bold]", one.about.within(lang))
        console.print(table)
        return
    chosen = find(name)
    folder = model
    if folder is None and Path("demo-model").is_dir():
        folder = Path("demo-model")
    steps = list(chosen.tell(Room(folder)))
    if notebook is not None:
        from cutaway.lessons.notebook import notebook as written

        where = None if folder is None else str(folder.resolve())
        text = written(chosen, steps, language=lang, model=where)
        notebook.write_text(text, encoding="utf-8")
        console.print(WORDS[lang]["wrote"].format(path=notebook))
        return
    walk(console, chosen.title.within(lang), steps, lang, ask=not plain and sys.stdin.isatty())


def walk(console: "Console", title: str, steps: "list[Step]", language: str, *, ask: bool) -> None:
    """Show one step after the other; with `ask`, wait for the learner at each."""
    from rich.rule import Rule
    from rich.text import Text

    from cutaway.lessons.render import rendered, told

    words = WORDS[language]
    console.print(Rule(title))
    at = 0
    while at < len(steps):
        step = steps[at]
        count = words["step"].format(n=at + 1, of=len(steps))
        console.print()
        console.print(Text.assemble((step.title.within(language), "bold"), (f"   {count}", "dim")))
        console.print(told(step, language))
        if step.question is not None:
            console.print()
            console.print(Text("? " + step.question.ask.within(language), style="cyan"))
            if ask:
                console.input(f"[dim]{words['reveal']} [/dim]")
            console.print(Text("→ " + step.question.answer.within(language), style="cyan"))
        console.print(rendered(step, language))
        if not ask:
            at += 1
            continue
        key = console.input(f"\n[dim]{words['next']} [/dim]").strip().lower()
        if key == "q":
            return
        at = max(0, at - 1) if key == "b" else at + 1
