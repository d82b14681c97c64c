"""A .po file filled: placeholders intact, the rest of the file byte by byte."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.decode import Translation
from cutaway.decode.placeholders import difference, placeholders, translate_protected
from cutaway.decode.po_filling import fill, language_of, lost_marks
from cutaway.errors import DataError

CATALOGUE = """# A comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"

#: app.py:7
msgid "Open"
msgstr ""

#, python-format
msgid "Hello %s, you have %d new <b>messages</b>"
msgstr ""

msgid "Done"
msgstr "Fait"

#, fuzzy
msgid "Old"
msgstr "Vieux"

msgctxt "menu"
msgid ""
"First line\\n"
"Second \\"line\\"\\n"
msgstr ""

#, python-brace-format
msgid "{count} file"
msgid_plural "{count} files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "Gone"
#~ msgstr ""
"""


def louder(texts: list[str]) -> list[Translation]:
    """A translator that shouts: it breaks every named placeholder and tag it is given."""
    return [Translation(text, text.upper(), 0.0, ()) for text in texts]


def deaf(texts: list[str]) -> list[Translation]:
    """A translator that invents a placeholder in everything it says."""
    return [Translation(text, "%d", 0.0, ()) for text in texts]


def test_open_entries_are_filled_and_fuzzy() -> None:
    filled = fill(CATALOGUE, louder)
    assert (filled.translated, filled.kept, filled.left) == (4, 2, 0)
    assert '#: app.py:7\n#, fuzzy\nmsgid "Open"\nmsgstr "OPEN"\n' in filled.text
    assert "#, fuzzy, python-format\n" in filled.text
    assert 'msgstr "HELLO %s, YOU HAVE %d NEW <b>MESSAGES</b>"\n' in filled.text
    assert 'msgstr ""\n"FIRST LINE\\n"\n"SECOND \\"LINE\\"\\n"\n' in filled.text
    assert 'msgstr[0] "{count} FILE"\nmsgstr[1] "{count} FILES"\n' in filled.text
    assert any("pieces" in problem.message for problem in filled.problems)


def test_everything_else_stays() -> None:
    filled = fill(CATALOGUE, louder)
    added = {line for line in filled.text.split("\n") if line not in CATALOGUE.split("\n")}
    assert all(line.startswith(("msgstr", '"', "#, fuzzy")) for line in added)
    for kept in ('msgid "Done"\nmsgstr "Fait"', '#~ msgid "Gone"\n#~ msgstr ""', "# A comment"):
        assert kept in filled.text
    again = fill(filled.text, louder)
    assert again.text == filled.text
    assert again.translated == 0


def test_windows_line_ends_stay() -> None:
    filled = fill(CATALOGUE.replace("\n", "\r\n"), louder)
    assert filled.text.replace("\r\n", "\n") == fill(CATALOGUE, louder).text
    assert filled.text.count("\r\n") == filled.text.count("\n")


def test_what_cannot_be_kept_is_left_open_and_named() -> None:
    filled = fill(CATALOGUE, deaf)
    assert filled.left == 4
    assert filled.translated == 0
    assert filled.text == CATALOGUE
    first = filled.problems[0]
    assert CATALOGUE.split("\n")[first.line - 1] == 'msgid "Open"'
    assert "%d" in first.message


def test_msgfmt_accepts_the_result(tmp_path: Path) -> None:
    msgfmt = shutil.which("msgfmt")
    if msgfmt is None:
        pytest.skip("msgfmt (gettext) is not installed")
    path = tmp_path / "app.po"
    path.write_text(fill(CATALOGUE, louder).text, encoding="utf-8")
    checked = subprocess.run(
        [msgfmt, "--check-format", "--statistics", "-o", str(tmp_path / "app.mo"), str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C"},
    )
    assert checked.returncode == 0, checked.stderr
    assert "5 fuzzy translations" in checked.stderr  # the one that was, and four new ones


def test_broken_files_are_refused_with_the_line() -> None:
    with pytest.raises(
        DataError, match=r"menu\.po, line 2: expected a keyword and a quoted string"
    ):
        fill('msgid "a"\nmsgstr missing quote\n', louder, name="menu.po")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s of %d", ["%s", "%d"]),
        ("%(name)s has %1$s and %.2f%%", ["%(name)s", "%1$s", "%.2f", "%%"]),
        ("100 % sure", []),
        ("{name} {0} {{x}} ${var}", ["{name}", "{0}", "{{x}}", "${var}"]),
        ('<a href="x">go</a> &amp; 3 < 4', ['<a href="x">', "</a>", "&amp;"]),
    ],
)
def test_placeholders_are_found(text: str, expected: list[str]) -> None:
    assert placeholders(text) == expected


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from(["word", " ", "%s", "{name}", "<b>", "</b>", ", ", "%(x)d"]), max_size=9
    )
)
def test_a_translator_that_spoils_placeholders_is_worked_around(parts: list[str]) -> None:
    message = "".join(parts)
    (protected,) = translate_protected([message], lambda texts: [text.upper() for text in texts])
    assert difference(message, protected.text) == ()
    assert protected.wrong == ()


@pytest.mark.parametrize(
    ("source", "target", "notes"),
    [
        ("_File", "_Fichier", 0),
        ("_File", "Fichier", 1),
        ("&Edit", "Modifier", 1),
        ("Save _As", "Enregistrer sous", 1),
        ("Tom & Anna", "Tom et Anna", 0),
        ("a\tb", "a b", 1),
        ("one\ntwo", "un deux", 1),
        ("one\n", "un", 0),  # the ends are put back as they were
    ],
)
def test_lost_accelerators_tabs_and_line_breaks_are_told(
    source: str, target: str, notes: int
) -> None:
    assert len(lost_marks(source, target)) == notes


def test_a_lost_accelerator_is_a_problem_of_its_entry() -> None:
    def plain(texts: list[str]) -> list[Translation]:
        return [Translation(text, "Fichier", 0.0, ()) for text in texts]

    filled = fill('msgid "_File"\nmsgstr ""\n', plain)
    assert [(problem.line, "accelerator" in problem.message) for problem in filled.problems] == [
        (1, True)
    ]


def test_the_language_of_the_header() -> None:
    assert language_of('msgid ""\nmsgstr ""\n"Language: pt_BR\\n"\n') == "pt"
    assert language_of('msgid ""\nmsgstr "A: b\\nLanguage: pl\\nC: d\\n"\n') == "pl"
    assert language_of(CATALOGUE) == ""
