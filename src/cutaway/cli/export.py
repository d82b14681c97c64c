"""`cutaway export`: a model folder for CTranslate2, Argos Translate, Hugging Face or ONNX."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cutaway.cli.options import Folder
from cutaway.cli.outputs import Force
from cutaway.errors import ExportError
from cutaway.numbers import size

Format = Literal["ctranslate2", "argos", "huggingface", "onnx"]


def export(
    folder: Folder,
    to: Annotated[Format, typer.Option("--to", help="The other package.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder to write (argos: file). (default: FOLDER-TO)"),
    ] = None,
    quantization: Annotated[
        Literal["float32", "int8"] | None,
        typer.Option(help="ctranslate2, argos: size of a weight. (default: float32; argos: int8)"),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(help="argos: the pair, e.g. en-fr. (default: what the folder says)"),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="Target language to fix, where the model knows several."),
    ] = None,
    force: Force = False,
) -> None:
    """Convert a model for another package; the folder itself is only read."""
    if quantization is not None and to not in ("ctranslate2", "argos"):
        raise ExportError(
            f"--quantization is for ctranslate2 and argos, not for {to}; leave it out"
        )
    if languages is not None and to != "argos":
        raise ExportError(f"--languages is for argos, not for {to}; leave it out")
    if language is not None and to not in ("ctranslate2", "huggingface"):
        raise ExportError(f"--language is for ctranslate2 and huggingface, not for {to}")
    from cutaway.artifact.folder import read_model_folder
    from cutaway.corpus.opening import languages_of
    from cutaway.export.argos import is_package
    from cutaway.export.place import refuse_file, refuse_folder

    pair = None if languages is None else languages_of(languages)
    if force and to != "argos":
        raise ExportError(f"--force is for argos: {to} writes a folder, never over other files")
    if out is None:
        name = folder.resolve().name
        out = Path(f"{name}.argosmodel" if to == "argos" else f"{name}-{to}")
    if to == "argos":
        refuse_file(out, ours=is_package, force=force)
    else:
        refuse_folder(out)
    contents = read_model_folder(folder)
    if to == "ctranslate2":
        from cutaway.export.ctranslate2 import export_ctranslate2

        export_ctranslate2(contents, out, quantization=quantization or "float32", language=language)
    elif to == "argos":
        from cutaway.export.argos import export_argos

        export_argos(
            contents, out, quantization=quantization or "int8", languages=pair, force=force
        )
    elif to == "huggingface":
        from cutaway.export.huggingface import export_huggingface

        export_huggingface(contents, out, language=language)
    else:
        from cutaway.export.onnx import export_onnx

        export_onnx(contents, out)
    typer.echo(f"wrote {out} ({size(_bytes(out))})")


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
