"""What is written can be read back, and a file is complete or absent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cutaway.corpus import read_pairs
from cutaway.corpus.writing import write_lines, write_tsv
from cutaway.errors import DataError

PAIRS = [("The cat.\u2028", "Le chat\u00a0!"), ("我", "I\x0b"), (" two  spaces ", "x")]


def test_written_pairs_come_back(tmp_path: Path) -> None:
    assert write_tsv(tmp_path / "deep" / "a.tsv", PAIRS) == 3
    assert read_pairs(tmp_path / "deep" / "a.tsv") == PAIRS
    sides = (tmp_path / "a.en", tmp_path / "a.fr")
    for side, path in enumerate(sides):
        write_lines(path, (pair[side] for pair in PAIRS))
    assert read_pairs(sides) == PAIRS


def test_a_cell_that_would_shift_the_rest_is_refused(tmp_path: Path) -> None:
    for bad in ("a\nb", "a\rb"):
        with pytest.raises(DataError, match="row 2 has a line break"):
            write_lines(tmp_path / "a.txt", ["good", bad])
    with pytest.raises(DataError, match="row 1 has a tab"):
        write_tsv(tmp_path / "a.tsv", [("a\tb", "c")])
    assert list(tmp_path.iterdir()) == []


def test_a_broken_off_file_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_lines(path, ["old"])

    def lines() -> Iterator[str]:
        yield "new"
        raise DataError("broke off")

    with pytest.raises(DataError, match="broke off"):
        write_lines(path, lines())
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match="cannot be written"):
        write_lines(path / "below", ["x"])
