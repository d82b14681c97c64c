"""Many warnings alike are told once: the first few in full, the others by their line numbers."""

import subprocess
import sys
from pathlib import Path

import pytest

from cutaway.cli.warn import SHOWN, ranges
from cutaway.decode.guards import Notice, grouped

STRANGE = "".join(f"中{chr(0x4E00 + number)}文字\n" for number in range(20))


def warnings(*arguments: str, given: str = "") -> list[str]:
    result = subprocess.run(
        [sys.executable, "-m", "cutaway", "translate", "demo-en-fr", *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return result.stderr.splitlines()


def test_parts_of_one_text_that_fail_alike_are_one_warning() -> None:
    notices = [Notice("split", "three parts"), *[Notice("length", f"part {n}") for n in "abc"]]
    assert [notice.message for notice in grouped(notices)] == [
        "three parts",
        "part a (2 more parts of this text likewise)",
    ]


@pytest.mark.parametrize("way", ["standard input", "file", "file to file", "file to device"])
def test_lines_that_fail_alike_are_summed_up(way: str, tmp_path: Path) -> None:
    file = tmp_path / "strange.txt"
    file.write_text(STRANGE, encoding="utf-8")
    calls = {
        "standard input": [],
        "file": [str(file)],
        "file to file": [str(file), "-o", str(tmp_path / "out.txt")],
        "file to device": [str(file), "-o", "/dev/null"],
    }
    found = warnings(*calls[way], given=STRANGE)
    unknown = [line for line in found if "are unknown in" in line]
    assert [line.partition(":")[0] for line in unknown] == ["line 1", "line 2", "line 3"]
    assert "warning: 17 more lines have the warning of line 1: 4–20" in found
    assert SHOWN == 3


def test_line_numbers_are_told_in_ranges() -> None:
    assert ranges([4]) == "4"
    assert ranges([4, 5, 6, 9, 11, 12]) == "4–6, 9, 11–12"
    assert ranges(list(range(1, 40, 2))) == "1, 3, 5, 7, 9, 11, …"
