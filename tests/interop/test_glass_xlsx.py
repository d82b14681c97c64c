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


@pytest.mark.parametrize(
    "pattern",
    [
        "decoder.layers.0.cross_attention",
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
    trace.to_xlsx(path, pattern)
    formulas = openpyxl.load_workbook(path)
    values = openpyxl.load_workbook(recomputed(path, tmp_path), data_only=True)
    live = 0
    for name, address, *_ in formulas["contents"].iter_rows(min_row=2, values_only=True):
        sheet, numbers = formulas[name], values[name]
        expected = iter(trace[address].tensor.flatten().tolist())
        for row in sheet.iter_rows(min_row=2, min_col=2):
            for cell in row:
                if cell.value is None or (cell.row == 2 and trace[address].shape):
                    continue
                wanted = float(next(expected))
                found = numbers.cell(cell.row, cell.column).value
                if isinstance(cell.value, str) and cell.value.startswith("="):
                    live += 1
                if math.isinf(wanted):
                    assert found < -1e299
                else:
                    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), (name, cell)
        assert next(expected, None) is None
    assert live > 50
