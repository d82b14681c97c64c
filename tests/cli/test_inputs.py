"""Texts from an argument, a file or standard input: what is a path, what is too long."""

import io
import os
from pathlib import Path

import pytest

from cutaway.cli.inputs import LONGEST, TOGETHER, batches, existing_file, numbered, texts_of
from cutaway.errors import DataError, InputError


@pytest.mark.parametrize(
    "text",
    [
        "nofile.txt", "no file.txt", "Kapitel 3.po", "dir/file", "./x", "../a b",
        "/tmp/nothing here", "test.en", "page.html", "C:\\texts\\a", "report.DOCX",
    ],
)  # fmt: skip
def test_what_looks_like_a_path_and_is_missing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="there is no file"):
        existing_file(text)


@pytest.mark.parametrize(
    "text",
    [
        "The cat.", "TCP/IP is fun.", "Hello", "...", "", "U.S.A", "3.50", "我用Node.js",
        "你好/再见", "See example.com for more.", "Wait...what?", "Ph.D",
    ],
)  # fmt: skip
def test_texts_are_texts(text: str) -> None:
    assert existing_file(text) is None


def test_with_an_output_one_word_is_a_path() -> None:
    with pytest.raises(InputError, match="there is no file chapter"):
        existing_file("chapter", output=True)
    assert existing_file("The cat sleeps.", output=True) is None


@pytest.mark.parametrize("suffix", ["html", "md", "json", "xml", "srt", "docx", "HTM", "pot"])
def test_a_format_with_marks_is_refused_by_name(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_text("<b>one</b>", encoding="utf-8")
    with pytest.raises(InputError, match=r"which translate cannot read yet") as error:
        existing_file(str(path))
    assert "iconv" not in str(error.value)


def test_a_renamed_document_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(InputError, match="zip archive"):
        existing_file(str(path))
    path.write_bytes(b"plain")
    assert existing_file(str(path)) == path


def test_a_long_line_is_refused_before_it_is_held() -> None:
    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> int:
            view = memoryview(buffer)  # type: ignore[arg-type]
            view[:] = b"a" * len(view)
            self.given += len(view)
            return len(view)

    for read in (batches, numbered):
        source = Endless()
        with pytest.raises(DataError, match="more than 1,048,576 bytes"):
            list(read(io.BufferedReader(source), "x"))
        assert source.given < LONGEST + 2**20


def test_lines_come_in_order_and_whole_whatever_the_reads_are() -> None:
    lines = [f"{number} " + "é" * (number % 97) for number in range(5 * TOGETHER)]
    data = "\n".join(lines).encode()

    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return super().read1(61)

    for stream in (io.BytesIO(data), Slow(data), io.BytesIO(data + b"\n")):
        found = list(batches(stream, "x"))
        assert [line for batch in found for line in batch] == lines
        assert max(map(len, found)) <= TOGETHER


def test_what_is_not_utf8_has_a_place() -> None:
    with pytest.raises(DataError, match="x, line 2: byte 0xe9 at column 2"):
        list(batches(io.BytesIO(b"a\nb\xe9\n"), "x"))


def test_the_argument_is_the_text() -> None:
    assert list(texts_of("one")) == ["one"]


def test_a_pipe_as_argument_is_read(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    assert existing_file(str(pipe)) == pipe
