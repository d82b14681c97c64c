"""Corpora and catalogues from a stranger: bounded memory, bounded time, one line of complaint."""

import gzip
import struct
from pathlib import Path

import pytest

from cutaway.corpus.files import LONGEST, read_lines
from cutaway.corpus.gettext import read_mo, read_po
from cutaway.corpus.harvesting import harvest
from cutaway.corpus.parts import Part
from cutaway.corpus.store import build_store
from cutaway.corpus.tmx import read_tmx
from cutaway.errors import DataError
from cutaway.text import Tokenizer

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\n'
MESSAGE = 'msgid "cat"\nmsgstr "chat"\n'


@pytest.mark.parametrize("charset", ["undefined", "rot13", "hex", "no-such", "zlib"])
def test_an_odd_charset_is_one_line_and_ends_no_harvest(tmp_path: Path, charset: str) -> None:
    folder = tmp_path / "fr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "bad.po").write_text(HEADER.format(charset) + MESSAGE)
    (folder / "good.po").write_text(HEADER.format("UTF-8") + MESSAGE)
    with pytest.raises(DataError, match="unknown encoding"):
        list(read_po(folder / "bad.po", None, []))
    with pytest.raises(DataError):
        list(read_lines(folder / "bad.po", charset))
    notes: list[str] = []
    (found,) = harvest("fr", [tmp_path], notes=notes)
    assert (found.source, found.target) == ("cat", "chat")
    assert any("bad.po" in note for note in notes)


def test_messages_that_lie_in_one_another_are_refused(tmp_path: Path) -> None:
    """A megabyte of tables over a megabyte of text would be a terabyte of messages."""
    count, text = 3000, b"x" * 100_000
    start = 28 + 16 * count
    table = struct.pack("<2I", len(text), start) * count
    head = struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0)
    (tmp_path / "a.mo").write_bytes(head + table + table + text)
    pairs = read_mo(tmp_path / "a.mo", None, [])
    with pytest.raises(DataError, match="together are longer than the file"):
        sum(len(source) + len(target) for source, target in pairs)


def test_a_message_of_many_lines_is_whole(tmp_path: Path) -> None:
    """Fifty thousand lines: joined once, not one after the other."""
    lines = '"0123456789"\n' * 50_000
    (tmp_path / "a.po").write_text(f'{HEADER.format("UTF-8")}msgid ""\n{lines}msgstr ""\n{lines}')
    ((source, target),) = read_po(tmp_path / "a.po", None, [])
    assert len(source) == len(target) == 500_000


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_line_without_end_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "train.en.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(2 * (LONGEST // 2**20) + 4):
            file.write(("x" * 2**20).encode(encoding.replace("-sig", "")))
    with pytest.raises(DataError, match="line 1: longer than"):
        list(read_lines(path, encoding))


def test_a_segment_without_end_is_refused(tmp_path: Path) -> None:
    seg = "x " * 2**20
    (tmp_path / "a.tmx").write_text(
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>'
        f"{seg}</seg></tuv></tu></body></tmx>"
    )
    with pytest.raises(DataError, match="a <seg> is longer than"):
        list(read_tmx(tmp_path / "a.tmx", ("en", "fr"), []))


def test_a_folder_of_somebody_elses_is_not_deleted(tmp_path: Path) -> None:
    mine = tmp_path / "store.new"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    tokenizer = Tokenizer.train(["a cat", "a dog"] * 9, kind="char", vocabulary=300)
    build_store(tmp_path / "store", [Part([("a cat", "a dog")])], tokenizer)
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "store.new"]
