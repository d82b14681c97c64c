"""Every format is read correctly; every way to break one is an error with file and line."""

import contextlib
import gzip
import io
import json
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.corpus import iterate_pairs, read_labelled, read_pairs, read_texts
from cutaway.errors import DataError

PAIRS = [("The cat.", "Le chat."), ("Two cats?", "Deux chats ?"), ("我", "I\u2028me\u0085")]
WITHOUT_BREAKS = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]))

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" datatype="plaintext"/><body>
<tu><tuv xml:lang="en-GB"><seg>The <bpt i="1">&lt;b&gt;</bpt>cat<ept i="1">&lt;/b&gt;</ept>.</seg>
</tuv><tuv xml:lang="fr"><seg>Le <hi>chat</hi>
 noir &amp; blanc.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Only here.</seg></tuv></tu>
<tu><tuv xml:lang="FR"><seg>Deux.</seg></tuv><tuv xml:lang="en"><seg>Two.</seg></tuv></tu>
</body></tmx>"""
TMX_PAIRS = [("The cat.", "Le chat noir & blanc."), ("Two.", "Deux.")]

PO = r"""
# a comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#: file.c:1
msgctxt "menu"
msgid "Open"
msgstr "Ouvrir"
msgid "Say \"hi\"\n"
"twice"
msgstr "Dire \303\251 \x41\t"
"deux fois"

#, fuzzy, c-format
msgid "Maybe"
msgstr "Peut-être"

msgid "Untranslated"
msgstr ""

