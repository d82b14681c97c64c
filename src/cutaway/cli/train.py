"""`cutaway train`: sentence pairs in, a model folder out; the same command again resumes."""

import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import cutaway
from cutaway.cli.completion import model_folders
from cutaway.cli.options import given, sets, under
from cutaway.config import (
    PRESETS,
    DataConfig,
    ModelConfig,
    RunConfig,
    TokenizerConfig,
    TrainConfig,
    given_files,
    read_toml,
)
from cutaway.config.dump import dumped, model_changes
from cutaway.data import PAIRS
from cutaway.errors import ConfigError

SIZES = tuple(PRESETS)
PORT = 8765

Files = "Files"
Size = "Size and text"
Recipe = "Recipe"
Keeping = "Validation and keeping"
Machine = "Machine"


def train(
    out: Annotated[Path, typer.Option(help="Model folder to write; its run is kept in OUT.run.")],
    source: Annotated[str, sets(DataConfig, "source", panel=Files)] = "",
    target: Annotated[str, sets(DataConfig, "target", panel=Files)] = "",
    data: Annotated[
        list[str] | None,
        under(
            Files,
            "One file with both sides (TSV, JSONL, TMX, PO), or several with weights: "
            "--data a.tsv:2 --data b.tmx; plain text for generate and fill, "
            "`label TAB text` for classify.",
        ),
    ] = None,
    store: Annotated[str, sets(DataConfig, "store", panel=Files)] = "",
    embedded: Annotated[str, sets(DataConfig, "embedded", panel=Files, words=PAIRS)] = "",
    val_source: Annotated[str, sets(DataConfig, "val_source", panel=Files)] = "",
    val_target: Annotated[str, sets(DataConfig, "val_target", panel=Files)] = "",
    val_data: Annotated[str, sets(DataConfig, "val_data", panel=Files)] = "",
    languages: Annotated[
        str, under(Files, "Source and target language, as en-de: which sides of a TMX are read.")
    ] = "",
    reverse: Annotated[bool, sets(DataConfig, "reverse", "--reverse", panel=Files)] = False,
    both_ways: Annotated[bool, sets(DataConfig, "both_ways", "--both-ways", panel=Files)] = False,
    columns: Annotated[str, sets(DataConfig, "columns", panel=Files)] = "",
    keys: Annotated[str, sets(DataConfig, "keys", panel=Files)] = "",
    encoding: Annotated[str, sets(DataConfig, "encoding", panel=Files)] = "",
    config: Annotated[
        Path | None, under(Files, "run.toml with the tables data, tokenizer, model, train.")
    ] = None,
    dump_config: Annotated[
        bool, under(Files, "Print all settings as a run.toml and stop.", "--dump-config")
    ] = False,
    task: Annotated[str, sets(TrainConfig, "task", panel=Size)] = "",
    preset: Annotated[
        str,
        under(Size, "tiny, small, base or big; by default by the size of the corpus.", words=SIZES),
    ] = "",
    start_from: Annotated[
        str, sets(TrainConfig, "start_from", "--from", panel=Size, offered=model_folders)
    ] = "",
    grow: Annotated[int | None, sets(TrainConfig, "grow", panel=Size)] = None,
    vocabulary: Annotated[int | None, sets(TokenizerConfig, "vocabulary", panel=Size)] = None,
    lowercase: Annotated[
        bool, sets(TokenizerConfig, "lowercase", "--lowercase", panel=Size)
    ] = False,
    sample: Annotated[float | None, sets(TokenizerConfig, "sample", panel=Size)] = None,
    updates: Annotated[int | None, sets(TrainConfig, "updates", panel=Recipe)] = None,
    epochs: Annotated[int | None, sets(TrainConfig, "epochs", panel=Recipe)] = None,
    tokens: Annotated[int | None, sets(TrainConfig, "tokens", panel=Recipe)] = None,
    learning_rate: Annotated[float | None, sets(TrainConfig, "learning_rate", panel=Recipe)] = None,
    diversify: Annotated[int | None, sets(TrainConfig, "diversify", panel=Recipe)] = None,
    seed: Annotated[int | None, sets(TrainConfig, "seed", panel=Recipe)] = None,
    skip_nonfinite: Annotated[int | None, sets(TrainConfig, "skip_nonfinite", panel=Recipe)] = None,
    set_: Annotated[
        list[str] | None,
        under(Recipe, "Any setting: --set train.clip=0.5 --set model.heads=8.", "--set"),
    ] = None,
    patience: Annotated[int | None, sets(TrainConfig, "patience", panel=Keeping)] = None,
    stop_on: Annotated[str, sets(TrainConfig, "stop_on", panel=Keeping)] = "",
    keep: Annotated[int | None, sets(TrainConfig, "keep", panel=Keeping)] = None,
    private: Annotated[bool, sets(TrainConfig, "private", "--private", panel=Keeping)] = False,
    allow_changes: Annotated[
        bool,
        under(Keeping, "Resume although data or settings have changed.", "--allow-changes"),
    ] = False,
    watch: Annotated[
        bool, under(Keeping, "Open the page and watch it learn; keeps 20 snapshots.", "--watch")
    ] = False,
    port: Annotated[
        int | None, under(Keeping, f"Port of the page, by default {PORT}; 0 for any free one.")
    ] = None,
    threads: Annotated[int | None, sets(TrainConfig, "threads", panel=Machine)] = None,
    device: Annotated[str, sets(TrainConfig, "device", panel=Machine)] = "",
    compile_: Annotated[bool, sets(TrainConfig, "compile", "--compile", panel=Machine)] = False,
    parallel: Annotated[str, sets(TrainConfig, "parallel", panel=Machine)] = "",
    tensorboard: Annotated[
        bool, sets(TrainConfig, "tensorboard", "--tensorboard", panel=Machine)
    ] = False,
) -> None:
    """Train a model from sentence pairs; run the same command again to resume."""
    from cutaway.corpus.opening import languages_of

    first, second = languages_of(languages) if languages else ("", "")
    tables = {
        "data": given(
            source=source, target=target, embedded=embedded, store=store,
            reverse=reverse, both_ways=both_ways, **given_files(data or []),
            val_source=val_source, val_target=val_target, val_data=val_data,
            source_language=first, target_language=second,
            columns=columns, keys=keys, encoding=encoding,
        ),
        "tokenizer": given(vocabulary=vocabulary, sample=sample, lowercase=lowercase),
        "model": given(preset=preset),
        "train": given(
            task=task, start_from=start_from, grow=grow, updates=updates, epochs=epochs,
            tokens=tokens, learning_rate=learning_rate, seed=seed, patience=patience,
            stop_on=stop_on, threads=threads, keep=20 if watch and keep is None else keep,
            device=device, compile=compile_, parallel=parallel, tensorboard=tensorboard,
            private=private, skip_nonfinite=skip_nonfinite, diversify=diversify,
        ),
    }  # fmt: skip
    if port is not None and not watch:
        raise ConfigError("--port is that of the page; add --watch, or leave it out")
    settings = run_config(config, tables, set_ or [])
    if dump_config:
        typer.echo(dumped(settings, left_to_choose(settings)), nl=False)
        return
    from cutaway.cli.progress import progress_view
    from cutaway.serve.run_page import run_page

    with ExitStack() as around:
        around.enter_context(stopping(out))
        listener = around.enter_context(progress_view(sys.stdout))
        if watch and prints():
            listener = around.enter_context(
                run_page(listener, out, PORT if port is None else port, browser=True)
            )
        cutaway.train(out, settings, watch=listener, allow_changes=allow_changes, at_once=watch)
    if prints():
        typer.echo(f'{out} is ready: cutaway {settings.train.task} {out} "…"')


