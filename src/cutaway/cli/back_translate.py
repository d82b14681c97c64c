"""`cutaway data back-translate`: text of the target language → synthetic pairs to train on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cutaway
from cutaway.cli.options import Beam, Engine, Sample, Seed, Temperature, TopK, engine_note, given
from cutaway.cli.outputs import Force, check_file
from cutaway.data import located
from cutaway.errors import InputError

if TYPE_CHECKING:
    from cutaway.decode import Translation


def back_translate(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Model folder that translates from the language of the text.", callback=located
        ),
    ],
    text: Annotated[Path, typer.Argument(help="Text of one language, one sentence per line.")],
    out: Annotated[Path, typer.Option(help="TSV to write: synthetic source, text, tag.")],
    tag: Annotated[
        str, typer.Option(help="Tag for training, so that the model can tell synthetic text.")
    ] = "bt",
    to: Annotated[
        str | None, typer.Option("--to", help="Language to translate into, where several.")
    ] = None,
    beam: Beam = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    seed: Seed = None,
    engine: Engine = "auto",
    force: Force = False,
) -> None:
    """Translate text of the target language back, for training; the same command resumes."""
    from cutaway.cli.translate_file import translate_file

    if not text.is_file():
        raise InputError(f"{text} is no file; give a text file with one sentence per line")
    if not tag.isalnum():
        raise InputError(f"--tag is {tag!r}; expected letters and digits, as bt")
    if out.exists() and out.samefile(text):
        raise InputError(f"--out is the text {text} itself; give another name")
    check_file(out, "--out", force=force)
    options = given(
        beam=beam, sample=sample, temperature=temperature, top_k=top_k, seed=seed, n_best=1
    )
    settings = {**options, "language": to, "costs": False}
    translator = cutaway.load(folder, engine=engine, tell=engine_note)

    def line(translation: "Translation") -> str:
        cells = (translation.text, translation.source, tag)
        return "\t".join(" ".join(cell.split()) for cell in cells) + "\n"

    translate_file(translator, folder, text, out, settings, line=line, form=f"tsv {tag}")
    typer.echo(f"{out} is ready: cutaway train --data PAIRS.tsv --data {out}:1:{tag} --out …")