msgid "one file"
msgid_plural "%d files"
msgstr[0] "un fichier"
msgstr[1] "%d fichiers"
#~ msgid "old"
#~ msgstr "vieux"
"""
PO_PAIRS = [
    ("Open", "Ouvrir"),
    ('Say "hi"\ntwice', "Dire Ã© A\tdeux fois"),
    ("one file", "un fichier"),
    ("%d files", "%d fichiers"),
]


def mo(messages: dict[str, str], order: str = "<") -> bytes:
    """A compiled catalogue as msgfmt would write it."""
    entries = sorted((k.encode(), v.encode()) for k, v in messages.items())
    count, at = len(entries), 28 + 16 * len(entries)
    tables, body = [b"", b""], b""
    for side in (0, 1):
        for entry in entries:
            tables[side] += struct.pack(order + "2I", len(entry[side]), at + len(body))
            body += entry[side] + b"\0"
    head = struct.pack(order + "7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, at)
    return head + tables[0] + tables[1] + body


MO = {
    "": "Content-Type: text/plain; charset=UTF-8\n",
    "menu\x04Open": "Ouvrir",
    "one file\0%d files": "un fichier\0%d fichiers",
    "Nothing": "",
}
MO_PAIRS = [("Open", "Ouvrir"), ("one file", "un fichier"), ("%d files", "%d fichiers")]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


CASES: list[tuple[str, str | bytes, list[tuple[str, str]]]] = [
    ("a.tsv", "".join(f"{s}\t{t}\textra\n" for s, t in PAIRS), PAIRS),
    ("a.crlf.TSV", "".join(f"{s}\t{t}\r\n" for s, t in PAIRS), PAIRS),
    ("a.jsonl", "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in PAIRS), PAIRS),
    ("b.jsonl", "".join(json.dumps(pair) + "\n" for pair in PAIRS), PAIRS),
    ("a.tmx", TMX, TMX_PAIRS),
    ("a.po", PO, PO_PAIRS),
    ("a.mo", mo(MO), MO_PAIRS),
    ("big-endian.mo", mo(MO, ">"), MO_PAIRS),
]


@pytest.mark.parametrize(("name", "content", "pairs"), CASES, ids=[case[0] for case in CASES])
def test_each_format_plain_gzipped_and_from_standard_input(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str | bytes,
    pairs: list[tuple[str, str]],
) -> None:
    assert read_pairs(write(tmp_path, name, content)) == pairs
    assert read_pairs(write(tmp_path, name + ".gz", content)) == pairs
    said: Any = name.rpartition(".")[2].lower()
    for raw in (write(tmp_path, "plain", content), write(tmp_path, "packed.gz", content)):
        with raw.open("rb") as stream:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
            assert read_pairs("-", said) == pairs


def test_two_aligned_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, "a.en", "".join(f"{s}\n" for s, _ in PAIRS))
    target = write(tmp_path, "a.fr.gz", "\n".join(t for _, t in PAIRS))
    assert read_pairs((source, target)) == PAIRS
    with source.open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        assert read_pairs(("-", target)) == PAIRS
    with pytest.raises(DataError, match="both files are standard input"):
        read_pairs(("-", "-"))


@settings(max_examples=50, deadline=None)
@given(pairs=st.lists(st.tuples(WITHOUT_BREAKS, WITHOUT_BREAKS), min_size=1))
def test_any_line_comes_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    sides = [write(folder, f"a.{n}", "".join(p[n] + "\n" for p in pairs)) for n in (0, 1)]
    expected = [(s.removeprefix("\ufeff") if not n else s, t) for n, (s, t) in enumerate(pairs)]
    expected[0] = (expected[0][0], expected[0][1].removeprefix("\ufeff"))  # a byte-order mark
    assert read_pairs((sides[0], sides[1])) == expected


def test_columns_keys_and_languages_can_be_said(tmp_path: Path) -> None:
    assert read_pairs(write(tmp_path, "a.tsv", "1\tLe chat\tThe cat\n"), columns=(3, 2)) == [
        ("The cat", "Le chat")
    ]
    row = json.dumps({"translation": {"en": "The cat", "fr": "Le chat"}})
    assert read_pairs(write(tmp_path, "a.jsonl", row), languages=("en", "fr")) == [
        ("The cat", "Le chat")
    ]
    row = json.dumps({"q": "The cat", "a": "Le chat", "n": 3})
    assert read_pairs(write(tmp_path, "b.jsonl", row), keys=("q", "a")) == [("The cat", "Le chat")]
    assert read_pairs(write(tmp_path, "a.tmx", TMX), languages=("fr", "en")) == [
        (t, s) for s, t in TMX_PAIRS
    ]


def test_what_is_left_out_is_noted(tmp_path: Path) -> None:
    notes: list[str] = []
    read_pairs(write(tmp_path, "a.tmx", TMX), notes=notes)
    read_pairs(write(tmp_path, "a.po", PO), notes=notes)
    read_pairs(write(tmp_path, "a.mo", mo(MO)), notes=notes)
    read_pairs(write(tmp_path, "a.tsv", "\na\tb\n\n\n"), notes=notes)
    assert [note.removeprefix(f"{tmp_path}/") for note in notes] == [
        "a.tmx: 1 of 3 units lack en or fr",
        "a.po: 1 untranslated messages left out",
        "a.po: 1 fuzzy messages left out",
        "a.po: 1 obsolete messages left out",
        "a.mo: 1 untranslated messages left out",
        "a.tsv: 3 blank line(s) left out",
    ]


def test_other_encodings_are_read_when_named(tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-16", "utf-16-le", "utf-32", "cp1252"):
        path = write(tmp_path, f"{encoding}.tsv", "été\thiver\nâge\tfin\n".encode(encoding))
        assert read_pairs(path, encoding=encoding) == [("été", "hiver"), ("âge", "fin")]
    po = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    path = write(tmp_path, "a.po", (po + 'msgid "summer"\nmsgstr "été"\n').encode("latin-1"))
    assert read_pairs(path) == [("summer", "été")]


def test_texts_and_labelled_texts(tmp_path: Path) -> None:
    assert read_texts(write(tmp_path, "a.txt", "one\n\ntwo\n")) == ["one", "two"]
    assert read_texts(write(tmp_path, "novel", "one\n")) == ["one"]
    assert read_texts(write(tmp_path, "a.jsonl", '{"text": "one"}\n')) == ["one"]
    assert read_labelled(write(tmp_path, "a.tsv.gz", "good\tnice film\n")) == [
        ("good", "nice film")
    ]
    path = write(tmp_path, "b.jsonl", '{"label": "bad", "text": "no"}\n')
    assert read_labelled(path) == [("bad", "no")]


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    "<tmx><body><tu><tuv xml:lang='en'><seg>&b;</seg></tuv></tu></body></tmx>"
)
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    "<tmx><body><tu><tuv xml:lang='en'><seg>&a;</seg></tuv></tu></body></tmx>"
)
BROKEN: list[tuple[str, str | bytes, str]] = [
    ("a.tsv", "", "no pair in it"),
    ("a.tsv", "a\tb\nonly one\n", "line 2: 1 column"),
    ("a.tsv", b"a\tb\n\xff\tc\n", "line 2: byte 1 is not UTF-8.*--encoding cp1252"),
    ("a.tsv", "7\tone\tun\n8\ttwo\tdeux\n", "column 1 is the number 7, of 3.*--columns 2,3"),
    ("a.jsonl", '["a", "b"]\n{"source": "a"', "line 2: not JSON"),
    ("a.jsonl", '{"source": "a", "Target": "b"}', "no key 'target'; present: 'source'.*--keys"),
    ("a.jsonl", '{"source": "a", "target": 3}', "line 1: 'target' is int"),
    ("a.jsonl", "17", "line 1: int instead of an object"),
    ("a.jsonl", "[" * 100_000, "line 1: "),
    ("a.jsonl", '["\\ud800", "b"]', "surrogate"),
    ("a.jsonl", "1" * 9999, "line 1: "),
    ("a.tmx", "", "line 1: not well-formed"),
    ("a.tmx", TMX[:400], "not well-formed"),
    ("a.tmx", TMX.replace("</tuv>", "", 1), "line 6: not well-formed"),
    ("a.tmx", "<html></html>", "line 1: the document is <html>"),
    ("a.tmx", BOMB, "line 1: the file declares the entity 'a'"),
    ("a.tmx", OUTSIDE, "line 1: the file declares the entity 'a'"),
    ("a.tmx", TMX.replace(' xml:lang="fr"', ""), "line 5: a <tuv> has no xml:lang"),
    ("a.tmx", TMX.replace('srclang="en"', ""), "give the two languages"),
    ("a.tmx", b'<?xml version="1.0" encoding="nope"?><tmx/>', "line 1: "),
    ("a.tmx", TMX.encode("utf-16-le"), "line 1: "),
    ("a.po", 'msgid "a"\n', "line 1: the last message has no msgstr"),
    ("a.po", 'msgstr "a"\n', "line 1: msgstr without a msgid"),
    ("a.po", 'msgid "a"\nmsgstr "b\n', "line 2: expected a keyword"),
    ("a.po", 'msgid "a"\nmsgstr "\\q"\n', r"line 2: unknown escape \\q"),
    ("a.po", b'msgid "a"\nmsgstr "\xff"\n', "line 2: not utf-8"),
    ("a.po", '"Content-Type: charset=nope"', "unknown encoding 'nope'"),
    ("a.po", "", "no pair in it"),
    ("a.mo", b"", "not a compiled"),
    ("a.mo", mo(MO)[:20], "past the end"),
    ("a.mo", mo(MO)[:-30], "message 3: its text lies past the end"),
    ("a.mo", mo(MO)[:8] + b"\xff\xff\xff\x7f" + mo(MO)[12:], "past the end"),
    ("a.mo", mo({"": "charset=ascii", "a": "é"}), "message 2: not ascii"),
    ("a.mo", mo(MO)[:4] + b"\0\0\x09\0" + mo(MO)[8:], "version 9"),
    ("a.mo", mo({}), "no pair in it"),
    ("a.txt", "one side", "give its partner"),
    ("a.docx", "x", "does not give the format"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_errors_of_broken_files_name_file_and_line(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as caught:
        read_pairs(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unequal_line_counts_name_the_line(tmp_path: Path) -> None:
    long, short = write(tmp_path, "a.en", "1\n2\n3\n4\n5\n"), write(tmp_path, "a.fr", "1\n2\n")
    for pair in ((long, short), (short, long)):
        with pytest.raises(
            DataError, match=r"a\.en, line 3: no partner in .*a\.fr \(5 lines against 2"
        ):
            read_pairs(pair)


def test_broken_files_in_general(tmp_path: Path) -> None:
    packed = gzip.compress(b"a\tb\n" * 1000)
    with pytest.raises(DataError, match="gzipped data is damaged"):
        read_pairs(write(tmp_path, "cut.tsv", packed[:-9]))
    flipped = bytearray(packed)
    flipped[20] ^= 64
    with pytest.raises(DataError, match="gzipped data is damaged"):
        read_pairs(write(tmp_path, "flipped.tsv", bytes(flipped)))
    with pytest.raises(DataError, match="no such file"):
        read_pairs(tmp_path / "absent.tsv")
    with pytest.raises(DataError, match="cannot be read"):
        read_pairs(tmp_path, "tsv")
    with pytest.raises(DataError, match="counted from 1"):
        read_pairs(write(tmp_path, "a.tsv", "a\tb"), columns=(0, 1))
    with pytest.raises(DataError, match="'nope' is not known"):
        read_pairs(write(tmp_path, "a.tsv", "a\tb"), encoding="nope")
    with pytest.raises(DataError, match="does not give the format"):
        read_pairs("-")
    with pytest.raises(DataError, match="expected one of text, tsv"):
        read_pairs("-", "xml")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"odd\.tsv, line 2: not utf-16"):
        read_pairs(write(tmp_path, "odd.tsv", "a\tb\n".encode("utf-16") + b"x"), encoding="utf-16")
    with pytest.raises(DataError, match="no text in it"):
        read_texts(write(tmp_path, "empty.txt", "\n\n"))
    with pytest.raises(DataError, match="no labelled text"):
        read_labelled(write(tmp_path, "empty.tsv", "\n"))
    with pytest.raises(DataError, match="labelled text is tsv or jsonl"):
        read_labelled(write(tmp_path, "a.tmx", TMX))


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl", "a.tmx", "a.po", "a.mo", "a.tsv.gz"])
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=200), keep=st.integers(0, 400))
def test_no_content_escapes_as_another_error(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes, keep: int
) -> None:
    good = {"a.tmx": TMX.encode(), "a.po": PO.encode(), "a.mo": mo(MO)}.get(name, b"a\tb\n")
    path = tmp_path_factory.mktemp("fuzz") / name
    path.write_bytes(good[:keep] + data + good[keep:])
    with contextlib.suppress(DataError):
        assert read_pairs(path)


def test_pairs_are_streamed(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", "a\tb\n" * 3 + "broken\n")
    stream = iterate_pairs(path)
    assert [next(stream) for _ in range(3)] == [("a", "b")] * 3
    with pytest.raises(DataError, match="line 4"):
        next(stream)


def test_the_shared_corpora_are_read(shared_data: Path) -> None:
    multi30k = shared_data / "multi30k"
    assert len(read_pairs((multi30k / "val.en.gz", multi30k / "val.de.gz"))) == 1014
    pairs = read_pairs(shared_data / "tatoeba" / "eng-zho.val.tsv.gz")
    assert len(pairs) == 1000
    assert any("\u4e00" <= character <= "\u9fff" for character in pairs[0][1])
    with pytest.raises(DataError, match=r"val\.en\.gz, line 1001: no partner"):
        read_pairs((multi30k / "test_2016_flickr.en.gz", multi30k / "val.en.gz"))


@pytest.mark.parametrize("heading", ["en\tfr", "Source\tTarget", "english\tFrench"])
def test_a_row_that_names_the_columns_is_left_out_and_told(tmp_path: Path, heading: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"{heading}\nA cat.\tUn chat.\nsource\ttarget\n", encoding="utf-8")
    notes: list[str] = []
    assert list(iterate_pairs(path, notes=notes)) == [("A cat.", "Un chat."), ("source", "target")]
    assert len(notes) == 1
    assert "line 1" in notes[0]
    path.write_text("cat\tchat\nsource\tsource\n", encoding="utf-8")
    assert list(iterate_pairs(path)) == [("cat", "chat"), ("source", "source")]
