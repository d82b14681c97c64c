"""`cutaway average`: the mean of the weights of model folders, or of snapshots of one."""

from pathlib import Path
from typing import Annotated

import typer

from cutaway.cli.outputs import check_folder
from cutaway.errors import InputError


def average(
    folders: Annotated[list[Path], typer.Argument(help="Model folders of one shape.")],
    out: Annotated[Path, typer.Option(help="Model folder to write.")],
    last: Annotated[
        int, typer.Option(min=0, help="Of one folder: average its last N snapshots (--keep).")
    ] = 0,
) -> None:
    """Average the weights of model folders, or of the last snapshots of one, into a new folder."""
    from cutaway.artifact.average import average_folders, average_snapshots
    from cutaway.artifact.folder import write_model_folder

    check_folder(out, "--out", ours=lambda folder: (folder / "config.json").is_file())
    if out.exists() and any(folder.exists() and out.samefile(folder) for folder in folders):
        raise InputError(f"--out is {out}, one of the folders to average; give another name")
    if last and len(folders) > 1:
        raise InputError("--last takes snapshots of one folder; give one, or leave --last out")
    model = average_snapshots(folders[0], last) if last else average_folders(folders)
    write_model_folder(out, model)
    what = f"the last {last} snapshots" if last else f"{len(folders)} folders"
    typer.echo(f"{out}: the mean of {what}; cutaway evaluate tells what it is worth")
