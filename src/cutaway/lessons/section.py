"""Build the steps of a lesson: words from `text/<lesson>.<language>.md`, numbers from Python.

    TEXT = Sections("masked-attention")

    def scores(trace: Trace) -> Step:
        values = numbers(trace, "decoder.layers.0.self_attention.scores")
        section = TEXT.section("scores", first=values[0, 0])  # fills {first:.2f} in every language
        section.matrix("scores", values, WORDS, WORDS)
        section.claim("positive", (values > 0).all())
        return section.step("C22", trace=trace)               # with title, body, question, answer

A placeholder without a value, a value without a placeholder, a key that is not in the file: each
is an error. tests/lessons/test_texts.py finds sections and items that no lesson uses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

from cutaway.errors import InputError
from cutaway.glass import Trace
from cutaway.lessons.lesson import (
    Claim,
    Control,
    Matrix,
    Name,
    Numbers,
    Picture,
    Question,
    Series,
    Step,
)
from cutaway.lessons.texts import ENGLISH, LocalizedText, Part, filled, placeholders, texts


@dataclass(frozen=True)
class Sections:
    """The texts of a lesson by section; nothing is read before the first section is asked for."""

    lesson: str

    def section(self, key: str, **values: Any) -> "Section":
        """One section with its placeholders filled; values: numbers, texts, LocalizedText."""
        found = texts(self.lesson)
        if key not in found[ENGLISH].parts:
            raise InputError(f"no section {key!r} in {self.lesson}.{ENGLISH}.md")
        parts = {language: file.parts[key] for language, file in found.items() if key in file.parts}
        for language, part in parts.items():
            asked = {name for text in part.all().values() for name in placeholders(text)}
            if asked != set(values):
                raise InputError(
                    f"section {key!r} of {self.lesson}.{language}.md: "
                    f"placeholders without a value: {sorted(asked - set(values))}; "
                    f"values without a placeholder: {sorted(set(values) - asked)}"
                )
        return Section(self.lesson, key, parts, values)

    def names(self, key: str, *labels: str) -> tuple[LocalizedText, ...]:
        """Labels of a section that shares names between steps."""
        return self.section(key).labels(*labels)

    def numbered(self, key: str, label: str, count: int) -> list[LocalizedText]:
        """A label of a section for each number from 1: head 1, head 2, …"""
        return [self.section(key, number=number + 1).label(label) for number in range(count)]


@dataclass(frozen=True)
class Section:
    """The texts of one step in every language, with their numbers, and what the step shows so far.

    `matrix`, `picture`, `control` and `claim` add to the step, in the order of the calls. Where
    several steps share a name, `named` is the section that has it.
    """

    lesson: str
    key: str
    parts: Mapping[str, Part]
    values: Mapping[str, Any]
    matrices: list[Matrix] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def said(self, kind: str, key: str = "") -> LocalizedText:
        """One text of the section."""
        found = {
            language: filled(texts[kind, key], self.values, language)
            for language, part in self.parts.items()
            if (kind, key) in (texts := part.all())
        }
        if ENGLISH not in found:
            raise InputError(
                f"no '- {kind} {key}:' in section {self.key!r} of {self.lesson}.{ENGLISH}.md"
            )
        return LocalizedText(found)

    def has(self, kind: str, key: str = "") -> bool:
        """Whether the section has such an item."""
        return (kind, key) in self.parts[ENGLISH].items

    def label(self, key: str) -> LocalizedText:
        """A word: of a row, a column, a point."""
        return self.said("label", key)

    def labels(self, *keys: str) -> tuple[LocalizedText, ...]:
        """Several words."""
        return tuple(self.label(key) for key in keys)

    def claim(self, key: str, holds: bool | Tensor) -> None:
        """A claim, and whether it holds as computed."""
        self.claims.append(Claim(self.said("claim", key), bool(holds), key))

    def matrix(
        self,
        key: str,
        values: Numbers,
        rows: Sequence[Name] = (),
        columns: Sequence[Name] = (),
        *,
        printed: Numbers | None = None,
        note: LocalizedText | None = None,
        digits: int = 4,
        tolerance: float = 0.006,
        named: "Section | None" = None,
    ) -> None:
        """A matrix with its name; the note of the same key, unless another one is given."""
        text = named or self
        if note is None and text.has("note", key):
            note = text.said("note", key)
        name = text.said("matrix", key)
        self.matrices.append(
            Matrix(name, values, rows, columns, printed, note, digits, tolerance, key)
        )

    def series(
        self, key: str, x: Sequence[float], y: Sequence[float], labels: Sequence[Name] = ()
    ) -> Series:
        """One named line or cloud of points of a picture."""
        return Series(self.said("series", key), x, y, labels)

    def picture(
        self,
        key: str,
        kind: Literal["curves", "points", "bars"],
        *series: Series,
        named: "Section | None" = None,
    ) -> None:
        """A picture with its title, and the names of its axes where the file gives them."""
        text = named or self
        x, y = (text.said(axis, key) if text.has(axis, key) else "" for axis in ("x", "y"))
        self.pictures.append(Picture(text.said("picture", key), kind, series, x, y, key))

    def control(
        self,
        key: str,
        kind: Literal["slider", "order", "option", "text"],
        value: Any,
        options: Sequence[Any] = (),
    ) -> None:
        """Something the reader can change; LessonInputs.choice(key, …) reads it."""
        self.controls.append(Control(key, self.said("control", key), kind, value, options))

    def step(
        self, *codes: str, trace: Trace | None = None, show: str = "", measured: bool = False
    ) -> Step:
        """The step: title, body, question and answer of the section, and what was added to it."""
        question = None
        if self.has("question"):
            question = Question(self.said("question"), self.said("answer"))
        return Step(
            self.said("title"),
            self.said("body"),
            self.matrices,
            self.pictures,
            self.claims,
            self.controls,
            question,
            trace,
            show,
            codes,
            measured,
            self.key,
        )
