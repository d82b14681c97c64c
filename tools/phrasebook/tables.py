"""The files of the phrasebook: a line of column names, then English, French and Chinese.

A cell of names, places and words may hold several forms of a filler, "le Japon | in:au Japon": the
first has no name, and a slot asks for another by its name, {country:in}. An English cell of phrases
and templates may hold several ways to say the same, "It's late. | It is late.". A phrase that ends
in "[.!]" is typed with each of these marks, and without any.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "fr", "zh")
MARKS = {
    "en": {".": ".", "!": "!", "?": "?", "": ""},
    "fr": {".": ".", "!": " !", "?": " ?", "": ""},
    "zh": {".": "。", "!": "！", "?": "？", "": ""},
}

Sentence = dict[str, str]  # language → text


@dataclass(frozen=True)
class Filler:
    """What may stand in a slot: for each language its forms, by their names."""

    kind: str
    forms: dict[str, dict[str, str]]

    @property
    def english(self) -> str:
        return self.forms["en"][""]


def rows(name: str) -> list[dict[str, str]]:
    """The lines of a file, each by the names of its columns."""
    head, *lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    columns = head.split("\t")
    return [dict(zip(columns, line.split("\t"), strict=True)) for line in lines]


@cache
def fillers() -> dict[str, tuple[Filler, ...]]:
    """Every filler by its kind; a name is that of a woman or of a man."""
    kinds: dict[str, list[Filler]] = {}
    for file in ("names.tsv", "places.tsv", "words.tsv"):
        for row in rows(file):
            filler = Filler(row["kind"], {language: forms(row[language]) for language in LANGUAGES})
            kinds.setdefault(row["kind"], []).append(filler)
    kinds["name"] = kinds["woman"] + kinds["man"]
    return {kind: tuple(found) for kind, found in kinds.items()}


def forms(cell: str) -> dict[str, str]:
    """The forms in a cell: "le Japon | in:au Japon" has "" and "in"."""
    first, *others = cell.split(" | ")
    return {"": first, **{name: text for name, _, text in (one.partition(":") for one in others)}}


def ways(row: dict[str, str]) -> list[Sentence]:
    """A line as one sentence for each way to say it in English."""
    return [{**row, "en": english} for english in row["en"].split(" | ")]


def phrases() -> list[Sentence]:
    """The phrases, each with every mark it is typed with."""
    return [marked for row in rows("phrases.tsv") for way in ways(row) for marked in typed(way)]


def templates() -> list[Sentence]:
    """The sentences with slots."""
    return [way for row in rows("templates.tsv") for way in ways(row)]


def typed(phrase: Sentence) -> list[Sentence]:
    """A phrase once for each mark at its end, and once without; as it is if it has no choice."""
    bodies = {language: text.partition("[")[0] for language, text in phrase.items()}
    choices = {text.partition("[")[2].rstrip("]") for text in phrase.values()}
    if len(choices) > 1:
        raise ValueError(f"{phrase}: expected the same marks in every language")
    (marks,) = choices
    if not marks:
        return [phrase]
    return [
        {language: body + MARKS[language][mark] for language, body in bodies.items()}
        for mark in (*marks, "")
    ]
