"""What a lesson is made of: steps with texts, computed numbers, questions and claims.

A lesson computes; it never prints. The terminal, the page and a notebook show the same steps.
The texts are in `text/<lesson>.<language>.md`; a lesson builds its steps with `section.Sections`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from cutaway.glass import Trace
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.texts import LocalizedText as LocalizedText
from cutaway.lessons.texts import texts
from cutaway.numbers import plain

Numbers = Tensor | Sequence[Any]


Name = str | LocalizedText  # a symbol or a token is the same in every language, a word is not


def localized(name: Name, language: str) -> str:
    """A name in a language."""
    return name.in_language(language) if isinstance(name, LocalizedText) else name


@dataclass(frozen=True)
class Matrix:
    """Numbers of a lesson, with the names on their axes, and the figures that a source prints."""

    name: Name  # as the formula writes it: "Q Kᵀ / √d_k"
    values: Numbers  # (rows, columns), or one row
    rows: Sequence[Name] = ()
    columns: Sequence[Name] = ()
    printed: Numbers | None = None  # what a source prints in its place
    note: LocalizedText | None = None  # why the two differ
    digits: int = 4
    tolerance: float = 0.006  # printed figures within this are rounding, not slips
    key: str = ""  # in the lesson's text file

    def table(self) -> list[list[float]]:
        """The numbers as rows of plain floats."""
        return _rows(self.values)

    def printed_table(self) -> list[list[float]] | None:
        """The printed numbers likewise."""
        return None if self.printed is None else _rows(self.printed)

    def slips(self) -> set[tuple[int, int]]:
        """Cells where the printed figure is wrong beyond rounding."""
        printed = self.printed_table()
        if printed is None:
            return set()
        return {
            (row, column)
            for row, numbers in enumerate(self.table())
            for column, right in enumerate(numbers)
            if not _close(right, printed[row][column], self.tolerance)
        }

    def to_dict(self) -> dict[str, Any]:
        """For the page: the numbers as rows, and where the printed ones are wrong."""
        names = {name: plain(getattr(self, name)) for name in ("name", "rows", "columns", "note")}
        numbers = {"values": plain(self.table()), "printed": plain(self.printed_table())}
        return {**names, **numbers, "slips": sorted(self.slips()), "digits": self.digits}


@dataclass(frozen=True)
class Series:
    """One line, or one cloud of named points, of a picture."""

    name: Name
    x: Sequence[float]
    y: Sequence[float]
    labels: Sequence[Name] = ()  # a word at each point


@dataclass(frozen=True)
class Picture:
    """A drawing of computed numbers: curves, points in the plane, or bars."""

    title: LocalizedText
    kind: Literal["curves", "points", "bars"]
    series: Sequence[Series]
    x: Name = ""
    y: Name = ""
    key: str = ""  # in the lesson's text file


@dataclass(frozen=True)
class Question:
    """A question to answer before the numbers are shown, and its answer."""

    ask: LocalizedText
    answer: LocalizedText


@dataclass(frozen=True)
class Claim:
    """A statement of the lesson, and whether it holds as computed."""

    said: LocalizedText
    holds: bool
    key: str = ""  # in the lesson's text file


@dataclass(frozen=True)
class Control:
    """Something the learner can change; the lesson is computed again with the choice."""

    name: str  # LessonInputs.choice(name, …) reads it
    label: LocalizedText
    kind: Literal["slider", "order", "option", "text"]
    value: Any  # a number; a list of words in order; one of the options; a text
    options: Sequence[Any] = ()  # slider: (least, most, step); option: the choices


SHOWN = ("title", "text", "matrices", "pictures", "claims", "controls", "question", "show")


@dataclass(frozen=True)
class Step:
    """One screen: a title, a few sentences, and their numbers."""

    title: LocalizedText
    text: LocalizedText
    matrices: Sequence[Matrix] = ()
    pictures: Sequence[Picture] = ()
    claims: Sequence[Claim] = ()
    controls: Sequence[Control] = ()
    question: Question | None = None
    trace: Trace | None = None  # a recorded run to open next to the text
    show: str = ""  # the address in it to open first
    codes: Sequence[str] = ()  # codes of docs/inventory.md that it covers: "A7"
    measured: bool = False  # holds times of this machine, which differ each time
    key: str = ""  # section of the lesson's text file

    def to_dict(self, trace: str | None = None) -> dict[str, Any]:
        """For the page; `trace` is the key under which the server holds the recorded run."""
        return {**{name: plain(getattr(self, name)) for name in SHOWN}, "trace": trace}


@dataclass(frozen=True)
class Lesson:
    """A worked example on the real model code."""

    name: str  # "by-hand"; its words are in text/by-hand.<language>.md
    steps: Callable[[LessonInputs], Iterator[Step]] = field(repr=False)
    trained: bool = False  # needs a trained model folder

    @property
    def title(self) -> LocalizedText:
        """The title of the lesson."""
        return LocalizedText({language: file.title for language, file in texts(self.name).items()})

    @property
    def about(self) -> LocalizedText:
        """What the lesson shows, in one sentence."""
        return LocalizedText({language: file.about for language, file in texts(self.name).items()})

    def summary(self) -> dict[str, Any]:
        """For a list of lessons."""
        return {"id": self.name, "title": self.title.to_dict(), "about": self.about.to_dict()}


def _rows(numbers: Numbers) -> list[list[float]]:
    tensor = torch.as_tensor(numbers, dtype=torch.float64)
    return [list(map(float, row)) for row in tensor.reshape(-1, tensor.shape[-1])]


def _close(right: float, printed: float, tolerance: float) -> bool:
    return right == printed or abs(right - printed) <= tolerance
