"""`cutaway train`: sentence pairs in, a model folder out; the same command again resumes."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cutaway.config import RunConfig

Files = "Files"
Size = "Size and text"
Recipe = "Recipe"
Keeping = "Validation and keeping"
Machine = "Machine"


def _in(panel: str, help: str, *names: str) -> Any:
    """An option under a heading of the help page."""
    return typer.Option(*names, help=help, rich_help_panel=panel)


def train(
    out: Annotated[Path, typer.Option(help="Model folder to make; its run is kept in OUT.run.")],
    source: Annotated[str, _in(Files, "Source sentences, one a line.")] = "",
    target: Annotated[str, _in(Files, "Their translations, line by line.")] = "",
    data: Annotated[
        str,
        _in(
            Files,
            "One file with both sides (TSV, JSONL, TMX, PO), plain text for generate and "
            "fill, `label TAB text` for classify.",
        ),
    ] = "",
    store: Annotated[str, _in(Files, "A token store that `cutaway data build` made.")] = "",
    embedded: Annotated[str, _in(Files, "The package's own corpus: en-fr or en-zh.")] = "",
    val_source: Annotated[
        str, _in(Files, "Validation sources; without any, some pairs are set aside.")
    ] = "",
    val_target: Annotated[str, _in(Files, "Validation targets.")] = "",
    val_data: Annotated[str, _in(Files, "Validation file with both sides.")] = "",
    languages: Annotated[str, _in(Files, "Codes of both languages, as en-de.")] = "",
    config: Annotated[
        Path | None, _in(Files, "run.toml with the tables data, tokenizer, model, train.")
    ] = None,
    dump_config: Annotated[
        bool, _in(Files, "Print all settings as a run.toml and stop.", "--dump-config")
    ] = False,
    task: Annotated[
        str, _in(Size, "translate, generate (language model), fill (masked words) or classify.")
    ] = "",
    preset: Annotated[str, _in(Size, "tiny, small, base or big; without one, by the corpus.")] = "",
    start_from: Annotated[str, _in(Size, "A model folder to begin with.", "--from")] = "",
    grow: Annotated[
        int | None, _in(Size, "With --from: let its vocabulary grow to so many tokens.")
    ] = None,
    vocabulary: Annotated[int | None, _in(Size, "Tokens of the vocabulary.")] = None,
    lowercase: Annotated[
        bool, _in(Size, "All text in lower case, in training and in use.", "--lowercase")
    ] = False,
    sample: Annotated[
        float | None, _in(Size, "BPE-dropout: probability that a merge is left out.")
    ] = None,
    updates: Annotated[int | None, _in(Recipe, "Steps of the optimizer.")] = None,
    epochs: Annotated[
        int | None, _in(Recipe, "Passes over the corpus, instead of updates.")
    ] = None,
    tokens: Annotated[
        int | None, _in(Recipe, "Tokens a side in a batch, padding included.")
    ] = None,
    learning_rate: Annotated[float | None, _in(Recipe, "The highest rate.")] = None,
    seed: Annotated[int | None, _in(Recipe, "Decides weights, order and dropout.")] = None,
    set_: Annotated[
        list[str] | None,
        _in(Recipe, "Any setting: --set train.clip=0.5 --set model.heads=8.", "--set"),
    ] = None,
    patience: Annotated[
        int | None, _in(Keeping, "Stop after so many validations without a better one.")
    ] = None,
    stop_on: Annotated[str, _in(Keeping, "What is best: bleu, chrf or loss.")] = "",
    keep: Annotated[
        int | None, _in(Keeping, "Snapshots through training, for the page to scrub.")
    ] = None,
    allow_changes: Annotated[
        bool, _in(Keeping, "Resume although data or settings changed.", "--allow-changes")
    ] = False,
    watch: Annotated[
        bool, _in(Keeping, "Open the page and watch it learn; keeps 20 snapshots.", "--watch")
    ] = False,
    port: Annotated[int, _in(Keeping, "Port of the page; 0 for any free one.")] = 8765,
    threads: Annotated[int | None, _in(Machine, "CPU threads.")] = None,
    device: Annotated[str, _in(Machine, "cpu, cuda, mps; by default the fastest.")] = "",
    compile_: Annotated[
        bool, _in(Machine, "Compile the model with torch.compile.", "--compile")
    ] = False,
    parallel: Annotated[str, _in(Machine, "Under torchrun: ddp or fsdp.")] = "",
    tensorboard: Annotated[
        bool, _in(Machine, "Also write TensorBoard files.", "--tensorboard")
    ] = False,
) -> None:
    """Train a model from sentence pairs; run the same command again to resume."""
    first, _, second = languages.partition("-")
    given: dict[str, dict[str, Any]] = {
        "data": {
            "source": source, "target": target, "data": data, "embedded": embedded, "store": store,
            "val_source": val_source, "val_target": val_target, "val_data": val_data,
            "source_language": first, "target_language": second,
        },
        "tokenizer": {
            "vocabulary": vocabulary, "sample": sample, "lowercase": lowercase or None,
        },
        "model": {"preset": preset},
        "train": {
            "task": task, "start_from": start_from, "grow": grow, "updates": updates,
            "epochs": epochs, "tokens": tokens, "learning_rate": learning_rate, "seed": seed,
            "patience": patience, "stop_on": stop_on, "threads": threads,
            "keep": 20 if watch and keep is None else keep,
            "device": device, "compile": compile_ or None, "parallel": parallel,
            "tensorboard": tensorboard or None,
        },
    }  # fmt: skip
    settings = run_config(config, given, set_ or [])
    if dump_config:
        typer.echo(to_toml(settings), nl=False)
        return
    from cutaway.cli.paging import page_beside
    from cutaway.cli.validation import validator
    from cutaway.cli.watching import watching
    from cutaway.train.run import train as train_model

    check = validator(settings.train.validation_beam)
    with ExitStack() as around:
        around.enter_context(stopping(out))
        told = around.enter_context(watching(sys.stdout))
        if watch and speaker():
            told = around.enter_context(page_beside(told, out, port, browser=True))
        train_model(
            settings,
            out,
            validate=check,
            watch=told,
            allow_changes=allow_changes,
            at_once=watch,
        )
    if speaker():
        typer.echo(f'{out} is ready: cutaway translate {out} "…"')


def speaker() -> bool:
    """Whether this process talks to people: under torchrun only the first one does."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def stopping(out: Path) -> Iterator[None]:
    """A run that a signal stopped, and that has saved, ends with the status shells expect."""
    from cutaway.train.interrupts import Interrupted
    from cutaway.train.run import run_folder

    try:
        yield
    except Interrupted as stopped:
        where = run_folder(out)
        if speaker():
            typer.echo(f"{stopped}: saved in {where}; run the same command to resume", err=True)
        raise typer.Exit(stopped.status) from None


