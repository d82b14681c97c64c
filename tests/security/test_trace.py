"""A trace from a stranger: its texts are text in a spreadsheet, its file is read or refused."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from cutaway import glass
from cutaway.errors import CutawayError, TraceError

openpyxl = pytest.importorskip("openpyxl")
FORMULAS = ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(1)", "=cmd|' /C calc'!A0", "\x01\x1b["]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = nn.Linear(3, 2)
    with glass.record(model) as trace:
        model(torch.rand(2, 3))
    trace.label(axes={"output": ["row", "column"]}, row=["a", "b"], column=["c", "d"])
    path = tmp_path_factory.mktemp("trace") / "saved"
    trace.save(path)
    return path


def change(folder: Path, edit: Any) -> None:
    file = folder / "trace.json"
    values = json.loads(file.read_text())
    edit(values)
    file.write_text(json.dumps(values))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_of_a_trace_never_becomes_a_formula(saved: Path, tmp_path: Path, text: str) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "trace"))

    def edit(values: dict[str, Any]) -> None:
        for words in values["labels"].values():
            words[:] = [text for _ in words]
        for site in values["sites"]:
            site["statement"] = text

    change(folder, edit)
    trace = glass.load(folder)
    trace.to_xlsx(tmp_path / "book.xlsx", "output")
    book = openpyxl.load_workbook(tmp_path / "book.xlsx")
    plain = "".join(letter if letter >= " " else "\N{REPLACEMENT CHARACTER}" for letter in text)
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    found = [cell for cell in cells if cell.value == plain]
    assert found
    assert {cell.data_type for cell in found} == {"s"}
    computed = [cell for cell in cells if cell.data_type == "f"]
    assert computed  # the formulas that recompute are still formulas
    assert not any("HYPERLINK" in str(cell.value) or "cmd" in str(cell.value) for cell in computed)


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe{}", b"", b"{}", b"[]", b"nul", b'{"a": NaN}'],
)
def test_a_file_that_is_no_trace_is_one_line(saved: Path, tmp_path: Path, content: bytes) -> None:
    folder = Path(shutil.copytree(saved, tmp_path / "trace"))
    (folder / "trace.json").write_bytes(content)
    with pytest.raises(TraceError) as error:
        glass.load(folder)
    assert "\n" not in str(error.value)


def test_a_damaged_trace_is_read_or_refused(saved: Path, tmp_path: Path) -> None:
    """Any value of the file replaced by another: an error of ours, or a trace."""
    draw = random.Random(3)
    others: list[Any] = [None, -1, 2**40, "x", [], {}, [[]], 0.5, "../..", True, [["x"] * 3]]

    def broken(value: Any) -> Any:
        if isinstance(value, dict) and value and draw.random() < 0.9:
            key = draw.choice(list(value))
            return {**value, key: broken(value[key])}
        if isinstance(value, list) and value and draw.random() < 0.9:
            at = draw.randrange(len(value))
            return [*value[:at], broken(value[at]), *value[at + 1 :]]
        return draw.choice(others)

    text = (saved / "trace.json").read_text()
    folder = Path(shutil.copytree(saved, tmp_path / "trace"))
    refused = 0
    for _ in range(400):
        (folder / "trace.json").write_text(json.dumps(broken(json.loads(text))))
        try:
            glass.load(folder)
        except CutawayError:
            refused += 1
    assert refused > 100
