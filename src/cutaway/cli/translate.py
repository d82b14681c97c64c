"""`cutaway translate`: a text, standard input, a text file or a .po file."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cutaway
from cutaway.cli.arguments import model_and_text
from cutaway.cli.completion import model_folders
from cutaway.cli.inputs import batches, existing_file
from cutaway.cli.options import (
    Back,
    Beam,
    CoveragePenalty,
    Engine,
    LengthPenalty,
    MaxLength,
    MinLength,
    NBest,
    NoRepeat,
    Rerank,
    Sample,
    Seed,
    Split,
    Temperature,
    TopK,
    TopP,
    With,
    check_back,
    engine_note,
    given,
)
from cutaway.cli.outputs import Force, check_file, written
from cutaway.cli.warn import Warnings
from cutaway.errors import InputError

if TYPE_CHECKING:
    from cutaway.decode import Translation, Translator


def translate(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="FOLDER",
            help="Model folder; without one, the package's everyday model.",
            autocompletion=model_folders,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Argument(help="Text, a text file, or a .po file; nothing or -: standard input."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here, resuming a broken run.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Target language, where the model knows several; without a folder, fr or zh.",
        ),
    ] = None,
    split: Split = True,
    beam: Beam = None,
    n_best: NBest = None,
    length_penalty: LengthPenalty = None,
    coverage_penalty: CoveragePenalty = None,
    min_length: MinLength = None,
    max_length: MaxLength = None,
    no_repeat: NoRepeat = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    rerank: Rerank = "",
    back: Back = None,
    with_: With = None,
    prefix: Annotated[str, typer.Option(help="What the translation must begin with.")] = "",
    word: Annotated[
        list[str] | None, typer.Option(help="A word the translation of TEXT must contain.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object per line: tokens, alternatives, alignment."),
    ] = False,
    rivals: Annotated[
        int | None, typer.Option(help="--json: runners-up named for each token, by default 3.")
    ] = None,
    tree: Annotated[bool, typer.Option("--tree", help="--json: the tree of the beam.")] = False,
    engine: Engine = "auto",
    ray: Annotated[
        str,
        typer.Option(help="FILE -o OUT on this Ray cluster: its address, or local."),
    ] = "",
    force: Force = False,
) -> None:
    """Translate a text, standard input line by line, a file, or what a .po file leaves open.

    cutaway translate "Where is the station?" uses the package's everyday model, into French (into
    Chinese where the system's language is Chinese); --to fr and --to zh choose one.
    """
    changes = given(
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        coverage_penalty=coverage_penalty,
        min_length=min_length,
        max_length=max_length,
        no_repeat=no_repeat,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    folder, text, to = model_and_text(model, text, to)
    path = existing_file(text, output=output is not None)
    catalogue = path is not None and path.suffix.lower() == ".po"
    _refuse_idle(
        {"--n-best": None if rerank else n_best, "--rivals": rivals, "--tree": tree or None},
        as_json,
        {"--json": as_json or None, "--prefix": prefix or None} if catalogue else {},
    )
    if force and output is None:
        raise InputError("--force replaces the file of --output; add it, or leave --force out")
    if output is not None:
        if text is None or text == "-":
            raise InputError(f"standard input goes to standard output: write > {output} instead")
        if path is not None and output.exists() and output.samefile(path):
            raise InputError(f"output is the source file {path} itself; give another name")
        check_file(output, "-o", force=force)
    if ray and (path is None or catalogue or output is None):
        raise InputError("--ray translates a text file to another; give FILE and --output OUT")
    if word and (path is not None or text in (None, "-") or with_):
        raise InputError("--word is for one TEXT and one model; leave files and --with out")
    if with_ and (as_json or ray):
        raise InputError(
            f"--with has no numbers of one model for {'--json' if as_json else '--ray'}; "
            f"leave one of them out"
        )
    check_back(back, rerank)
    if back is not None and ray:
        raise InputError("--back is not for --ray; leave one of them out")
    settings = {**changes, "language": to, "prefix": prefix, "costs": as_json, "split": split}
    settings |= given(rerank=rerank, words=word)
    if as_json:
        settings |= {"rivals": 3 if rivals is None else rivals, "alignment": True, "tree": tree}
    if ray and path is not None and output is not None:
        from cutaway.cli.translate_shards import translate_on_ray

        translate_on_ray(
            folder, path, output, settings, address=ray, engine=engine, as_json=as_json
        )
        return
    translator = cutaway.load(
        folder, engine=engine, ensemble=with_ or (), back=back, tell=engine_note
    )
    if path is not None and catalogue:
        from cutaway.cli.translate_po import translate_po

        translate_po(translator, path, output, settings)
    elif path is not None and output is not None:
        from cutaway.cli.translate_file import manifest_hash, translate_file

        translate_file(
            translator,
            folder,
            path,
            output,
            settings,
            line=partial(line_of, as_json=as_json),
            form="json" if as_json else "text",
            others=[manifest_hash(other) for other in [*(with_ or ()), *([back] if back else [])]],
        )
    elif path is not None:
        with path.open("rb") as stream:
            _print_all(translator, batches(stream, str(path)), settings, as_json=as_json)
    elif text is None or text == "-":
        _print_all(
            translator, batches(sys.stdin.buffer, "standard input"), settings, as_json=as_json
        )
    else:
        (translation,) = translator.translate([text], **settings)
        Warnings().report(translation)
        result = line_of(translation, as_json=as_json) if as_json else translation.text + "\n"
        if output is None:
            sys.stdout.write(result)
        else:
            with written(output) as file:
                file.write(result.encode())


def _refuse_idle(of_json: dict[str, Any], as_json: bool, of_text: dict[str, Any]) -> None:
    """Refuse options that would do nothing in this call."""
    for name, value in of_text.items():
        if value is not None:
            raise InputError(f"{name} does nothing for a .po file; leave it out")
    for name, value in of_json.items():
        if value is not None and not as_json:
            raise InputError(f"{name} is shown by --json only; add --json, or leave it out")


def line_of(translation: "Translation", *, as_json: bool) -> str:
    """One line of output; a line break inside the translation becomes a space."""
    if as_json:
        return json.dumps(translation.to_dict(), ensure_ascii=False) + "\n"
    return " ".join(translation.text.split("\n")) + "\n"


def _print_all(
    translator: "Translator",
    texts: Iterator[list[str]],
    settings: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    number = 0
    with Warnings() as warnings:
        for batch in texts:
            for translation in translator.translate(batch, **settings):
                number += 1
                warnings.report(translation, number)
                sys.stdout.write(line_of(translation, as_json=as_json))
            sys.stdout.flush()