def run_config(
    path: Path | None, given: dict[str, dict[str, Any]], changes: list[str]
) -> "RunConfig":
    """Settings from the file, then from options, then from --set; the later wins."""
    from cutaway.config import RunConfig, read_toml

    tables: dict[str, dict[str, Any]] = read_toml(path) if path is not None else {}
    for table, values in given.items():
        chosen = {name: value for name, value in values.items() if value not in (None, "")}
        if chosen:
            tables[table] = {**tables.get(table, {}), **chosen}
    for change in changes:
        table, name, value = _split(change)
        tables[table] = {**tables.get(table, {}), name: value}
    return RunConfig.from_tables(tables, where=str(path) if path else "")


def _split(change: str) -> tuple[str, str, Any]:
    """`train.clip=0.5` → ("train", "clip", 0.5); the value reads as in TOML, or is a word."""
    import tomllib

    from cutaway.errors import ConfigError

    place, equals, text = change.partition("=")
    table, dot, name = place.strip().partition(".")
    if not (equals and dot and table and name):
        raise ConfigError(f"--set {change!r}; expected table.name=value, as train.clip=0.5")
    try:
        return table, name, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return table, name, text


def to_toml(settings: "RunConfig") -> str:
    """All settings as TOML, each with the remark that its definition carries."""
    import inspect
    import json
    import re

    from cutaway.config import DataConfig, ModelConfig, TokenizerConfig, TrainConfig

    kinds = {
        "data": DataConfig, "tokenizer": TokenizerConfig, "model": ModelConfig, "train": TrainConfig
    }  # fmt: skip
    lines: list[str] = []
    for table, values in settings.to_tables().items():
        remarks = dict(
            re.findall(r"^    (\w+): .*?  # (.+)$", inspect.getsource(kinds[table]), re.MULTILINE)
        )
        lines += [f"[{table}]"]
        for name, value in values.items():
            remark = f"  # {remarks[name]}" if name in remarks else ""
            lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}{remark}")
        lines.append("")
    return "\n".join(lines)
