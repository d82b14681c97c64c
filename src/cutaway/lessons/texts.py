"""The words of the lessons: Markdown files in `text/`, one per lesson and language.

`text/<lesson>.<language>.md` holds everything a reader reads; Python holds the numbers. The format
is described for translators in docs/lessons.md:

    # masked-attention: Masked attention          lesson key: title, then one paragraph about it
    ## scores: Scores                             step key: title, then paragraphs
    - question: What is {first:.2f} + 1?          one item per line; `{name}` is a computed value
    - claim rows: each row sums to 1              kind, key: text

A language is added by adding files: what it lacks is shown in English.
"""

import re
import string
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cutaway.errors import InputError

FOLDER = Path(__file__).parent / "text"
ENGLISH = "en"
HEADING = re.compile(r"(#{1,2}) +([\w-]+)(?: *[:：] *(\S.*))?")
ITEM = re.compile(r"- ([a-z]+)(?: +([\w-]+))? *[:：] *(.*)")
KINDS = {
    "question",  # the question of a step, without a key
    "answer",
    "matrix",  # name of a matrix
    "note",  # remark below the matrix of the same key
    "claim",
    "picture",  # title of a picture
    "x",  # axes of the picture of the same key
    "y",
    "series",  # name of one line of a picture
    "control",  # label of something the reader can change
    "label",  # any other word: a row, a column, a point
}
WITHOUT_KEY = {"question", "answer"}
FORMAT = string.Formatter()


@dataclass(frozen=True)
class LocalizedText:
    """One text in every language it exists in."""

    texts: Mapping[str, str]  # language → text; English is always there

    @property
    def en(self) -> str:
        """The English text."""
        return self.texts[ENGLISH]

    def to_dict(self) -> dict[str, str]:
        """Language → text."""
        return dict(self.texts)

    def in_language(self, language: str) -> str:
        """The text in a language; English where it is not translated."""
        return self.texts.get(language, self.texts[ENGLISH])


@dataclass
class Part:
    """One section of a file: the texts of a step, or (without a title) names shared by steps."""

    key: str
    title: str = ""
    body: str = ""  # paragraphs, one per line
    items: dict[tuple[str, str], str] = field(default_factory=dict)  # (kind, key) → text

    def all(self) -> dict[tuple[str, str], str]:
        """Every text of the section, the title and the body among them."""
        return {("title", ""): self.title, ("body", ""): self.body, **self.items}


@dataclass(frozen=True)
class File:
    """The words of one lesson in one language."""

    title: str
    about: str
    parts: Mapping[str, Part]


def texts(lesson: str) -> Mapping[str, File]:
    """Language → words of a lesson, as shipped in the package; read once."""
    return read(lesson, FOLDER)


def languages() -> tuple[str, ...]:
    """Languages that any lesson is written in, English first."""
    return found_languages(FOLDER)


@cache
def found_languages(folder: Path) -> tuple[str, ...]:
    """Languages by the names of the files in a folder, English first."""
    found = {name.split(".")[1] for name in _names(folder)}
    return (ENGLISH, *sorted(found - {ENGLISH}))


@cache
def read(lesson: str, folder: Path) -> Mapping[str, File]:
    """Language → words of a lesson, from the files in a folder."""
    found = {}
    for name in _names(folder):
        key, language, _ = name.split(".")
        if key == lesson:
            found[language] = parse((folder / name).read_text(encoding="utf-8"), name)
    if ENGLISH not in found:
        raise InputError(
            f"no {lesson}.{ENGLISH}.md in {folder}; every lesson needs an English text"
        )
    return found


def _names(folder: Path) -> list[str]:
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".md"))
    for name in names:
        if name.count(".") != 2:
            raise InputError(f"text file {name!r}; expected <lesson>.<language>.md")
    return names


