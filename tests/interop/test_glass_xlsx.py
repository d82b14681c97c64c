"""A head as a spreadsheet: LibreOffice recomputes every formula to the recorded value."""

import math
import shutil
import subprocess
from pathlib import Path

import openpyxl
import pytest
import torch

from cutaway import glass
from tests.glass.samples import SOURCE, TARGET, model

pytestmark = pytest.mark.interop


def recomputed(path: Path, folder: Path) -> Path:
    """The workbook as LibreOffice computes it anew."""
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("needs LibreOffice (soffice) on the path")
    subprocess.run(
        [
            office,
            f"-env:UserInstallation=file://{folder / 'profile'}",
            "--headless", "--convert-to", "xlsx:Calc MS Excel 2007 XML",
            "--outdir", str(folder / "back"), str(path),
        ],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip
    return folder / "back" / path.name


def place(row: int, column: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of a cell of a sheet: blocks of the last two axes below each other."""
    if len(shape) < 2:
        return (column - 2,) if shape else ()
    block, line = divmod(row - 3, shape[-2] + 2)
    lead = []
    for size in reversed(shape[:-2]):
        block, index = divmod(block, size)
        lead.append(index)
    return (*reversed(lead), line, column - 2)


@pytest.mark.parametrize(
    "pattern",
    [
        "decoder.layers.0.cross_attention",
        "decoder.layers.1.self_attention.context[1,1]",
        "encoder.layers.0.feed_forward",
        "encoder.layers.0.self_attention_add_norm",
    ],
)
def test_formulas_recompute_to_the_same_values(pattern: str, tmp_path: Path) -> None:
    made = model()
    with torch.no_grad(), glass.record(made) as trace:
        made(SOURCE, TARGET)
    trace.label(source=list("abcde"), target=list("wxyz"))
    path = tmp_path / "head.xlsx"
    trace.to_xlsx(path, pattern, depth=6 if "[" in pattern else 1)
    formulas = openpyxl.load_workbook(path)
    values = openpyxl.load_workbook(recomputed(path, tmp_path), data_only=True)
    live = 0
    for name, address, *_ in formulas["contents"].iter_rows(min_row=2, values_only=True):
        sheet, numbers, tensor = formulas[name], values[name], trace[address].tensor
        for row in sheet.iter_rows(min_row=2, min_col=2):
            for cell in row:
                if cell.value is None or (cell.row == 2 and tensor.dim()):
                    continue
                wanted = float(tensor[place(cell.row, cell.column, tuple(tensor.shape))])
                found = numbers.cell(cell.row, cell.column).value
                live += isinstance(cell.value, str) and cell.value.startswith("=")
                if math.isinf(wanted):
                    assert found < -1e299
                else:
                    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), (name, cell)
    assert live > 50
