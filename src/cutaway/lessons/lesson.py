"""What a lesson is made of: steps with text in two languages, real numbers, questions, claims.

A lesson computes; it never prints. The terminal, the page and a notebook show the same steps.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from cutaway.glass import Trace
from cutaway.lessons.room import Room

Numbers = Tensor | Sequence[Any]


@dataclass(frozen=True)
class Said:
    """One text in the languages of the product."""

    en: str
    zh: str

    def to_dict(self) -> dict[str, str]:
        """Language → text."""
        return {"en": self.en, "zh": self.zh}

    def within(self, language: str) -> str:
        """The text in a language; English where it is unknown."""
        return self.zh if language == "zh" else self.en


Name = str | Said  # a symbol or a token is the same in every language, a word is not


def spoken(name: Name, language: str) -> str:
    """A name in a language."""
    return name.within(language) if isinstance(name, Said) else name


@dataclass(frozen=True)
class Matrix:
    """Numbers of a lesson, with the words on their axes, and a source's printed figure beside."""

    name: Name  # as the formula writes it: "Q Kᵀ / √d_k"
    values: Numbers  # (rows, columns), or one row
    rows: Sequence[Name] = ()
    columns: Sequence[Name] = ()
    printed: Numbers | None = None  # what a source prints in its place
    note: Said | None = None  # why the two differ
    digits: int = 4
    tolerance: float = 0.006  # printed figures within this are rounding, not slips

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
        """For the page: numbers as JSON, infinities and NaN as strings."""
        printed = self.printed_table()
        return {
            "name": _named(self.name),
            "values": _plain(self.table()),
            "rows": [_named(row) for row in self.rows],
            "columns": [_named(column) for column in self.columns],
            "printed": None if printed is None else _plain(printed),
            "slips": sorted(self.slips()),
            "note": None if self.note is None else self.note.to_dict(),
            "digits": self.digits,
        }


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

    title: Said
    kind: Literal["curves", "points", "bars"]
    series: Sequence[Series]
    x: Name = ""
    y: Name = ""

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        return {
            "title": self.title.to_dict(),
            "kind": self.kind,
            "x": _named(self.x),
            "y": _named(self.y),
            "series": [
                {
                    "name": _named(one.name),
                    "x": _plain(list(one.x)),
                    "y": _plain(list(one.y)),
                    "labels": [_named(label) for label in one.labels],
                }
                for one in self.series
            ],
        }


@dataclass(frozen=True)
class Question:
    """Predict before you see."""

    ask: Said
    answer: Said

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        return {"ask": self.ask.to_dict(), "answer": self.answer.to_dict()}


@dataclass(frozen=True)
class Claim:
    """Something the lesson says is so, and whether it is, as computed."""

    said: Said
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        return {"said": self.said.to_dict(), "holds": self.holds}


@dataclass(frozen=True)
class Control:
    """Something the learner can change; the lesson is told again with the choice."""

    name: str  # Room.choice(name, …) reads it
    label: Said
    kind: Literal["slider", "order", "option", "text"]
    value: Any  # a number; a list of words in order; one of the options; a text
    options: Sequence[Any] = ()  # slider: (least, most, step); option: the choices

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        return {
            "name": self.name,
            "label": self.label.to_dict(),
            "kind": self.kind,
            "value": self.value,
            "options": list(self.options),
        }


@dataclass(frozen=True)
class Step:
    """One screen: a title, a few sentences, and the numbers they speak of."""

    title: Said
    text: Said
    matrices: Sequence[Matrix] = ()
    pictures: Sequence[Picture] = ()
    claims: Sequence[Claim] = ()
    controls: Sequence[Control] = ()
    question: Question | None = None
    trace: Trace | None = None  # a recorded run to open beside the text
    show: str = ""  # the address in it to begin with
    codes: Sequence[str] = ()  # what of the inventory it covers: "A7"
    measured: bool = False  # holds times of this machine: the next telling has others

    def to_dict(self, trace: str | None = None) -> dict[str, Any]:
        """For the page; `trace` is the key under which the server holds the recorded run."""
        return {
            "title": self.title.to_dict(),
            "text": self.text.to_dict(),
            "matrices": [matrix.to_dict() for matrix in self.matrices],
            "pictures": [picture.to_dict() for picture in self.pictures],
            "claims": [claim.to_dict() for claim in self.claims],
            "controls": [control.to_dict() for control in self.controls],
            "question": None if self.question is None else self.question.to_dict(),
            "trace": trace,
            "show": self.show,
        }


@dataclass(frozen=True)
class Lesson:
    """A worked example on the real model code."""

    name: str  # "by-hand"
    title: Said
    about: Said
    tell: Callable[[Room], Iterator[Step]] = field(repr=False)
    trained: bool = False  # needs a trained model folder

    def summary(self) -> dict[str, Any]:
        """For a list of lessons."""
        return {"id": self.name, "title": self.title.to_dict(), "about": self.about.to_dict()}


def _rows(numbers: Numbers) -> list[list[float]]:
    tensor = torch.as_tensor(numbers, dtype=torch.float64)
    return [list(map(float, row)) for row in tensor.reshape(-1, tensor.shape[-1])]


def _close(right: float, printed: float, tolerance: float) -> bool:
    return right == printed or abs(right - printed) <= tolerance


def _named(name: Name) -> str | dict[str, str]:
    return name.to_dict() if isinstance(name, Said) else name


def _plain(value: Any) -> Any:
    """JSON has no infinities: they travel as strings."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    number = float(value)
    return number if number - number == 0 else str(number)