def parse(content: str, name: str) -> File:
    """The sections of a file; what does not fit the format is an error with its line."""
    head: Part | None = None
    parts: dict[str, Part] = {}
    for number, block in _blocks(content):
        place = f"{name}, line {number}"
        part = list(parts.values())[-1] if parts else head
        if block.startswith("#"):
            matched = HEADING.fullmatch(block)
            if matched is None:
                raise InputError(f"{place}: {block!r}; expected '## key: title'")
            level, key, title = matched.group(1), matched.group(2), matched.group(3) or ""
            if (level == "#") != (head is None):
                raise InputError(f"{place}: expected one '# lesson: title' at the top, then '##'")
            if head is None:
                head = Part(key, title)
            elif key in parts:
                raise InputError(f"{place}: a second section {key!r}; rename one of them")
            else:
                parts[key] = Part(key, title)
        elif part is None:
            raise InputError(f"{place}: text before the heading; expected '# lesson: title'")
        elif block.startswith("- "):
            _add_item(part, block, place)
        elif part.items:
            raise InputError(f"{place}: a paragraph after the items; move it above them")
        else:
            part.body += ("\n" if part.body else "") + block
    lesson = name.split(".")[0]
    if head is None or head.key != lesson or head.items:
        raise InputError(f"{name}: expected '# {lesson}: title' first, and a paragraph about it")
    return File(head.title, head.body, parts)


def _add_item(part: Part, block: str, place: str) -> None:
    matched = ITEM.fullmatch(block)
    if matched is None or matched.group(1) not in KINDS:
        raise InputError(
            f"{place}: {block[:40]!r}; expected '- kind key: text' with a kind of "
            + ", ".join(sorted(KINDS))
        )
    kind, key, text = matched.group(1), matched.group(2) or "", matched.group(3)
    if (kind in WITHOUT_KEY) == bool(key):
        needs = "takes no" if key else "needs a"
        raise InputError(f"{place}: '{kind}' {needs} key before the colon")
    if not text:
        raise InputError(f"{place}: no text after the colon")
    if (kind, key) in part.items:
        raise InputError(f"{place}: a second '{kind} {key}' in section {part.key!r}")
    part.items[kind, key] = text


def _blocks(content: str) -> Iterator[tuple[int, str]]:
    """Headings, items and paragraphs, each as one line, with the number of its first line."""
    begin, lines = 0, list[str]()
    for number, line in enumerate([*content.splitlines(), ""], start=1):
        starts = line.startswith(("#", "- ")) or not line.strip()
        if lines and (starts or lines[0].startswith("#")):
            yield begin, joined(lines)
            lines = []
        if line.strip():
            begin = begin if lines else number
            lines.append(line.strip())


def joined(lines: list[str]) -> str:
    """Lines of a paragraph as one: with a space, but none where Chinese goes on."""
    text = lines[0]
    for line in lines[1:]:
        wide = [unicodedata.east_asian_width(letter) in "WF" for letter in (text[-1], line[0])]
        mark = [unicodedata.category(letter)[0] == "P" for letter in (text[-1], line[0])]
        continues = all(wide) or (wide[0] and mark[0]) or (wide[1] and mark[1])
        text += line if continues else f" {line}"
    return text


def placeholders(text: str) -> set[str]:
    """Names in braces in a text; `{{` and `}}` are braces."""
    names = set()
    for _, name, _, conversion in FORMAT.parse(text):
        if name is None:
            continue
        if not name.isidentifier() or conversion:
            raise InputError(f"placeholder {{{name}}} in {text[:40]!r}; expected a name like {{n}}")
        names.add(name)
    return names


def filled(text: str, values: Mapping[str, Any], language: str) -> str:
    """A text with its placeholders replaced; numbers get a true minus sign."""
    written = []
    for literal, name, spec, _ in FORMAT.parse(text):
        written.append(literal)
        if name is None:
            continue
        value = values[name]
        if isinstance(value, LocalizedText):
            value = value.in_language(language)
        shown = format(value, spec or "")
        written.append(shown if isinstance(value, str) else shown.replace("-", "−"))
    return "".join(written)