def left_to_choose(settings: RunConfig) -> dict[str, Any]:
    """What settings left to choose come to, as far as the size of the model decides them."""
    from cutaway.training.recipe import ENOUGH_PAIRS, resolved
    from cutaway.training.schedule import peak_rate

    if not settings.model["preset"]:
        return {}
    model = ModelConfig.preset(settings.model["preset"], vocabulary=1000, **model_changes(settings))

    def chosen(pairs: int) -> dict[str, Any]:
        train = resolved(settings.train, model, pairs=pairs)
        names = ("optimizer", "schedule", "warmup", "accumulate", "parts")
        rate = peak_rate(train, model, train.updates)
        return {name: getattr(train, name) for name in names} | {"learning_rate": rate}

    few, many = chosen(0), chosen(ENOUGH_PAIRS)
    return {name: value for name, value in few.items() if value == many[name]}


def prints() -> bool:
    """Whether this process prints: under torchrun only the first one does."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def stopping(out: Path) -> Iterator[None]:
    """After a signal and a save, exit with the status shells expect."""
    from cutaway.training.interrupts import Interrupted
    from cutaway.training.run import run_folder

    try:
        yield
    except Interrupted as stopped:
        where = run_folder(out)
        if prints():
            typer.echo(f"{stopped}: saved in {where}; run the same command to resume", err=True)
        raise typer.Exit(stopped.status) from None


def run_config(
    path: Path | None, options: dict[str, dict[str, Any]], changes: list[str]
) -> RunConfig:
    """Settings from the file, then from options, then from --set; the later wins."""
    tables: dict[str, dict[str, Any]] = read_toml(path) if path is not None else {}
    for table, values in options.items():
        if values:
            tables[table] = {**tables.get(table, {}), **values}
    for change in changes:
        table, name, value = _split(change)
        tables[table] = {**tables.get(table, {}), name: value}
    return RunConfig.from_tables(tables, where=str(path) if path else "")


def _split(change: str) -> tuple[str, str, Any]:
    """`train.clip=0.5` → ("train", "clip", 0.5); the value reads as in TOML, or is a word."""
    place, equals, text = change.partition("=")
    table, dot, name = place.strip().partition(".")
    if not (equals and dot and table and name):
        raise ConfigError(f"--set {change!r}; expected table.name=value, as train.clip=0.5")
    try:
        return table, name, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return table, name, text
