"""Texts of the lessons: languages in step with each other and with the code; errors in one line."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.errors import InputError
from cutaway.lessons import lessons, texts
from cutaway.lessons.section import Section, Sections
from cutaway.lessons.texts import ENGLISH, FOLDER, File, LocalizedText, filled, parse, placeholders

HAN = re.compile(r"[一-鿿]")
HAN_OF_EXAMPLES = str.maketrans("", "", "我喜欢学习编程")  # words of an example, in any language
SPACE_MISSING = re.compile(r"[一-鿿][A-Za-z0-9]|[A-Za-z0-9][一-鿿]")
PROGRAM = Path(texts.__file__).parents[1]
SMALL = """# small: A small lesson

About it.

## one: First step

It has {n} words,
and a second line.

- question: How many?
- answer: {n:.1f}
- matrix m: M
- claim holds: it {{holds}}
"""


def keys() -> list[str]:
    return sorted({path.name.split(".")[0] for path in FOLDER.glob("*.md")})


def shape(file: File) -> list[tuple[str, str, str, frozenset[str]]]:
    """Section, kind, key and placeholders of every text, in order."""
    return [
        (part.key, kind, key, frozenset(placeholders(text)))
        for part in file.parts.values()
        for (kind, key), text in part.all().items()
        if text or kind != "title"
    ]


def strings_of_programs_that_use(lesson: str) -> set[str]:
    found: set[str] = set()
    for path in sorted(PROGRAM.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if f'Sections("{lesson}")' in source:
            nodes = ast.walk(ast.parse(source))
            found |= {node.value for node in nodes if isinstance(node, ast.Constant)}  # type: ignore[misc]
    return found


@pytest.mark.parametrize("lesson", keys())
def test_languages_have_the_same_sections_items_and_placeholders_in_the_same_order(
    lesson: str,
) -> None:
    files = texts.texts(lesson)
    assert set(files) == set(texts.languages())
    for file in files.values():
        assert shape(file) == shape(files[ENGLISH])
        assert file.title
        assert file.about


@pytest.mark.parametrize("lesson", keys())
def test_a_text_is_in_its_language(lesson: str) -> None:
    files = texts.texts(lesson)
    for key, english in files[ENGLISH].parts.items():
        chinese = files["zh"].parts[key]
        assert not any(HAN.search(t.translate(HAN_OF_EXAMPLES)) for t in english.all().values())
        if english.body:
            assert HAN.search(chinese.title + chinese.body)
        for kind, text in chinese.all().items():
            close = SPACE_MISSING.search(re.sub(r"[“”‘’].*?[“”‘’]", "", text))
            assert close is None, f"{lesson}, {key}, {kind}: no space at {close.group()}"


@pytest.mark.parametrize("lesson", keys())
def test_every_section_and_item_is_used(lesson: str) -> None:
    used = strings_of_programs_that_use(lesson)
    for part in texts.texts(lesson)[ENGLISH].parts.values():
        assert part.key in used, f"section {part.key!r} of {lesson} is used nowhere"
        for kind, key in part.items:
            assert not key or key in used, f"{kind} {key!r} in {part.key!r} is used nowhere"


def test_every_lesson_has_its_file() -> None:
    assert {lesson.name for lesson in lessons()} | {"terminal"} == set(keys())


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("# small", "# large"), r"expected '# small: title' first"),
        (("## one: First step", "##one"), r"line 5: '##one'; expected '## key: title'"),
        (("- claim holds", "- clam holds"), r"line 13: .*expected '- kind key: text'"),
        (("- claim holds", "- claim"), r"line 13: 'claim' needs a key"),
        (("- question:", "- question m:"), r"line 10: 'question' takes no key"),
        (("- claim holds", "- matrix m"), r"line 13: a second 'matrix m'"),
        (("- matrix m: M", "- matrix m:"), r"line 12: no text after the colon"),
        (("- claim holds: it {{holds}}", "\nMore."), r"line 14: a paragraph after the items"),
        (("- claim holds: it {{holds}}", "## one: Again"), r"line 13: a second section 'one'"),
        (("# small: A small lesson", "Hello."), r"line 1: text before the heading"),
    ],
)
def test_a_malformed_file_is_one_line_with_its_place(change: tuple[str, str], line: str) -> None:
    with pytest.raises(InputError, match=line) as error:
        parse(SMALL.replace(*change), "small.en.md")
    assert "\n" not in str(error.value)


def of(monkeypatch: pytest.MonkeyPatch, folder: Path, **values: object) -> Section:
    monkeypatch.setattr(texts, "FOLDER", folder)
    return Sections("small").section("one", **values)


def test_a_file_in_another_language_adds_it_and_english_fills_its_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.en.md").write_text(SMALL, encoding="utf-8")
    french = "# small: Petit\n\nEssai.\n\n## one: Premier\n\nAvec {n} mots.\n\n- matrix m: M\n"
    (tmp_path / "small.fr.md").write_text(french, encoding="utf-8")
    step = of(monkeypatch, tmp_path, n=7).step()
    assert texts.languages() == ("en", "fr")
    assert step.title.to_dict() == {"en": "First step", "fr": "Premier"}
    assert step.text.in_language("fr") == "Avec 7 mots."
    assert step.text.in_language("de") == "It has 7 words, and a second line."
    assert step.question is not None
    assert step.question.answer.in_language("fr") == "7.0"


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, r"without a value: \['n'\]"),
        ({"n": 1, "more": 2}, r"without a placeholder: \['more'\]"),
    ],
)
def test_numbers_that_do_not_fit_the_placeholders_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, object], line: str
) -> None:
    (tmp_path / "small.en.md").write_text(SMALL, encoding="utf-8")
    with pytest.raises(InputError, match=line):
        of(monkeypatch, tmp_path, **values)


def test_a_section_or_item_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.en.md").write_text(SMALL, encoding="utf-8")
    section = of(monkeypatch, tmp_path, n=1)
    section.claim("holds", True)
    assert section.step().claims[0].said.en == "it {holds}"
    with pytest.raises(InputError, match=r"no '- claim fails:' in section 'one' of small\.en\.md"):
        section.claim("fails", True)
    with pytest.raises(InputError, match=r"no section 'two' in small\.en\.md"):
        Sections("small").section("two")


@pytest.mark.parametrize("text", ["{n.real}", "{n[0]}", "{n!r}", "{0}", "{}"])
def test_a_placeholder_is_a_plain_name(text: str) -> None:
    with pytest.raises(InputError, match="expected a name"):
        placeholders(text)


@given(st.floats(-1e6, 1e6))
def test_a_number_is_written_with_a_true_minus(number: float) -> None:
    text = filled("x = {n:.3f}", {"n": number}, "en")
    assert "-" not in text
    assert text.replace("−", "-") == f"x = {number:.3f}"


def test_a_word_in_several_languages_fills_a_placeholder() -> None:
    word = LocalizedText({"en": "cat", "zh": "猫"})
    assert [filled("<{word}>", {"word": word}, lang) for lang in ("en", "zh")] == ["<cat>", "<猫>"]


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("one\ntwo", "one two"),
        ("我们\n学习", "我们学习"),
        ("我们有\n14 个", "我们有 14 个"),
        ("完。\n14 个", "完。14 个"),
        ("用 Q\n（查询）", "用 Q（查询）"),
    ],
)
def test_lines_of_a_paragraph_join_as_the_language_writes(lines: str, joined: str) -> None:
    file = parse(f"# small: S\n\nA.\n\n## one: O\n\n{lines}\n", "small.zh.md")
    assert file.parts["one"].body == joined
